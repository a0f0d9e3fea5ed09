// RUN: npuc opt %s | npuc opt | filecheck %s

// A step as JAX exports it, in MLIR's generic form: what is printed is what was read.

// CHECK: func.func @step(%{{.*}}: tensor<2x3xf32>, %{{.*}}: tensor<3x4xf32>) -> tensor<3x4xf32>
"func.func"() <{function_type = (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>, sym_name = "step"}> ({
^bb0(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>):
  %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
  // CHECK-NEXT: %1 = "stablehlo.constant"() <{value = dense<0xff800000> : tensor<f32>}> : () -> tensor<f32>
  %2 = "stablehlo.reduce"(%0, %1) <{dimensions = array<i64: 1>}> ({
  // CHECK-NEXT: %2 = "stablehlo.reduce"(%0, %1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%m) : (tensor<f32>) -> ()
  }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK: }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
  %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xf32>) -> tensor<2x4xf32>
  %4 = "stablehlo.compare"(%0, %3) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
  // CHECK-NEXT: %4 = "stablehlo.compare"(%0, %3) <{{{.*}}comparison_direction = #stablehlo<comparison_direction EQ>{{.*}}}> : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
  %5 = "stablehlo.convert"(%4) : (tensor<2x4xi1>) -> tensor<2x4xf32>
  %6 = "chlo.erf"(%5) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: %6 = "chlo.erf"(%5) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = "stablehlo.dot_general"(%x, %6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %7 = "stablehlo.dot_general"(%x, %6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}>
  "func.return"(%7) : (tensor<3x4xf32>) -> ()
}) : () -> ()
