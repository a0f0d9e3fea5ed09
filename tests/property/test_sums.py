"""
Random scheduled nests of narrow types: the tiles compute what the contraction computes where sums have the type of
accumulators, in DRAM too, on integers that both add exactly.
"""

from io import StringIO

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, bf16, f16, f32, i8, i16
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.interpreter import Interpreter
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions
from xdsl.ir import Attribute, Block, Region
from xdsl.parser import Parser
from xdsl.printer import Printer

from npuc.compiler.analysis.machine.facts import TARGET, target_attr
from npuc.compiler.interpreter.npu import NpuFunctions
from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.interpreter.tiles import TileFunctions
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.dialects.npu import ContractOp, MacOp, operand_tensors
from npuc.dialects.npu.sums import sum_type
from npuc.frontends.mlir import make_context
from tests.property.test_tiles import SETTINGS, Array, Case, cases, reference

ELEMENTS: list[Attribute] = [bf16, f16, f32, i8, i16]
EXACT = {32: 2**24, 16: 2**8}
"""Integers up to these are floats of accumulators of so many bits, and differences of integers of them."""


def module_of(case: Case, element: Attribute, result: Attribute, bits: int) -> ModuleOp:
    block = Block(arg_types=[TensorType(element, t.shape) for t in operand_tensors(case.nest)])
    contract = ContractOp(block.args, case.nest, result, case.schedule)
    block.add_ops([contract, ReturnOp(*contract.results)])
    types = [list(block.arg_types), [r.type for r in contract.results]]
    module = ModuleOp([FuncOp("f", (types[0], types[1]), Region(block))])
    module.attributes[TARGET] = target_attr({"accumulator_bits": bits})
    module.verify()
    return module


def run(module: ModuleOp, arrays: list[Array], bits: int) -> list[Array]:
    numbers, interpreter = Numbers(accumulator_bits=bits), Interpreter(module)
    for functions in (FuncFunctions(), ScfFunctions(), ArithFunctions(), NpuFunctions(numbers), TileFunctions(numbers)):
        interpreter.register_implementations(functions)
    return list(interpreter.call_op("f", tuple(arrays)))


@st.composite
def typed(draw: st.DrawFn) -> tuple[Case, Attribute, Attribute, int]:
    """A case with the types of its operands and results, and the bits of accumulators."""
    case, bits = draw(cases()), draw(st.sampled_from([32, 16]))
    element = draw(st.sampled_from(ELEMENTS))
    floats = [bf16, f16, f32]
    result = draw(st.sampled_from(floats)) if element in floats else element
    return case, element, result, bits


@settings(SETTINGS, max_examples=200)
@given(typed(), st.integers(1, 40))
def test_tiles_add_as_the_contraction_does(typed: tuple[Case, Attribute, Attribute, int], factor: int) -> None:
    """Under 32 bits the factor makes partial sums that the result's type does not hold."""
    case, element, result, bits = typed
    arrays = case.arrays()
    if bits == 32:
        largest = max(factor * np.abs(a).max(initial=0) for a in arrays.values())
        factor = factor if largest <= 2**7 else 1
        arrays = {name: factor * a for name, a in arrays.items()}
    sizes = {name: np.abs(a) for name, a in arrays.items()}
    assume(all(a.max(initial=0) <= EXACT[bits] for a in reference(case.nest, sizes)))
    numbers = Numbers(accumulator_bits=bits)
    held = [numbers.hold(a, element) for a in arrays.values()]
    before = module_of(case, element, result, bits)
    after = before.clone()
    LowerTilesPass().apply(Context(), after)
    after.verify()
    expected = [numbers.hold(a, result) for a in reference(case.nest, arrays)]
    for found, tiled, exact in zip(run(before, held, bits), run(after, held, bits), expected, strict=True):
        np.testing.assert_array_equal(found, exact)
        np.testing.assert_array_equal(tiled, exact)
    for mac in (op for op in after.walk() if isinstance(op, MacOp)):
        assert getattr(mac.acc.type, "element_type", None) == sum_type(result, bits)
    text = StringIO()
    Printer(text).print_op(after)
    assert Parser(make_context(), text.getvalue()).parse_module().is_structurally_equivalent(after)
