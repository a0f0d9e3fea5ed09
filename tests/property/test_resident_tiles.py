"""
Random contractions with resident values, for vector work and for a second contraction: the tiles compute what
the program before computes, and move what the closed forms say, less what stays.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from npuc.compiler.analysis.nest.traffic import traffic
from npuc.compiler.analysis.programs.resident import resident_spm_bytes
from npuc.compiler.interpreter.counter import TrafficCounter
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.dialects.npu import ContractOp, Resident, VectorOp, operand_tensors
from npuc.dialects.npu.epilogue import incomplete_reason
from npuc.dialects.npu.resident import unmoved_tensors
from npuc.dialects.provenance import layer_of
from tests.property.test_fused_tiles import finishing
from tests.property.test_tiles import SETTINGS, Array, Draw, call, cases
from tests.widths import of_bytes


@dataclass(frozen=True, repr=False)
class Program:
    """Contractions and vector work with values that stay, and the arrays of the arguments."""

    module: ModuleOp
    arrays: tuple[Array, ...]

    def __repr__(self) -> str:
        return str(self.module)


@st.composite
def programs(draw: Draw) -> Program:
    """
    Inputs stay for the same contraction a second time, results for an activation; some results are used elsewhere, too.
    """
    case = draw(cases())
    case = finishing(case) if draw(st.booleans()) else case
    nest, schedule = case.nest, replace(case.schedule, loops=tuple(x for x in case.schedule.loops if not x.cores))
    keep = tuple((name, min(depth, len(schedule.loops))) for name, depth in schedule.keep)
    schedule = replace(schedule, keep=keep)
    once = [t.name for t in (*nest.ins, *nest.outs) if incomplete_reason(nest, schedule, t.name) is None]
    ins = [t.name for t in nest.ins if t.name in once and draw(st.booleans())]
    outs = [t.name for t in nest.outs if draw(st.booleans())]
    stored = [name for name in outs if name in once and draw(st.booleans())]
    block = Block(arg_types=[TensorType(f64, t.shape) for t in operand_tensors(nest)])
    first = ContractOp(block.args, nest, f64, schedule, {"layer": StringAttr("first")})
    first.resident = Resident((), (*ins, *outs))
    second = ContractOp(block.args, nest, f64, schedule, {"layer": StringAttr("second")})
    second.resident = Resident(tuple(ins))
    block.add_ops([first, second])
    returned = [*second.results]
    for name, value in zip((t.name for t in nest.outs), first.results, strict=True):
        if name in outs:
            work = VectorOp("relu", [value], [value.type], ops=1)
            work.attributes["layer"] = StringAttr("g")
            work.resident = Resident(("in0",))
            block.add_op(work)
            returned.append(work.results[0])
        if name not in outs or name in stored:
            returned.append(value)
    block.add_op(ReturnOp(*returned))
    signature = list(block.arg_types), [v.type for v in returned]
    module = ModuleOp([FuncOp("f", signature, Region(block))])
    module.verify()
    return Program(module, tuple(case.arrays().values()))


def expected(module: ModuleOp) -> Counter[tuple[str, str, str]]:
    """The elements that the closed forms say, without what stays in SPM."""
    found = Counter[tuple[str, str, str]]()
    for op in module.walk():
        if isinstance(op, ContractOp):
            unmoved = unmoved_tensors(op)
            for name, moved in traffic(op.nest, op.schedule).items():
                if name not in unmoved:
                    found[layer_of(op), name, "read"] += moved.read
                    found[layer_of(op), name, "write"] += moved.write
    return +found


@SETTINGS
@given(programs())
def test_tiles_compute_the_same_and_move_what_does_not_stay(program: Program) -> None:
    before = call(program.module, program.arrays)
    wanted = expected(program.module)
    rooms = [
        resident_spm_bytes(op.nest, op.schedule, of_bytes(op.nest, 1), op.resident.names)
        for op in program.module.walk()
        if isinstance(op, ContractOp)
    ]
    LowerTilesPass().apply(Context(), program.module)
    program.module.verify()
    counter = TrafficCounter()
    after = call(program.module, program.arrays, counter)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    counted = Counter[tuple[str, str, str]]()
    for place, moved in counter.moved.items():
        counted[place.layer, place.tensor, "read"] += moved.read
        counted[place.layer, place.tensor, "write"] += moved.write
    assert +counted == wanted
    assert counter.peak <= max(rooms)
