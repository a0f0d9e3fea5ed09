"""Control flow, calls of what is outside, exchange between processes, random bits."""

from xdsl.dialects.builtin import (
    I32,
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    FlatSymbolRefAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
)
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr as Dense
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.stablehlo.enums import RngAlgorithmAttr, RngDistributionAttr
from npuc.dialects.stablehlo.numbering import ChannelHandleAttr
from npuc.dialects.stablehlo.rules import check_same_types, check_shape


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """
    The results of a region.

        %y = "stablehlo.case"(%i) ({
          "stablehlo.return"(%x) : (tensor<2xf32>) -> ()
        }) : (tensor<i32>) -> tensor<2xf32>
    """

    name = "stablehlo.return"

    results_ = var_operand_def(TensorType)

    traits = traits_def(IsTerminator())

    def verify_(self) -> None:
        """Nothing beside the types."""


@irdl_op_definition
class WhileOp(IRDLOperation):
    """
    Values that a body makes anew from the last ones while a condition of them holds.

        %i, %y = "stablehlo.while"(%zero, %x) ({
        ^bb0(%n: tensor<i32>, %a: tensor<2xf32>):
          %p = "stablehlo.compare"(%n, %end) <{comparison_direction = #stablehlo<comparison_direction LT>}>
            : (tensor<i32>, tensor<i32>) -> tensor<i1>
          "stablehlo.return"(%p) : (tensor<i1>) -> ()
        }, {
        ^bb0(%n: tensor<i32>, %a: tensor<2xf32>):
          %m = "stablehlo.add"(%n, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
          %b = "stablehlo.tanh"(%a) : (tensor<2xf32>) -> tensor<2xf32>
          "stablehlo.return"(%m, %b) : (tensor<i32>, tensor<2xf32>) -> ()
        }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
    """

    name = "stablehlo.while"

    operand = var_operand_def(TensorType)
    cond = region_def("single_block")
    body = region_def("single_block")
    results_ = var_result_def(TensorType)

    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        """Operands, results and what both regions take have the same types."""
        types = tuple(one.type for one in self.operand)
        for what, found in (
            ("results", [one.type for one in self.results_]),
            ("arguments of the condition", [one.type for one in self.cond.block.args]),
            ("arguments of the body", [one.type for one in self.body.block.args]),
        ):
            if tuple(found) != types:
                raise VerifyException(f"expected {what} of the types of the operands")


@irdl_op_definition
class IfOp(IRDLOperation):
    """
    The results of the first region where the predicate is true, else those of the second.

        %y = "stablehlo.if"(%p) ({
          "stablehlo.return"(%a) : (tensor<2xf32>) -> ()
        }, {
          "stablehlo.return"(%b) : (tensor<2xf32>) -> ()
        }) : (tensor<i1>) -> tensor<2xf32>
    """

    name = "stablehlo.if"

    pred = operand_def(TensorType)
    true_branch = region_def("single_block")
    false_branch = region_def("single_block")
    results_ = var_result_def(TensorType)

    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        """The predicate is one boolean."""
        check_shape(self.pred, (), i1)


@irdl_op_definition
class CaseOp(IRDLOperation):
    """
    The results of the region of a number, from 0; of the last one where there is none.

        %y = "stablehlo.case"(%i) ({
          "stablehlo.return"(%a) : (tensor<2xf32>) -> ()
        }, {
          "stablehlo.return"(%b) : (tensor<2xf32>) -> ()
        }) : (tensor<i32>) -> tensor<2xf32>
    """

    name = "stablehlo.case"

    index = operand_def(TensorType)
    branches = var_region_def("single_block")
    results_ = var_result_def(TensorType)

    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        """There is a region, and the number is one."""
        check_shape(self.index, ())
        if not self.branches:
            raise VerifyException("expected at least one region")


@irdl_op_definition
class OptimizationBarrierOp(IRDLOperation):
    """
    Its operands, which no compiler moves work across.

        %y = "stablehlo.optimization_barrier"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    """

    name = "stablehlo.optimization_barrier"

    operand = var_operand_def(TensorType)
    results_ = var_result_def(TensorType)

    def verify_(self) -> None:
        """The results have the types of the operands."""
        if [one.type for one in self.operand] != [one.type for one in self.results_]:
            raise VerifyException("expected results of the types of the operands")


@irdl_op_definition
class CustomCallOp(IRDLOperation):
    """
    A call of something that the implementation knows by its name.

        %y = "stablehlo.custom_call"(%x) <{call_target_name = "Sharding", api_version = 1 : i32}>
            : (tensor<2xf32>) -> tensor<2xf32>
    """

    name = "stablehlo.custom_call"

    inputs = var_operand_def(AnyAttr())
    call_target_name = prop_def(StringAttr)
    has_side_effect = opt_prop_def(BoolAttr)
    backend_config = opt_prop_def(StringAttr | DictionaryAttr)
    api_version = opt_prop_def(IntegerAttr[I32])
    called_computations = opt_prop_def(ArrayAttr[FlatSymbolRefAttr])
    operand_layouts = opt_prop_def(ArrayAttr)
    result_layouts = opt_prop_def(ArrayAttr)
    output_operand_aliases = opt_prop_def(ArrayAttr)
    results_ = var_result_def(AnyAttr())

    def verify_(self) -> None:
        """Nothing beside the types."""


@irdl_op_definition
class CompositeOp(IRDLOperation):
    """
    An operation of a name that a function spells out.

        %y = "stablehlo.composite"(%x) <{name = "my.gelu", composite_attributes = {tanh = true}, decomposition = @gelu,
            version = 1 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
    """

    name = "stablehlo.composite"

    inputs = var_operand_def(TensorType)
    name_ = prop_def(StringAttr, prop_name="name")
    composite_attributes = opt_prop_def(DictionaryAttr)
    decomposition = prop_def(FlatSymbolRefAttr)
    version = opt_prop_def(IntegerAttr[I32])
    results_ = var_result_def(TensorType)

    def verify_(self) -> None:
        """Nothing beside the types."""


@irdl_op_definition
class RngBitGeneratorOp(IRDLOperation):
    """
    Random bits, and the state after them.

        %state, %bits = "stablehlo.rng_bit_generator"(%s) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}>
            : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    """

    name = "stablehlo.rng_bit_generator"

    initial_state = operand_def(TensorType)
    rng_algorithm = prop_def(RngAlgorithmAttr)
    output_state = result_def(TensorType)
    output = result_def(TensorType)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """The new state has the type of the old one."""
        check_same_types(self.initial_state, self.output_state)


@irdl_op_definition
class RngOp(IRDLOperation):
    """
    Random numbers between two, or around the first with the second as standard deviation.

        %y = "stablehlo.rng"(%a, %b, %shape) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}>
            : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
    """

    name = "stablehlo.rng"

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    shape = operand_def(TensorType)
    rng_distribution = prop_def(RngDistributionAttr)
    result = result_def(TensorType)

    def verify_(self) -> None:
        """The two numbers are scalars of one type."""
        check_shape(self.a, ())
        check_same_types(self.a, self.b)


@irdl_op_definition
class AllReduceOp(IRDLOperation):
    """
    The tensors of the processes of each group, combined by the region.

        %y = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
            channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
          "stablehlo.return"(%s) : (tensor<f32>) -> ()
        }) : (tensor<2xf32>) -> tensor<2xf32>
    """

    name = "stablehlo.all_reduce"

    operand = var_operand_def(TensorType)
    replica_groups = prop_def(Dense)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    computation = region_def("single_block")
    results_ = var_result_def(TensorType)

    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        """The results have the types of the operands."""
        if [one.type for one in self.operand] != [one.type for one in self.results_]:
            raise VerifyException("expected results of the types of the operands")


CONTROL = (
    ReturnOp,
    WhileOp,
    IfOp,
    CaseOp,
    OptimizationBarrierOp,
    CustomCallOp,
    CompositeOp,
    RngBitGeneratorOp,
    RngOp,
    AllReduceOp,
)
