"""Random tensor contractions: both forms compute the same to the bit, and TTGT transposes as little as can be."""

from itertools import permutations, product
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.driver.check import run_results
from npuc.compiler.driver.running.lower import stamp_default_target
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.contraction_form import ContractionFormPass
from npuc.compiler.transforms.contraction_form.gemm import gemm_of
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.dialects.npu import ContractOp, MoveOp
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor
from tests.networks import Net, dot_loss, integer_data

SIZES = st.integers(1, 3)


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[str], list[str], list[str], list[str]]:
    """Letters of batch, rows, columns and sums."""
    letters = iter("abcdefghijkl")
    most = (1, 2, 2, 2)
    batch, m, n, k = (
        [next(letters) for _ in range(draw(st.integers(least, top)))]
        for least, top in zip((0, 1, 1, 1), most, strict=True)
    )
    return batch, m, n, k


@st.composite
def steps(draw: st.DrawFn) -> ModuleOp:
    """A training step of an einsum over two parameters, lowered."""
    batch, m, n, k = draw(groups())
    sizes = {letter: draw(SIZES) for letter in (*batch, *m, *n, *k)}
    x, w, y = (draw(st.permutations(dims)) for dims in (batch + m + k, batch + k + n, batch + m + n))
    net = Net()
    values = [net.param(name, *map(sizes.__getitem__, dims)) for name, dims in (("x", x), ("w", w))]
    out = net.call("einsum", f"{''.join(x)},{''.join(w)}->{''.join(y)}", values, layer="y")
    module = net.finish(dot_loss(net, net.call("relu", out) if draw(st.booleans()) else out))
    AutodiffPass().apply(Context(), module)
    LowerToNpuPass().apply(Context(), module)
    stamp_default_target(module)
    return module


def transpositions(module: ModuleOp) -> int:
    return sum(isinstance(op, MoveOp) and op.kind == "transpose" for op in module.walk())


@settings(max_examples=60)
@given(module=steps(), seed=st.integers(0, 99))
def test_both_forms_compute_the_same(module: ModuleOp, seed: int) -> None:
    data = integer_data(module, seed)
    before = run_results(module, data)
    as_lowered = transpositions(module)
    macs = sum(op.nest.macs for op in module.walk() if isinstance(op, ContractOp))
    for step in (ContractionFormPass("native"), ContractionFormPass("ttgt"), SchedulePass(), LowerTilesPass()):
        step.apply(Context(), module)
        module.verify()
        outcome = compare(before, run_results(module, data))
        assert outcome.equal, (step, outcome)
        assert outcome.exact
        nests = [op.nest for op in module.walk() if isinstance(op, ContractOp)]
        assert not nests or sum(nest.macs for nest in nests) == macs
        if step == ContractionFormPass("native"):
            assert transpositions(module) <= as_lowered
        if step == ContractionFormPass("ttgt"):
            views = [gemm_view(nest, nest.statements[0]) for nest in nests]
            assert all(len(dims) < 2 for view in views for dims in (view.m, view.n, view.k))


def test_native_leaves_no_transposition_of_parameters_and_results() -> None:
    net = Net()
    values = [net.param("x", 2, 3, 4, 5), net.param("w", 5, 2, 3, 3)]
    module = net.finish(net.call("einsum", "aebf,fdce->abcd", values, layer="y"))
    LowerToNpuPass().apply(Context(), module)
    assert transpositions(module) == 3
    ContractionFormPass("native").apply(Context(), module)
    assert transpositions(module) == 0
    (nest,) = (op.nest for op in module.walk() if isinstance(op, ContractOp))
    assert sorted(size for _, size in nest.dims) == [2, 2, 3, 3, 4, 5]


@settings(max_examples=60)
@given(st.data())
def test_no_order_of_dimensions_transposes_fewer_elements(data: st.DataObject) -> None:
    batch, m, n, k = data.draw(groups())
    sizes = {letter: data.draw(st.integers(2, 5)) for letter in (*batch, *m, *n, *k)}
    orders = {
        name: data.draw(st.permutations(dims))
        for name, dims in {"X": batch + m + k, "W": batch + k + n, "Y": batch + m + n}.items()
    }
    x, w, y = (
        Tensor(name, tuple(map(sizes.__getitem__, dims)), tuple(Axis(((d, 1),)) for d in dims))
        for name, dims in orders.items()
    )
    nest = Nest(tuple(sizes.items()), (x, w), (y,), (None,), (Statement("Y", "X", "W"),))
    gemm = gemm_of(nest)
    if gemm is None:
        assert max(map(len, (m, n, k))) < 2
        return
    moved = sum(nest.tensors[name].elements for name, way in gemm.ways.items() if way.is_copied)
    ordered = product(*(list(permutations(dims)) for dims in (batch, m, n, k) if dims))
    assert moved == min(
        sum(prod(map(sizes.__getitem__, dims)) for dims in orders.values() if not stands(dims, of)) for of in ordered
    )


def stands(dims: list[str], of: tuple[tuple[str, ...], ...]) -> bool:
    """Whether the groups of a tensor stand together, each in its order."""
    return all("".join(group) in "".join(dims) for group in of if group[0] in dims)
