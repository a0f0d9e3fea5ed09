"""`partition`: what the cuts write, what a rule takes, and how it says that something is wrong."""

import pytest
from xdsl.context import Context
from xdsl.parser import Parser

from npuc.compiler.analysis.schedule.partition import nearest_divisors
from npuc.compiler.analysis.schedule.partition_knn import labels, predict
from npuc.compiler.core.errors import CapacityError, NpucError, SourceError, UsageError
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.driver.passes import available_passes, read_pipeline, write_pipeline
from npuc.compiler.report import OpRow
from npuc.compiler.transforms.partition import PartitionPass
from npuc.dialects.npu import ContractOp
from npuc.frontends.mlir import make_context
from tests.unit.transforms.test_rearrange import PAIR, moved, network

CONVOLUTION = "network n() { input x: f32[3, 3, 8, 8]\n h = conv2d(x, 6, 3, padding=1)\n loss sum(h ** 2) }"


def row(
    passes: str,
    sizes: tuple[int, int, int] = (96, 64, 80),
    hardware: str = "igo-small",
    cores: int = 1,
    mode: str = "fused",
    spm_kib: int = 1024,
) -> OpRow:
    """The row of both gradients of y."""
    overrides = {"array.cores": cores, "memory.spm_kib": spm_kib}
    pipeline = f"autodiff,lower-to-npu,interleave{{mode={mode}}},{passes},schedule"
    report = compile_source(network(*sizes), pipeline=pipeline, hardware=hardware, overrides=overrides)
    return next(row for row in report.ops if row.name == "y" and row.phase == "dxdw")


@pytest.mark.parametrize(("dim", "over"), [(dim, over) for dim in "mnk" for over in ("time", "cores")])
def test_the_report_names_the_cut(dim: str, over: str) -> None:
    found = row(f'tile{{steps="m:8,n:8,k:8" only=y}},partition{{dim={dim} parts=4 over={over} only=y}}', cores=4)
    assert found.schedule is not None
    partition = found.schedule.partition
    assert partition is not None
    assert (partition.dim, partition.parts, partition.over) == (dim, 4, over)
    assert found.schedule.tile == {"m": 8, "n": 8, "k": 8}


@pytest.mark.parametrize(
    ("dim", "shared", "once"),
    [("m", "W", ("dY", "X", "dX")), ("n", "X", ("dY", "W", "dW")), ("k", "dY", ("X", "W", "dX", "dW"))],
)
def test_what_cores_share(dim: str, shared: str, once: tuple[str, ...]) -> None:
    """With all of a part in SPM: what they share is read by each, the rest is moved once."""
    alone = row('tile{steps="m:96,n:64,k:80" only=y}', cores=4)
    found = row(f'tile{{steps="m:96,n:64,k:80" only=y}},partition{{dim={dim} parts=4 over=cores only=y}}', cores=4)
    assert found.tensors[shared].read_bytes == 4 * alone.tensors[shared].read_bytes
    for name in once:
        assert found.tensors[name] == alone.tensors[name], name


def test_a_part_without_a_schedule_is_searched() -> None:
    sizes = (2400, 1800, 3000)
    found = row("partition{dim=k parts=4 only=y}", sizes)
    assert found.schedule is not None
    assert found.schedule.partition is not None
    assert found.schedule.tile["k"] <= 750
    assert found.schedule.tile != {"m": 2400, "n": 1800, "k": 750}
    assert found.spm_bytes is not None
    assert found.spm_bytes <= 512 * 1024


@pytest.mark.parametrize("objective", ["time", "traffic"])
@pytest.mark.parametrize("cores", [1, 4])
def test_the_best_is_the_cheapest_of_its_cuts(objective: str, cores: int) -> None:
    sizes = (24, 16, 200)

    def cost(passes: str) -> float:
        found = row(passes, sizes, cores=cores, spm_kib=8)
        assert found.cycles is not None
        return found.cycles if objective == "time" else moved(found)

    options = f"objective={objective} tolerance=0.0"
    cuts = [f"partition{{dim={dim} parts={parts} {options}}}" for dim in "mnk" for parts in (2, 4, 8)]
    if cores > 1:
        cuts += [f"partition{{dim={dim} parts={cores} over=cores {options}}}" for dim in "mnk"]
    assert cost(f"partition{{rule=best {options}}}") == min(
        *(cost(f"{cut.replace('}', ' only=y}')}") for cut in cuts), cost(f"schedule{{{options}}}")
    )


def test_the_best_cut_of_a_schedule_that_is_set() -> None:
    """It keeps steps and depths: k outermost saves what dX and dW would move again."""
    tiles = 'tile{steps="m:8,n:8,k:8" only=y},keep{tensors="W:1,dW:1" only=y}'
    before, after = row(tiles), row(f"{tiles},partition{{rule=best objective=traffic only=y}}")
    each = [row(f"{tiles},partition{{dim={dim} parts={n} only=y}}") for dim in "mnk" for n in (2, 4, 8) if dim != "k"]
    assert moved(after) <= min(moved(before), *(moved(one) for one in each))
    assert after.schedule is not None
    assert after.schedule.tile == {"m": 8, "n": 8, "k": 8}


@pytest.mark.parametrize("objective", ["time", "traffic"])
def test_the_best_cut_of_contractions_in_turn(objective: str) -> None:
    """The same for both, of a schedule that is set."""

    def cost(passes: str) -> float:
        found = row(passes, (96, 400, 800), mode="zip")
        assert found.cycles is not None
        return found.cycles if objective == "time" else moved(found)

    tiles = 'tile{steps="m:8,n:40,k:200" only=y},rearrange{order=m,k,n only=y},keep{tensors="W:1,dW:1" only=y}'
    each = [cost(f"{tiles},partition{{dim={dim} parts={n} only=y}}") for dim in "mk" for n in (2, 4)]
    best = cost(f"{tiles},partition{{rule=best objective={objective} only=y}}")
    assert best <= min(each) < cost(tiles)
    assert cost(f"{tiles},partition{{rule=best over=cores objective={objective} only=y}}") == cost(tiles)


def test_contractions_in_turn_without_schedules_get_them_first() -> None:
    alone = row("schedule", (960, 400, 800), mode="zip")
    found = row("partition{rule=best only=y}", (960, 400, 800), mode="zip")
    assert found.cycles is not None
    assert alone.cycles is not None
    assert found.cycles <= alone.cycles


def test_the_first_dimension_that_the_parts_divide() -> None:
    """m of a convolution is b = 3, y = 8, x = 8."""
    passes = "autodiff,lower-to-npu,partition{dim=m parts=4},schedule"
    rows = compile_source(CONVOLUTION, pipeline=passes, hardware="igo-small").ops
    found = [row.schedule for row in rows if row.schedule is not None]
    assert found
    # a part that is cut further along y says so apart from its order
    cuts = [
        (s.order[0], s.tile["y"]) if s.partition is None else (s.partition.dim, 8 // s.partition.parts) for s in found
    ]
    assert set(cuts) == {("y", 2)}


def error(passes: str, **options: int) -> NpucError:
    overrides = {"memory.element_bytes": 1} | options
    with pytest.raises(NpucError) as raised:
        compile_source(PAIR, "mlir", pipeline=passes, hardware="igo-small", overrides=overrides)
    return raised.value


@pytest.mark.parametrize(
    ("passes", "kind", "message", "hint"),
    [
        (
            "partition{dim=m parts=4}",
            UsageError,
            "4 parts do not divide m = 6 of dX of 'fc'",
            "nearest that do: 3, 6",
        ),
        ("partition{dim=m parts=7}", UsageError, "7 parts do not divide m = 6 of dX of 'fc'", "nearest that do: 6"),
        ("partition{dim=q parts=2}", UsageError, "there is no dimension 'q' in dX of 'fc'", "known: k, m, n"),
        (
            'tile{steps="m:4"},partition{dim=m parts=2}',
            UsageError,
            "dX of 'fc': steps of m must shrink inwards, got 3 then 4",
            None,
        ),
        (
            "partition{dim=m parts=6 over=cores}",
            CapacityError,
            "the parts of dX of 'fc' take 6 cores, the machine has 1",
            "fewer parts, or array.cores=6",
        ),
        (
            "interleave{mode=zip},partition{dim=m parts=2}",
            UsageError,
            "dX of 'fc' runs round-robin and has no schedule",
            "tile or schedule before it",
        ),
        (
            "interleave{mode=zip},schedule,partition{dim=m parts=2 over=cores}",
            UsageError,
            "dX of 'fc' runs round-robin with others, which is on one core",
            "over=time",
        ),
    ],
)
def test_a_cut_that_cannot_be_is_an_error_at_the_layer(
    passes: str, kind: type[NpucError], message: str, hint: str | None
) -> None:
    found = error(passes)
    assert isinstance(found, kind)
    assert found.message.startswith(message)
    assert found.hint == hint
    assert found.location is not None
    assert found.location.line == 3


def test_a_dimension_over_cores_twice() -> None:
    cut = "partition{dim=m parts=2 over=cores}"
    assert (
        "m of dX of 'fc' is cut over cores already"
        in error(f'tile{{steps="n:2"}},{cut},{cut}', **{"array.cores": 4}).message
    )


def test_no_machine_and_one_part() -> None:
    module = Parser(make_context(), PAIR).parse_module()
    before = str(module)
    PartitionPass("m", 1).apply(Context(), module)
    assert str(module) == before
    for step in (PartitionPass("m", 2), PartitionPass(rule="best")):
        with pytest.raises(SourceError, match="the module does not say its machine"):
            step.apply(Context(), module)
    assert all(op.schedule_attr is None for op in module.walk() if isinstance(op, ContractOp))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("partition", "expected either a dimension and parts"),
        ("partition{dim=m}", "expected either a dimension and parts"),
        ("partition{parts=2 rule=best}", "expected either a dimension and parts"),
        ("partition{dim=m parts=0}", "parts is 0, expected at least 1"),
        ("partition{dim=m parts=2 over=space}", "over is 'space', expected time or cores"),
        ("partition{rule=worst}", "rule is 'worst', expected "),
    ],
)
def test_options_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_pipeline(text, available_passes())
    assert message in raised.value.message


def test_the_printed_pipeline_parses() -> None:
    text = 'partition{dim=m parts=4 over=cores only="fc*"},partition{rule=best objective=traffic}'
    passes = read_pipeline(text, available_passes())
    assert read_pipeline(write_pipeline(passes), available_passes()) == passes


def test_parts_that_divide() -> None:
    assert nearest_divisors([8, 12], 5) == [4, 6]
    assert nearest_divisors([8, 12], 13) == [12]
    assert nearest_divisors([7], 2) == [1, 7]


@pytest.mark.parametrize("sizes", [(96, 64, 80), (2400, 1800, 3000), (512, 512, 2048)])
def test_the_predictor_leaves_one_dimension_to_cut(sizes: tuple[int, int, int]) -> None:
    known = labels("small")
    scheme = predict(*sizes, known)
    found = row("partition{rule=knn only=y}", sizes)
    best = row("partition{rule=best only=y}", sizes)
    assert found.cycles is not None
    assert best.cycles is not None
    assert found.cycles >= best.cycles
    assert found.schedule is not None
    assert found.schedule.partition is None or found.schedule.partition.dim == scheme


@pytest.mark.parametrize(
    "source", [CONVOLUTION.replace("3, 3, 8, 8", "64, 20, 12, 12").replace("6, 3", "50, 5"), network(96, 64, 320)]
)
def test_a_rule_takes_the_cores_that_a_schedule_leaves(source: str) -> None:
    """A schedule over all cores is not split over them again; one over two of four may be over two more."""
    for first in ("schedule", "partition{dim=m parts=2 over=cores}", "partition{dim=m parts=4 over=cores}"):
        passes = f"autodiff,lower-to-npu,{first}"
        both = f"{passes},partition{{rule=best over=cores}},schedule"
        plain, split = (
            compile_source(source, pipeline=text, hardware="igo-small", overrides={"array.cores": 4})
            for text in (f"{passes},schedule", both)
        )
        assert plain.totals.cycles is not None
        assert split.totals.cycles is not None
        assert split.totals.cycles <= plain.totals.cycles
