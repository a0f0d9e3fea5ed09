// npuc 0.1.0: TypeError: unsupported operand type(s) for -: 'tuple' and 'frozenset', in the pass nm-recipe{pattern="2:4"}
// run again: npuc compile npuc-crash-4f2e5192.mlir -b cycle --set array.skips=structured --set array.dataflow=ws --objective time -p 'nm-recipe{pattern="2:4"},schedule'
// python 3.11.7, xdsl 0.74.0
// options: {'overrides': {'array.skips': 'structured', 'array.dataflow': 'ws'}, 'opt_level': 0, 'objective': 'time', 'after': ('lower-to-npu=nm-recipe{pattern="2:4" transposable=false}',), 'max_ops': 200000, 'verify_each': False, 'time_passes': False}
// source n3.dsl:
//   | network net(batch=16) {
//   |   input x: f32[batch, 16]
//   |   labels y: i32[batch]
//   |   h = relu(linear(x, 16))
//   |   h = relu(linear(h, 16))
//   |   h = relu(linear(h, 16))
//   |   loss cross_entropy(linear(h, 16), y)
//   |   optimizer sgd(lr=0.1)
//   | }
// traceback:
//   | Traceback (most recent call last):
//   |   File "/work/wt/recipes/compiler/cli/compile.py", line 228, in _compile
//   |     result = compile_program(source, backends, options, said(line, quiet=quiet), watchers=watchers)
//   |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
//   |   File "/work/wt/recipes/compiler/driver/compile.py", line 161, in compile_program
//   |     program, lowered = together.lowered(number)
//   |                        ^^^^^^^^^^^^^^^^^^^^^^^^
//   |   File "/work/wt/recipes/compiler/driver/together.py", line 97, in lowered
//   |     return program, lower_program(program, session)
//   |                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
//   |   File "/work/wt/recipes/compiler/driver/lower_program.py", line 43, in lower_program
//   |     lowered = lower(module, session)
//   |               ^^^^^^^^^^^^^^^^^^^^^^
//   |   File "/work/wt/recipes/compiler/driver/lower.py", line 137, in lower
//   |     run(module, passes[above:])
//   |   File "/work/wt/recipes/compiler/driver/lower.py", line 173, in __call__
//   |     run_pipeline(module, passes, self.context, sources, verify_each=each, watch=self.watch, told_of=told_of)
//   |   File "/work/wt/recipes/compiler/driver/passes.py", line 197, in run_pipeline
//   |     step.apply(context, module)
//   |   File "/work/wt/recipes/compiler/transforms/schedule/__init__.py", line 74, in apply
//   |     self._schedule(inner, machine, goal)
//   |   File "/work/wt/recipes/compiler/transforms/schedule/__init__.py", line 95, in _schedule
//   |     apply_pattern(SetSchedule(lambda one: followed(one, machine) or schedule_for(one, machine, goal)), op)
//   |   File "/work/wt/recipes/compiler/transforms/named_pattern.py", line 52, in apply_pattern
//   |     pattern.match_and_rewrite(op, rewriter)
//   |   File "/work/envs/recipes/lib/python3.11/site-packages/xdsl/pattern_rewriter.py", line 417, in impl
//   |     func(self, op, rewriter)
//   |   File "/work/wt/recipes/compiler/transforms/schedule/patterns.py", line 37, in match_and_rewrite
//   |     schedule = self.choose(op)
//   |                ^^^^^^^^^^^^^^^
//   |   File "/work/wt/recipes/compiler/transforms/schedule/__init__.py", line 95, in <lambda>
//   |     apply_pattern(SetSchedule(lambda one: followed(one, machine) or schedule_for(one, machine, goal)), op)
//   |                                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
//   |   File "/work/wt/recipes/compiler/transforms/schedule/searches.py", line 101, in schedule_for
//   |     nest, widths = contract.nest, contract_widths(contract, machine)
//   |                    ^^^^^^^^^^^^^
//   |   File "/work/wt/recipes/dialects/npu/contract.py", line 143, in nest
//   |     return counted(self.nest_attr.data, self)
//   |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
//   |   File "/work/wt/recipes/dialects/npu/widths.py", line 107, in counted
//   |     return in_passes_of(nest, op, _whole(target, MANTISSA_BITS))
//   |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
//   |   File "/work/wt/recipes/dialects/npu/widths.py", line 147, in in_passes_of
//   |     nest = with_factors(nest, op)
//   |            ^^^^^^^^^^^^^^^^^^^^^^
//   |   File "/work/wt/recipes/dialects/npu/widths.py", line 115, in with_factors
//   |     return nest if all(one is None for one in factors) else _with_factors(nest, factors)
//   |                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
//   |   File "/work/wt/recipes/dialects/npu/widths.py", line 131, in _with_factors
//   |     return replace(nest, statements=tuple(found))
//   |                                     ^^^^^^^^^^^^
//   |   File "/work/wt/recipes/dialects/npu/widths.py", line 130, in <genexpr>
//   |     found = (replace(s, factors=(of(s, s.lhs), of(s, s.rhs))) for s in nest.statements)
//   |                                                ^^^^^^^^^^^^
//   |   File "/work/wt/recipes/dialects/npu/widths.py", line 127, in of
//   |     along_sums = any(tensor.axes[axis].dims - kept for axis in factor.axes)
//   |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
//   |   File "/work/wt/recipes/dialects/npu/widths.py", line 127, in <genexpr>
//   |     along_sums = any(tensor.axes[axis].dims - kept for axis in factor.axes)
//   |                      ~~~~~~~~~~~~~~~~~~~~~~~^~~~~~
//   | TypeError: unsupported operand type(s) for -: 'tuple' and 'frozenset'
builtin.module attributes {npu.target = {name = "igo-large", rows = 128 : i64, cols = 128 : i64, dataflow = "ws", fill = "overlap", drain = "hidden", spm_bytes = 4194304 : i64, double_buffer = true, clock_mhz = 1.050000e+03 : f64, gb_per_s = 1.500000e+02 : f64, lanes = 128 : i64, mac_pj = 3.200000e-01 : f64, spm_pj_per_byte = 1.750000e+00 : f64, dram_pj_per_byte = 4.375000e+01 : f64, skips = "structured"}} {
  func.func @net(%x: tensor<16x16xbf16> {train.input = "x"}, %y: tensor<16xi32> {train.input = "y", train.labels}, %h_linear_weight: tensor<16x16xbf16> {train.param = "h.linear.weight", train.bound = 2.500000e-01 : f64}, %h_linear_bias: tensor<16xbf16> {train.param = "h.linear.bias", train.bound = 2.500000e-01 : f64}, %h_2_linear_weight: tensor<16x16xbf16> {train.param = "h_2.linear.weight", train.bound = 2.500000e-01 : f64}, %h_2_linear_bias: tensor<16xbf16> {train.param = "h_2.linear.bias", train.bound = 2.500000e-01 : f64}, %h_3_linear_weight: tensor<16x16xbf16> {train.param = "h_3.linear.weight", train.bound = 2.500000e-01 : f64}, %h_3_linear_bias: tensor<16xbf16> {train.param = "h_3.linear.bias", train.bound = 2.500000e-01 : f64}, %linear_weight: tensor<16x16xbf16> {train.param = "linear.weight", train.bound = 2.500000e-01 : f64}, %linear_bias: tensor<16xbf16> {train.param = "linear.bias", train.bound = 2.500000e-01 : f64}) -> (tensor<bf16> {train.loss}, tensor<16x16xbf16> {train.updates = 2 : i64}, tensor<16xbf16> {train.updates = 3 : i64}, tensor<16x16xbf16> {train.updates = 4 : i64}, tensor<16xbf16> {train.updates = 5 : i64}, tensor<16x16xbf16> {train.updates = 6 : i64}, tensor<16xbf16> {train.updates = 7 : i64}, tensor<16x16xbf16> {train.updates = 8 : i64}, tensor<16xbf16> {train.updates = 9 : i64}, tensor<16x16xbf16> {train.output = "prediction"}) {
    %0 = npu.contract (m = 16, n = 16, k = 16) ins(X = %x[m, k], W = %h_linear_weight[k, n]) outs(Y[m, n] from %h_linear_bias[n]) do(Y += X * W) {layer = "h.linear"} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16xbf16>) -> tensor<16x16xbf16>
    %h = npu.vector relu(%0) ops 256 {layer = "h"} : (tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %1 = npu.contract (m = 16, n = 16, k = 16) ins(X = %h[m, k], W = %h_2_linear_weight[k, n]) outs(Y[m, n] from %h_2_linear_bias[n]) do(Y += X * W) {layer = "h_2.linear"} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16xbf16>) -> tensor<16x16xbf16>
    %h_1 = npu.vector relu(%1) ops 256 {layer = "h_2"} : (tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %2 = npu.contract (m = 16, n = 16, k = 16) ins(X = %h_1[m, k], W = %h_3_linear_weight[k, n]) outs(Y[m, n] from %h_3_linear_bias[n]) do(Y += X * W) {layer = "h_3.linear"} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16xbf16>) -> tensor<16x16xbf16>
    %h_2 = npu.vector relu(%2) ops 256 {layer = "h_3"} : (tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %3 = npu.contract (m = 16, n = 16, k = 16) ins(X = %h_2[m, k], W = %linear_weight[k, n]) outs(Y[m, n] from %linear_bias[n]) do(Y += X * W) {layer = "linear"} : (tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16xbf16>) -> tensor<16x16xbf16>
    %4 = npu.vector cross_entropy(%3, %y) <{label_smoothing = 0.000000e+00 : f64, reduction = "mean"}> ops 1280 {layer = "cross_entropy"} : (tensor<16x16xbf16>, tensor<16xi32>) -> tensor<bf16>
    %5 = npu.vector cross_entropy_grad(%3, %y) <{label_smoothing = 0.000000e+00 : f64, reduction = "mean"}> ops 512 again [0] groups 16 {layer = "cross_entropy", role = "dx"} : (tensor<16x16xbf16>, tensor<16xi32>) -> tensor<16x16xbf16>
    %dlinear_bias = npu.vector reduce(%5) ops 256 {layer = "linear", role = "dw"} : (tensor<16x16xbf16>) -> tensor<16xbf16>
    %dh = npu.contract (m = 16, n = 16, k = 16) ins(dY = %5[m, n], W = %linear_weight[k, n]) outs(dX[m, k]) do(dX += dY * W) {layer = "linear", role = "dx"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %dlinear_weight = npu.contract (m = 16, n = 16, k = 16) ins(X = %h_2[m, k], dY = %5[m, n]) outs(dW[k, n]) do(dW += X * dY) {layer = "linear", role = "dw"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %6 = npu.vector relu_grad(%dh, %h_2) ops 256 {layer = "h_3", role = "dx"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %dh_3_linear_bias = npu.vector reduce(%6) ops 256 {layer = "h_3.linear", role = "dw"} : (tensor<16x16xbf16>) -> tensor<16xbf16>
    %dh_1 = npu.contract (m = 16, n = 16, k = 16) ins(dY = %6[m, n], W = %h_3_linear_weight[k, n]) outs(dX[m, k]) do(dX += dY * W) {layer = "h_3.linear", role = "dx"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %dh_3_linear_weight = npu.contract (m = 16, n = 16, k = 16) ins(X = %h_1[m, k], dY = %6[m, n]) outs(dW[k, n]) do(dW += X * dY) {layer = "h_3.linear", role = "dw"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %7 = npu.vector relu_grad(%dh_1, %h_1) ops 256 {layer = "h_2", role = "dx"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %dh_2_linear_bias = npu.vector reduce(%7) ops 256 {layer = "h_2.linear", role = "dw"} : (tensor<16x16xbf16>) -> tensor<16xbf16>
    %dh_2 = npu.contract (m = 16, n = 16, k = 16) ins(dY = %7[m, n], W = %h_2_linear_weight[k, n]) outs(dX[m, k]) do(dX += dY * W) {layer = "h_2.linear", role = "dx"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %dh_2_linear_weight = npu.contract (m = 16, n = 16, k = 16) ins(X = %h[m, k], dY = %7[m, n]) outs(dW[k, n]) do(dW += X * dY) {layer = "h_2.linear", role = "dw"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %8 = npu.vector relu_grad(%dh_2, %h) ops 256 {layer = "h", role = "dx"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %dh_linear_bias = npu.vector reduce(%8) ops 256 {layer = "h.linear", role = "dw"} : (tensor<16x16xbf16>) -> tensor<16xbf16>
    %dh_linear_weight = npu.contract (m = 16, n = 16, k = 16) ins(X = %x[m, k], dY = %8[m, n]) outs(dW[k, n]) do(dW += X * dY) {layer = "h.linear", role = "dw"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %h_linear_weight_new = npu.vector sgd(%h_linear_weight, %dh_linear_weight) <{lr = 1.000000e-01 : f64, momentum = 0.000000e+00 : f64, weight_decay = 0.000000e+00 : f64, dampening = 0.000000e+00 : f64}> ops 512 {layer = "h.linear.weight", role = "update"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %h_linear_bias_new = npu.vector sgd(%h_linear_bias, %dh_linear_bias) <{lr = 1.000000e-01 : f64, momentum = 0.000000e+00 : f64, weight_decay = 0.000000e+00 : f64, dampening = 0.000000e+00 : f64}> ops 32 {layer = "h.linear.bias", role = "update"} : (tensor<16xbf16>, tensor<16xbf16>) -> tensor<16xbf16>
    %h_2_linear_weight_new = npu.vector sgd(%h_2_linear_weight, %dh_2_linear_weight) <{lr = 1.000000e-01 : f64, momentum = 0.000000e+00 : f64, weight_decay = 0.000000e+00 : f64, dampening = 0.000000e+00 : f64}> ops 512 {layer = "h_2.linear.weight", role = "update"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %h_2_linear_bias_new = npu.vector sgd(%h_2_linear_bias, %dh_2_linear_bias) <{lr = 1.000000e-01 : f64, momentum = 0.000000e+00 : f64, weight_decay = 0.000000e+00 : f64, dampening = 0.000000e+00 : f64}> ops 32 {layer = "h_2.linear.bias", role = "update"} : (tensor<16xbf16>, tensor<16xbf16>) -> tensor<16xbf16>
    %h_3_linear_weight_new = npu.vector sgd(%h_3_linear_weight, %dh_3_linear_weight) <{lr = 1.000000e-01 : f64, momentum = 0.000000e+00 : f64, weight_decay = 0.000000e+00 : f64, dampening = 0.000000e+00 : f64}> ops 512 {layer = "h_3.linear.weight", role = "update"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %h_3_linear_bias_new = npu.vector sgd(%h_3_linear_bias, %dh_3_linear_bias) <{lr = 1.000000e-01 : f64, momentum = 0.000000e+00 : f64, weight_decay = 0.000000e+00 : f64, dampening = 0.000000e+00 : f64}> ops 32 {layer = "h_3.linear.bias", role = "update"} : (tensor<16xbf16>, tensor<16xbf16>) -> tensor<16xbf16>
    %linear_weight_new = npu.vector sgd(%linear_weight, %dlinear_weight) <{lr = 1.000000e-01 : f64, momentum = 0.000000e+00 : f64, weight_decay = 0.000000e+00 : f64, dampening = 0.000000e+00 : f64}> ops 512 {layer = "linear.weight", role = "update"} : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
    %linear_bias_new = npu.vector sgd(%linear_bias, %dlinear_bias) <{lr = 1.000000e-01 : f64, momentum = 0.000000e+00 : f64, weight_decay = 0.000000e+00 : f64, dampening = 0.000000e+00 : f64}> ops 32 {layer = "linear.bias", role = "update"} : (tensor<16xbf16>, tensor<16xbf16>) -> tensor<16xbf16>
    func.return %4, %h_linear_weight_new, %h_linear_bias_new, %h_2_linear_weight_new, %h_2_linear_bias_new, %h_3_linear_weight_new, %h_3_linear_bias_new, %linear_weight_new, %linear_bias_new, %3 : tensor<bf16>, tensor<16x16xbf16>, tensor<16xbf16>, tensor<16x16xbf16>, tensor<16xbf16>, tensor<16x16xbf16>, tensor<16xbf16>, tensor<16x16xbf16>, tensor<16xbf16>, tensor<16x16xbf16>
  }
}
