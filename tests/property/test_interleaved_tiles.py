"""
Random contractions that run round-robin: their tiles compute what the contractions do, and move and hold what the
closed forms say, a shared whole block once.
"""

from collections import Counter
from dataclasses import replace
from io import StringIO

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.interpreter import Interpreter
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions
from xdsl.ir import Block, Region, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from npuc.compiler.analysis.timing.interleave import interleaved_traffic
from npuc.compiler.interpreter.counter import TrafficCounter
from npuc.compiler.interpreter.npu import NpuFunctions
from npuc.compiler.interpreter.tiles import TileFunctions
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.dialects.npu import ContractOp, InterleaveOp, YieldOp, operand_tensors
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.npu.shared import joint_footprint
from npuc.frontends.mlir import make_context
from tests.property.test_tiles import SETTINGS, Array, Case, Draw, cases, schedule


@st.composite
def programs(draw: Draw) -> ModuleOp:
    """
    A function of an `npu.interleave` of two or three contractions, all arguments tensors.

    Often the first nest comes twice with another schedule, so that inputs are shared, and keeps inputs whole.
    """
    chosen = [draw(cases()) for _ in range(draw(st.integers(2, 3)))]
    if draw(st.booleans()):
        chosen[1] = Case(chosen[0].nest, schedule(draw, chosen[0].nest), 0)
    values: dict[tuple[int, ...], list[int]] = {}
    types: list[tuple[int, ...]] = []
    operands: list[list[int]] = []
    schedules: list[Schedule] = []
    for case in chosen:
        own: list[int] = []
        for tensor in operand_tensors(case.nest):
            known = values.setdefault(tensor.shape, [])
            if not known or draw(st.booleans()):
                known.append(len(types))
                types.append(tensor.shape)
            own.append(draw(st.sampled_from(known)))
        operands.append(own)
        keep = dict(case.schedule.keep)
        keep |= {t.name: len(case.schedule.loops) for t in case.nest.ins if draw(st.booleans())}
        # In turn they run on one core.
        loops = tuple(replace(loop, cores=False) for loop in case.schedule.loops)
        schedules.append(Schedule(loops, tuple(keep.items())))
    block = Block(arg_types=[TensorType(f64, shape) for shape in types])
    inner = Block()
    results: list[SSAValue] = []
    for number, (case, own, plan) in enumerate(zip(chosen, operands, schedules, strict=True)):
        op = ContractOp([block.args[n] for n in own], case.nest, f64, plan)
        op.attributes["layer"] = StringAttr(f"stream{number}")
        inner.add_op(op)
        results += op.results
    inner.add_op(YieldOp(results))
    together = InterleaveOp(Region(inner))
    block.add_ops([together, ReturnOp(*together.results)])
    signature = list(block.arg_types), list(together.result_types)
    module = ModuleOp([FuncOp("f", signature, Region(block))])
    module.verify()
    return module


def together_of(module: ModuleOp) -> InterleaveOp:
    return next(op for op in module.walk() if isinstance(op, InterleaveOp))


def run(module: ModuleOp, seed: int, *listeners: Interpreter.Listener) -> list[Array]:
    random = np.random.default_rng(seed)
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    shapes = [type_.get_shape() for type_ in func.function_type.inputs.data if isinstance(type_, TensorType)]
    interpreter = Interpreter(module, listeners=listeners)
    for functions in (FuncFunctions(), ScfFunctions(), ArithFunctions(), NpuFunctions(), TileFunctions()):
        interpreter.register_implementations(functions)
    return list(interpreter.call_op("f", tuple(random.integers(-4, 5, s).astype(np.float64) for s in shapes)))


@SETTINGS
@given(programs(), st.integers(0, 99))
def test_tiles_compute_move_and_hold_what_the_closed_forms_say(module: ModuleOp, seed: int) -> None:
    before, together = run(module, seed), together_of(module).round_robin
    expected = Counter[tuple[str, str, str]]()
    for number, tensors in enumerate(interleaved_traffic(together)):
        for name, moved in tensors.items():
            expected[f"stream{number}", name, "read"] += moved.read
            expected[f"stream{number}", name, "write"] += moved.write
    LowerTilesPass().apply(Context(), module)
    module.verify()
    counter = TrafficCounter()
    for found, right in zip(run(module, seed, counter), before, strict=True):
        np.testing.assert_array_equal(found, right)
    counted = Counter[tuple[str, str, str]]()
    for place, moved in counter.moved.items():
        counted[place.layer, place.tensor, "read"] += moved.read
        counted[place.layer, place.tensor, "write"] += moved.write
    assert counted == expected
    held = joint_footprint(together)
    assert counter.peak <= sum(sum(own.values()) for own in held)
    assert counter.held == 0
    if all(not plan.loops for plan in together.schedules) and not any(s for n in together.nests for s in n.starts):
        assert counter.peak == sum(sum(own.values()) for own in held), "one tile operation each, all blocks at once"


def printed(module: ModuleOp, *, generic: bool) -> str:
    text = StringIO()
    Printer(text, print_generic_format=generic).print_op(module)
    return text.getvalue()


@settings(SETTINGS, max_examples=25)
@given(programs())
def test_both_levels_round_trip(module: ModuleOp) -> None:
    for _ in range(2):
        for generic in (False, True):
            text = printed(module, generic=generic)
            again = Parser(make_context(), text).parse_module()
            again.verify()
            assert printed(again, generic=generic) == text
        LowerTilesPass().apply(Context(), module)
