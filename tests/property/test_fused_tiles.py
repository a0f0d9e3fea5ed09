"""
Random contractions with random elementwise work on their finished blocks: the tiles compute what the program before
computes, and move and hold what the closed forms say.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, StringAttr, TensorType, f64, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.parser import Parser

from npuc.compiler.analysis.machine.array import Array as Cells
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.traffic import traffic
from npuc.compiler.analysis.timing.epilogue import moved_bytes, readers
from npuc.compiler.interpreter.counter import TrafficCounter
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.dialects.npu import ContractOp, VectorOp, operand_tensors
from npuc.dialects.npu.epilogue import incomplete_reason
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.fused_blocks import fused_room, is_stored
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.npu.vector import fused_with
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import shape_of
from npuc.frontends.mlir import make_context
from tests.property.test_tiles import SETTINGS, Array, Case, Draw, call, cases

NO_PARAMS: dict[str, Attribute] = {}
SGD: dict[str, Attribute] = {"lr": FloatAttr(2.0, f64), "momentum": FloatAttr(3.0, f64)}
DROPOUT: dict[str, Attribute] = {"p": FloatAttr(0.5, f64), "seed": IntegerAttr(7, i64)}
AFFINE: dict[str, Attribute] = {"scale": FloatAttr(-2.0, f64), "offset": FloatAttr(1.0, f64)}


class Program:
    """A contraction with fused work, and the arrays of its arguments."""

    def __init__(self, module: ModuleOp, arrays: tuple[Array, ...]):
        self.module, self.arrays = module, arrays

    def __repr__(self) -> str:
        return str(self.module)

    @property
    def contract(self) -> ContractOp:
        return next(op for op in self.module.walk() if isinstance(op, ContractOp))


def finishing(case: Case) -> Case:
    """The same case with outputs kept over the loops inside, so that more of them finish block by block."""
    keep = dict(case.schedule.keep)
    for out in case.nest.outs:
        loops = case.schedule.loops
        inner = next((n for n, loop in enumerate(reversed(loops)) if loop.dim in out.dims), len(loops))
        others = max((n for n, loop in enumerate(reversed(loops), 1) if loop.dim not in out.dims), default=0)
        keep[out.name] = min(max(inner, others), len(loops) - case.schedule.core_depth)
    return Case(case.nest, Schedule(case.schedule.loops, tuple(keep.items())), case.seed)


@st.composite
def programs(draw: Draw) -> Program:
    """One to four operations on one or two outputs, some of whose values are used elsewhere, too."""
    case = draw(cases())
    if draw(st.booleans()):
        case = finishing(case)
    outs = [n for n, out in enumerate(case.nest.outs) if incomplete_reason(case.nest, case.schedule, out.name) is None]
    assume(outs)
    random = np.random.default_rng(case.seed)
    arrays = list(case.arrays().values())
    block = Block(arg_types=[TensorType(f64, t.shape) for t in operand_tensors(case.nest)])
    contract = ContractOp(block.args, case.nest, f64, case.schedule, {"layer": StringAttr("fc")})
    block.add_op(contract)
    made = {n: [contract.results[n]] for n in outs}
    given: dict[tuple[int, ...], list[SSAValue]] = {}

    def other(shape: Sequence[int], element: Attribute = f64) -> SSAValue:
        """An argument of a shape, or one that is there."""
        known = given.setdefault(tuple(shape), [])
        if element is f64 and known and draw(st.booleans()):
            return draw(st.sampled_from(known))
        value = block.insert_arg(TensorType(element, shape), len(block.args))
        arrays.append(random.integers(-3, 4, shape).astype(np.float64) if element is f64 else np.array(5))
        if element is f64:
            known.append(value)
        return value

    for number in range(draw(st.integers(1, 4))):
        mine = made[draw(st.sampled_from(outs))]
        value = draw(st.sampled_from(mine))
        shape = shape_of(value)
        kind = draw(st.sampled_from(["relu", "add", "sub", "mul", "sgd", "dropout", "affine", "max"]))
        operands, params, results = [value], NO_PARAMS, 1
        if kind == "affine":
            params = AFFINE
        elif kind == "dropout":
            operands, params = [value, other((), i64)], DROPOUT
        elif kind == "sgd":
            operands = [other(shape), value, draw(st.sampled_from([*mine, other(shape)]))]
            params, results = SGD, 2
        elif kind != "relu":
            lead = draw(st.integers(0, len(shape)))
            smaller = [size if draw(st.booleans()) else 1 for size in shape[lead:]]
            second = draw(st.sampled_from([*mine, other(shape), other(smaller)]))
            operands = draw(st.permutations([value, second])) if kind != "max" else [value, second]
        op = VectorOp(kind, operands, [value.type] * results, params, ops=len(operands), fused=True)
        op.attributes["layer"] = StringAttr(f"f{number}")
        block.add_op(op)
        mine += op.results
    values = [v for mine in made.values() for v in mine]
    unused = [v for v in values if not v.uses]
    returned = [r for r in contract.results if r not in values]
    returned += [v for v in values if v in unused or draw(st.booleans())]
    block.add_op(ReturnOp(*returned))
    signature = list(block.arg_types), [v.type for v in returned]
    module = ModuleOp([FuncOp("f", signature, Region(block))])
    module.verify()
    return Program(module, tuple(arrays))


MACHINE = Machine(Cells(4, 4, "os"), 1 << 30, Fraction(1), 1000.0, 4)


def expected(program: Program) -> Counter[tuple[str, str, str]]:
    """The bytes that the closed forms say: of the contraction without what stays in SPM, and of each operation."""
    contract, fused = program.contract, fused_with(program.contract)
    inside = [f.op for f in fused]
    found = Counter[tuple[str, str, str]]()
    for name, moved in traffic(contract.nest, contract.schedule).items():
        kept = any(f.output == name for f in fused) and not is_stored(contract.result_of(name), inside)
        found["fc", name, "read"] += 8 * moved.read
        found["fc", name, "write"] += 0 if kept else 8 * moved.write
    for f in fused:
        own = readers(contract.nest, contract.schedule, MACHINE)
        layer, (reads, writes) = layer_of(f.op), moved_bytes(f, inside, MACHINE, own)
        for value, size in reads.items():
            found[layer, f"in{list(f.op.operands).index(value)}", "read"] += size
        for number, value in enumerate(f.op.results):
            found[layer, f"out{number}", "write"] += writes.get(value, 0)
    return +found


@settings(SETTINGS, max_examples=300)
@given(programs())
def test_tiles_compute_move_and_hold_what_the_closed_forms_say(program: Program) -> None:
    module, contract = program.module, program.contract
    before, bytes_moved = call(module, program.arrays), expected(program)
    held = sum(footprint(contract.nest, contract.schedule).values())
    held += sum(count for _, count in fused_room(contract, contract.schedule, fused_with(contract)))
    LowerTilesPass().apply(Context(), module)
    module.verify()
    counter = TrafficCounter()
    for found, right in zip(call(module, program.arrays, counter), before, strict=True):
        np.testing.assert_array_equal(found, right)
    counted = Counter[tuple[str, str, str]]()
    for place, moved in counter.moved.items():
        counted[place.layer, place.tensor, "read"] += 8 * moved.read
        counted[place.layer, place.tensor, "write"] += 8 * moved.write
    assert +counted == bytes_moved
    assert counter.peak <= held
    assert counter.held == 0


@settings(SETTINGS, max_examples=25)
@given(programs())
def test_fused_tiles_round_trip(program: Program) -> None:
    LowerTilesPass().apply(Context(), program.module)
    text = str(program.module)
    again = Parser(make_context(), text).parse_module()
    again.verify()
    assert str(again) == text
