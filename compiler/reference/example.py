"""The example of an operation as a program: a function whose arguments are the values that the example leaves open."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.parser import Parser

from npuc.dialects.distributed.mesh import MESH, Mesh, MeshAttr

MESH_OF_EXAMPLES = Mesh((2, 3))
"""The devices of the examples of the `dist` dialect."""


def example_module(text: str, context: Context, name: str = "<example>") -> ModuleOp:
    """
    A verified module with a function `example` of the operations of a text.

    A value that no operation of the text defines is an argument, of the type that its first user gives it. Raises
    xDSL's ParseError and VerifyException.
    """
    parser = Parser(context, text, name)
    block = Block()
    while (op := parser.parse_optional_operation()) is not None:
        block.add_op(op)
    open_values: list[tuple[str, SSAValue]] = [
        (hint, value) for hint, found in parser.forward_ssa_references.items() for value in found.values()
    ]
    for hint, value in open_values:
        argument = block.insert_arg(value.type, len(block.args))
        argument.name_hint = hint
        value.replace_all_uses_with(argument)
    returned = [result for op in _last(block) for result in op.results]
    block.add_op(ReturnOp(*returned))
    types = ([argument.type for argument in block.args], [value.type for value in returned])
    func = FuncOp("example", types, Region(block))
    if any(op.name.startswith("dist.") for op in block.ops):
        func.attributes[MESH] = MeshAttr(MESH_OF_EXAMPLES)
    module = ModuleOp([func])
    module.verify()
    return module


def _last(block: Block) -> list[Operation]:
    return [block.last_op] if block.last_op is not None else []
