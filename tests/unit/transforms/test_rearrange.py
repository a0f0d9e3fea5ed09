"""`rearrange`: what each order moves, which rule takes what, and how it says that something is wrong."""

import pytest
from xdsl.context import Context
from xdsl.parser import Parser

from npuc.compiler.core.errors import CapacityError, NpucError, SourceError, UsageError
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.driver.machine import stamp_target
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline, write_pipeline
from npuc.compiler.report import OpRow
from npuc.compiler.transforms.interleave import InterleavePass
from npuc.compiler.transforms.rearrange import RearrangePass
from npuc.frontends.mlir import make_context
from npuc.hardware import load_hardware

PAIR = """func.func @pair(%dy: tensor<6x4xf32>, %w: tensor<8x4xf32>, %x: tensor<6x8xf32>)
    -> (tensor<6x8xf32>, tensor<8x4xf32>) {
  %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    {layer = "fc", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
  %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    {layer = "fc", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  func.return %dx, %dw : tensor<6x8xf32>, tensor<8x4xf32>
}"""
TILES = 'tile{steps="m:2,n:2,k:2"}'
ELEMENTS = {"memory.element_bytes": 2, "array.accumulator_bits": 16}
"""Partial sums as wide as elements, so that half the bytes are elements."""


def pair(passes: str, source: str = PAIR) -> list[OpRow]:
    """The rows of the pair after passes; an element has two bytes, a partial sum too."""
    return compile_source(source, "mlir", pipeline=passes, hardware="igo-small", overrides=ELEMENTS).ops


def moved(row: OpRow) -> int:
    return (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)


def by_tensor(row: OpRow) -> dict[str, tuple[int, int]]:
    """The elements of each tensor that are read and written."""
    return {name: (t.read_bytes // 2, t.write_bytes // 2) for name, t in row.tensors.items()}


# order, keep, then elements read and written: dY, W, X, dX, dW; total, and elements held.
PUBLISHED = [
    ("m,k,n", "", (96, 0), (96, 0), (48, 0), (0, 48), (64, 96), 448, 20),
    ("m,k,n", "dY:2", (24, 0), (96, 0), (48, 0), (0, 48), (64, 96), 376, 24),
    ("m,k,n", "dY:2,W:3,dW:3", (24, 0), (32, 0), (48, 0), (0, 48), (0, 32), 184, 80),
    ("n,k,m", "", (96, 0), (32, 0), (96, 0), (48, 96), (0, 32), 400, 20),
    ("k,m,n", "W:1,dW:1", (96, 0), (32, 0), (48, 0), (0, 48), (0, 32), 256, 28),
    ("k,m,n", "W:1,dW:1,dY:3", (24, 0), (32, 0), (48, 0), (0, 48), (0, 32), 184, 48),
]


@pytest.mark.parametrize(("order", "keep", "dy", "w", "x", "dx", "dw", "total", "held"), PUBLISHED)
def test_what_each_order_of_the_example_moves(
    order: str,
    keep: str,
    dy: tuple[int, int],
    w: tuple[int, int],
    x: tuple[int, int],
    dx: tuple[int, int],
    dw: tuple[int, int],
    total: int,
    held: int,
) -> None:
    kept = f',keep{{tensors="{keep}"}}' if keep else ""
    (row,) = pair(f"interleave,{TILES},rearrange{{order={order}}}{kept}")
    assert by_tensor(row) == {"dY": dy, "W": w, "X": x, "dX": dx, "dW": dw}
    assert (moved(row), row.spm_bytes) == (2 * total, 2 * held)


def test_the_sequential_example() -> None:
    """dX by rows, dW by columns."""
    rows = pair(f"{TILES},rearrange{{order=m,k,n}},rearrange{{order=n,k,m only=last}}", PAIR.replace(*LAST))
    assert [by_tensor(row) for row in rows] == [
        {"dY": (96, 0), "W": (96, 0), "dX": (0, 48)},
        {"X": (96, 0), "dY": (96, 0), "dW": (0, 32)},
    ]
    assert [(moved(row), row.spm_bytes) for row in rows] == [(2 * 240, 2 * 12), (2 * 224, 2 * 12)]


LAST = ('"fc", role = "dw"', '"last", role = "dw"')


def network(m: int, n: int, k: int) -> str:
    return f"""network n() {{
  input x: f32[{m}, {k}]
  h = linear(x, {k}, bias=false)
  y = linear(h, {n}, bias=false)
  loss sum(y ** 2)
}}"""


def gradients(passes: str, m: int, n: int, k: int, mode: str = "zip", spm_kib: int = 1024) -> OpRow:
    """The row of both gradients of y, which run together."""
    passes = f"autodiff,lower-to-npu,interleave{{mode={mode}}},{passes},schedule"
    machine = {"memory.spm_kib": spm_kib}
    rows = compile_source(network(m, n, k), pipeline=passes, hardware="igo-small", overrides=machine).ops
    return next(row for row in rows if row.name == "y" and row.phase == "dxdw")


@pytest.mark.parametrize(
    ("sizes", "program", "before"),
    [
        ((600, 300, 200), "zip", None),
        ((2400, 300, 700), "fused", ("m", "n")),
        ((300, 2400, 700), "fused", ("m", "n")),
        ((300, 700, 2400), "fused", ("n", "m")),
    ],
)
def test_the_published_rule(sizes: tuple[int, int, int], program: str, before: tuple[str, str] | None) -> None:
    row = gradients("rearrange{rule=published}", *sizes)
    assert row.schedule is not None
    assert row.schedule.program == program
    order = [dim for dim in row.schedule.order if before is not None and dim in before]
    assert before is None or order in ([*before], [before[0]], [before[1]], [])


@pytest.mark.parametrize("objective", ["time", "traffic"])
@pytest.mark.parametrize(("sizes", "spm_kib"), [((600, 300, 200), 1024), ((240, 30, 70), 8), ((64, 700, 2400), 1024)])
def test_the_best_is_the_cheapest_of_all(sizes: tuple[int, int, int], spm_kib: int, objective: str) -> None:
    def cost(passes: str, mode: str = "zip") -> float:
        row = gradients(passes, *sizes, mode, spm_kib)
        assert row.cycles is not None
        return row.cycles if objective == "time" else moved(row)

    options = f"objective={objective} tolerance=0.0"
    best = cost(f"rearrange{{rule=best {options}}}")
    orders = [f"rearrange{{order={order} {options}}}" for order in ("m,k,n", "n,k,m")]
    assert best == min(cost(f"schedule{{{options}}}"), *(cost(order, "fused") for order in orders))
    assert best <= cost(f"rearrange{{rule=published {options}}},schedule{{{options}}}")
    assert cost(f"rearrange{{rule=best orders=all {options}}}") <= best


def test_no_order_is_cheaper_than_the_search() -> None:
    """Which may cut a dimension twice, and so be better than all of them."""
    sizes = (150, 90, 200)
    found: dict[str, int] = {}
    for order in ("m,k,n", "n,k,m", "m,n,k", "n,m,k", "k,m,n", "k,n,m"):
        row = gradients(f"rearrange{{order={order} objective=traffic}}", *sizes, mode="fused", spm_kib=16)
        assert row.schedule is not None
        place: dict[str, int] = {dim: number for number, dim in enumerate(order.split(","))}
        places = [place[dim] for dim in row.schedule.order]
        assert places == sorted(places)
        found[order] = moved(row)
    assert min(found.values()) >= moved(gradients("schedule{objective=traffic}", *sizes, mode="fused", spm_kib=16))
    assert len(set(found.values())) > 1


def test_the_best_order_of_a_schedule_that_is_set() -> None:
    """Its steps and depths stay; orders in which they do not fit are left out."""
    passes = f'interleave,{TILES},keep{{tensors="dY:1"}},'
    orders = ("m,k,n", "n,k,m", "m,n,k", "n,m,k", "k,m,n", "k,n,m")
    each = [moved(pair(f"{passes}rearrange{{order={order}}}")[0]) for order in orders]
    (best,) = pair(f"{passes}rearrange{{rule=best objective=traffic}}")
    (every,) = pair(f"{passes}rearrange{{rule=best orders=all objective=traffic}}")
    (as_it_is,) = pair(passes.removesuffix(","))
    assert moved(best) == min(*each[:2], moved(as_it_is))
    assert moved(every) == min(each)
    assert best.schedule is not None
    assert best.schedule.tile == {"m": 2, "n": 2, "k": 2}


def error(passes: str, source: str = PAIR) -> NpucError:
    with pytest.raises(NpucError) as raised:
        pair(passes, source)
    return raised.value


@pytest.mark.parametrize(
    ("passes", "line", "message", "hint"),
    [
        ("rearrange{order=m,kk}", 3, "there is no loop 'kk' in dX of 'fc' or the 1 other", "did you mean 'k'?"),
        (
            "interleave{mode=zip},rearrange{order=m,k,n}",
            3,
            "dX of 'fc' runs round-robin and has no schedule",
            "tile or schedule before it",
        ),
    ],
)
def test_a_wrong_order_is_an_error_at_the_layer(passes: str, line: int, message: str, hint: str) -> None:
    found = error(passes)
    assert isinstance(found, UsageError)
    assert message in found.message
    assert found.hint == hint
    assert found.location is not None
    assert found.location.line == line


def test_a_letter_and_a_dimension_of_it() -> None:
    source = "network n() { input x: f32[2, 3, 8, 8]\n loss sum(conv2d(x, 6, 3) ** 2) }"
    with pytest.raises(UsageError, match="order names y of Y of 'conv2d' twice"):
        compile_source(source, pipeline="autodiff,lower-to-npu,rearrange{order=m,y}")


def test_depths_that_do_not_fit_in_an_order() -> None:
    """dY is a tile inside m, and a row inside n."""
    set_by_hand = 'loops [n : 1, m : 1, k : 1] keep(dY = 2) spm 32 bytes {layer = "fc", role = "dx"}'
    source = PAIR.replace('{layer = "fc", role = "dx"}', set_by_hand)
    assert len(pair("schedule", source)) == 2
    with pytest.raises(CapacityError) as raised:
        pair("rearrange{order=m,n,k},rearrange{order=k,m,n only=fc},schedule", source)
    assert (
        "the blocks of dX of 'fc' take 52 bytes of SPM (dY 48, W 2, dX 2), a schedule may use 32"
        == raised.value.message
    )
    assert raised.value.location is not None
    assert raised.value.location.line == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rearrange", "expected either an order"),
        ("rearrange{order=m rule=best}", "expected either an order"),
        ("rearrange{rule=knn}", "rule is 'knn', expected published or best"),
        ("rearrange{rule=best orders=some}", "orders is 'some', expected published or all"),
        ("rearrange{rule=best objective=cost}", "objective is 'cost', expected time"),
        ("rearrange{order=m,k,m}", "order names m twice"),
    ],
)
def test_options_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_pipeline(text, available_passes())
    assert message in raised.value.message


def test_the_printed_pipeline_parses() -> None:
    passes = read_pipeline('rearrange{order=m,k,n},rearrange{order="m,k,n"},rearrange{rule=best}', available_passes())
    assert read_pipeline(write_pipeline(passes), available_passes()) == passes


def test_the_best_by_energy_needs_energies() -> None:
    passes = f"interleave,{TILES},rearrange{{rule=best objective=energy}}"
    without = read_pipeline(passes, available_passes())
    module = Parser(make_context(), PAIR).parse_module()
    facts = {"array.rows": 4, "array.cols": 4, "memory.spm_kib": 1, "dram.gb_per_s": 1.0, "clock_mhz": 1000}
    stamp_target(module, load_hardware({"name": "bare", **facts, "vector.lanes": 1}), "cycle")
    with pytest.raises(UsageError, match=r"the objective energy needs energies that .* energy\.mac_pj"):
        run_pipeline(module, without, make_context(), SourceTexts({}))
    assert pair(passes)


def test_no_machine() -> None:
    for step in (RearrangePass(("m",)), RearrangePass(rule="best")):
        module = Parser(make_context(), PAIR).parse_module()
        InterleavePass().apply(Context(), module)
        with pytest.raises(SourceError, match="the module does not say its machine"):
            step.apply(Context(), module)
