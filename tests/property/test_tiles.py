"""
Random scheduled nests: the contraction against index arithmetic, the tiles against the contraction, and what a walk of
the tiles moves and holds against the closed forms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp, TensorType, f64
from xdsl.dialects.func import Func, FuncOp, ReturnOp
from xdsl.dialects.scf import Scf
from xdsl.interpreter import Interpreter
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions
from xdsl.ir import Block, Region
from xdsl.parser import Parser
from xdsl.printer import Printer

from npuc.compiler.analysis.nest.traffic import traffic
from npuc.compiler.interpreter.counter import TrafficCounter
from npuc.compiler.interpreter.npu import NpuFunctions
from npuc.compiler.interpreter.tiles import TileFunctions
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.dialects.npu import NPU, ContractOp, operand_tensors
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor

Array: TypeAlias = npt.NDArray[Any]
Draw: TypeAlias = st.DrawFn

SETTINGS = settings(max_examples=150, print_blob=True, suppress_health_check=[HealthCheck.too_slow])


@dataclass(frozen=True)
class Case:
    """A nest with a schedule and integers for its inputs and starts."""

    nest: Nest
    schedule: Schedule
    seed: int

    def arrays(self) -> dict[str, Array]:
        random = np.random.default_rng(self.seed)
        return {t.name: random.integers(-4, 5, t.shape).astype(np.float64) for t in operand_tensors(self.nest)}


def plain(dim: str) -> Axis:
    return Axis(((dim, 1),))


def tensor(name: str, axes: Sequence[Axis], sizes: Mapping[str, int], shape: Mapping[Axis, int]) -> Tensor:
    return Tensor(name, tuple(shape[a] if a in shape else sizes[a.dims[0]] for a in axes), tuple(axes))


def roles(draw: Draw, dims: Sequence[tuple[str, int]], tensors: Mapping[str, Tensor]) -> Nest:
    """A nest of one statement `out += lhs * rhs` for each of one or two outputs among three tensors, with starts."""
    names = draw(st.permutations(sorted(tensors)))
    outs = names[: draw(st.integers(1, 2))]
    ins = [t for name, t in tensors.items() if name not in outs]
    if len(outs) == 2:  # The two gradients read the tensors that they are the gradients of.
        ins += [tensors[name] for name in outs]
    results = [Tensor(f"d{name}", tensors[name].shape, tensors[name].axes) for name in outs]
    statements: list[Statement] = []
    for name in outs:
        lhs, rhs = draw(st.permutations([other for other in sorted(tensors) if other != name]))
        statements.append(Statement(f"d{name}", lhs, rhs))
    starts: list[Tensor | None] = []
    for result in results:
        kept = draw(st.lists(st.sampled_from(range(len(result.axes))), unique=True)) if draw(st.booleans()) else None
        if kept is None:
            starts.append(None)
        else:
            axes, shape = [result.axes[n] for n in kept], [result.shape[n] for n in kept]
            starts.append(Tensor(f"{result.name}0", tuple(shape), tuple(axes)))
    return Nest(tuple(dims), tuple(ins), tuple(results), tuple(starts), tuple(statements))


def product_nest(draw: Draw) -> Nest:
    """A matrix product in any layout and role, with up to two batch dimensions."""
    batch = ["a", "b"][: draw(st.sampled_from([0, 0, 0, 1, 2]))]
    sizes = {d: draw(st.integers(1, 3)) for d in batch} | {d: draw(st.integers(1, 9)) for d in "mnk"}
    dims = draw(st.permutations(sorted(sizes)))
    tensors: dict[str, Tensor] = {}
    for name, used in (("X", "mk"), ("W", "kn"), ("Y", "mn")):
        axes = [plain(d) for d in draw(st.permutations([*batch, *used]))]
        tensors[name] = tensor(name, axes, sizes, {})
    return roles(draw, [(d, sizes[d]) for d in dims], tensors)


def window(draw: Draw, out: str, tap: str) -> tuple[dict[str, int], Axis, int]:
    """The dimensions, index and size of one axis of a convolution's input."""
    size, kernel = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    stride, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    reach = dilation * (kernel - 1) + 1
    low, high = draw(st.integers(0, reach - 1)), draw(st.integers(0, reach - 1))
    padded = max(size + low + high, reach)
    positions = (padded - reach) // stride + 1
    image = padded - low - high
    assume(any(0 <= y * stride + r * dilation - low < image for y in range(positions) for r in range(kernel)))
    terms = [(out, stride), (tap, dilation)]
    return {out: positions, tap: kernel}, Axis(tuple(draw(st.permutations(terms))), -low), image


def convolution_nest(draw: Draw) -> Nest:
    """A convolution of one or two axes, plain, grouped or depthwise, in any role."""
    sizes = {"b": draw(st.integers(1, 2))}
    grouping = draw(st.sampled_from(["plain", "grouped", "depthwise"]))
    groups = ["g"] if grouping != "plain" else []
    channels = ["o", "i"] if grouping != "depthwise" else []
    sizes |= {d: draw(st.integers(1, 3)) for d in (*groups, *channels)}
    shape: dict[Axis, int] = {}
    images: list[Axis] = []
    outs, taps = ["y", "x"][: draw(st.integers(1, 2))], ["r", "s"]
    for out, tap in zip(outs, taps, strict=False):
        found, axis, size = window(draw, out, tap)
        sizes |= found
        shape[axis] = size
        images.append(axis)
    group = [plain(d) for d in groups]
    o, i = ([plain("o")], [plain("i")]) if channels else ([], [])
    used = [plain(tap) for tap in taps[: len(outs)]]
    tensors = {
        "X": tensor("X", [plain("b"), *group, *i, *images], sizes, shape),
        "W": tensor("W", [*group, *o, *i, *used], sizes, shape),
        "Y": tensor("Y", [plain("b"), *group, *o, *(plain(d) for d in outs)], sizes, shape),
    }
    dims = draw(st.permutations(sorted(sizes)))
    return roles(draw, [(d, sizes[d]) for d in dims], tensors)


def schedule(draw: Draw, nest: Nest) -> Schedule:
    """Loops in any order, ragged, some dimensions cut two or three times, and any keep depths."""
    steps: dict[str, list[int]] = {}
    for dim, size in nest.dims:
        cuts = draw(st.integers(0, 3)) if size > 1 else draw(st.integers(0, 1))
        steps[dim] = sorted(draw(st.sets(st.integers(1, size), min_size=min(cuts, 1), max_size=cuts)), reverse=True)
    order = draw(st.permutations([dim for dim, cut in steps.items() for _ in cut]))
    distinct = next((n for n in range(len(order)) if order[n] in order[:n]), len(order))
    spread = draw(st.sampled_from([0, 0, 0, 1, 2]))
    spread = min(spread, distinct)
    loops = tuple(Loop(dim, steps[dim].pop(0), n < spread) for n, dim in enumerate(order))
    keep: list[tuple[str, int]] = []
    for name in nest.tensors:
        if draw(st.booleans()):
            keep.append((name, draw(st.integers(0, len(loops) - spread))))
    return Schedule(loops, tuple(keep))


@st.composite
def cases(draw: Draw) -> Case:
    nest = draw(st.sampled_from([product_nest, convolution_nest]))(draw)
    return Case(nest, schedule(draw, nest), draw(st.integers(0, 1000)))


def reference(nest: Nest, arrays: Mapping[str, Array]) -> list[Array]:
    """The outputs by index arithmetic: every point of the nest, one after the other."""
    point = dict(zip(nest.sizes, np.indices([size for _, size in nest.dims]).reshape(len(nest.dims), -1), strict=True))
    size = nest.points
    outs: dict[str, Array] = {}
    for out, start in zip(nest.outs, nest.starts, strict=True):
        outs[out.name] = np.zeros(out.shape)
        if start is not None:
            letters = {axis: chr(97 + n) for n, axis in enumerate(out.axes)}
            subscripts = "".join(letters[a] for a in start.axes) + "," + "".join(letters.values())
            ones = np.ones(out.shape)
            outs[out.name] = np.einsum(f"{subscripts}->{''.join(letters.values())}", arrays[start.name], ones)

    def place(t: Tensor) -> tuple[tuple[Array, ...], Array]:
        index = [np.full(size, a.offset) + sum(c * point[d] for d, c in a.terms) for a in t.axes]
        inside = np.ones(size, np.bool_)
        for positions, extent in zip(index, t.shape, strict=True):
            inside &= (positions >= 0) & (positions < extent)
        return tuple(np.where(inside, positions, 0) for positions in index), inside

    for s in nest.statements:
        out, keep = place(nest.tensors[s.out])
        (lhs, left), (rhs, right) = place(nest.tensors[s.lhs]), place(nest.tensors[s.rhs])
        values = arrays[s.lhs][lhs] * arrays[s.rhs][rhs] * (left & right & keep)
        np.add.at(outs[s.out], out, values)
    return [outs[t.name] for t in nest.outs]


def module_of(case: Case) -> ModuleOp:
    block = Block(arg_types=[TensorType(f64, t.shape) for t in operand_tensors(case.nest)])
    contract = ContractOp(block.args, case.nest, f64, case.schedule)
    block.add_ops([contract, ReturnOp(*contract.results)])
    types = [list(block.arg_types), [r.type for r in contract.results]]
    module = ModuleOp([FuncOp("f", (types[0], types[1]), Region(block))])
    module.verify()
    return module


def run(module: ModuleOp, case: Case, *listeners: Interpreter.Listener) -> list[Array]:
    return call(module, tuple(case.arrays().values()), *listeners)


def call(module: ModuleOp, arguments: Sequence[Array], *listeners: Interpreter.Listener) -> list[Array]:
    interpreter = Interpreter(module, listeners=listeners)
    for functions in (FuncFunctions(), ScfFunctions(), ArithFunctions(), NpuFunctions(), TileFunctions()):
        interpreter.register_implementations(functions)
    return list(interpreter.call_op("f", tuple(arguments)))


def lowered(case: Case) -> ModuleOp:
    module = module_of(case)
    LowerTilesPass().apply(Context(), module)
    module.verify()
    return module


@SETTINGS
@given(cases())
def test_contraction_is_the_sum_over_all_points(case: Case) -> None:
    for found, expected in zip(run(module_of(case), case), reference(case.nest, case.arrays()), strict=True):
        np.testing.assert_array_equal(found, expected)


@SETTINGS
@given(cases())
def test_tiles_compute_move_and_hold_what_the_schedule_says(case: Case) -> None:
    counter = TrafficCounter()
    for found, expected in zip(run(lowered(case), case, counter), run(module_of(case), case), strict=True):
        np.testing.assert_array_equal(found, expected)
    moved = {place.tensor: (m.read, m.write) for place, m in counter.moved.items()}
    assert moved == {name: (t.read, t.write) for name, t in traffic(case.nest, case.schedule).items()}
    assert counter.peak <= sum(footprint(case.nest, case.schedule).values())
    assert counter.held == 0


@settings(SETTINGS, max_examples=25)
@given(cases())
def test_both_levels_round_trip(case: Case) -> None:
    context = Context()
    for dialect in (Builtin, Func, Scf, Arith, NPU):
        context.load_dialect(dialect)
    for module in (module_of(case), lowered(case)):
        for generic in (False, True):
            text = StringIO()
            Printer(text, print_generic_format=generic).print_op(module)
            assert Parser(context, text.getvalue()).parse_module().is_structurally_equivalent(module)
