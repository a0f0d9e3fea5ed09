"""The number of the step, for work that differs from step to step: an argument of the function that counts them."""

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, FunctionType, IntegerAttr, StringAttr, f64, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from npuc.dialects.provenance import Role, role_attr
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.optimizer import IncrementOp
from npuc.dialects.train.signature import ArgumentKind, argument_entries, arguments_of, result_entries

STEP = "step"


def step_number(func: FuncOp) -> SSAValue:
    """
    The argument of a function that counts steps: the one of dropout and of some optimizers, or a new one.

    A new one begins at 0 and is one more after each run of the function.
    """
    block = func.body.block
    for argument in arguments_of(func):
        if argument.kind is ArgumentKind.STATE and argument.name == STEP:
            return block.args[argument.index]
    number = len(block.args)
    arguments, results = list(argument_entries(func)), list(result_entries(func))
    count = block.insert_arg(tensor_of(i64, ()), number)
    count.name_hint, count.location = STEP, func.location
    ending = block.last_op
    assert isinstance(ending, ReturnOp)
    more = IncrementOp(count)
    more.attributes |= {"layer": StringAttr(STEP), "role": role_attr(Role.UPDATE)}
    more.location = func.location
    more.results[0].name_hint = f"{STEP}_new"
    block.insert_op_before(more, ending)
    ending.operands = [*ending.operands, more.results[0]]
    func.function_type = FunctionType.from_lists(
        [one.type for one in block.args], [value.type for value in ending.operands]
    )
    state = {"train.state": StringAttr(STEP), "train.fill": FloatAttr(0.0, f64)}
    func.arg_attrs = ArrayAttr([DictionaryAttr(dict(one)) for one in (*arguments, state)])
    func.res_attrs = ArrayAttr(
        [DictionaryAttr(dict(one)) for one in (*results, {"train.updates": IntegerAttr(number, i64)})]
    )
    return count
