"""`tile` and `keep`: what they write, and where and how they say that something is wrong."""

import pytest

from npuc.compiler.core.errors import CapacityError, NpucError, UsageError
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.driver.passes import available_passes, read_pipeline, write_pipeline
from npuc.compiler.report import OpRow, ScheduleRow
from npuc.compiler.transforms.schedule.pins import dims_of
from npuc.compiler.transforms.tile.patterns import cut, tiled
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor

NETWORK = """network n(batch=6) {
  input x: f32[batch, 8]
  h = linear(x, 8)
  y = linear(h, 4)
  loss sum(y ** 2)
}"""
CONVOLUTION = """network n(batch=4) {
  input x: f32[batch, 3, 8, 8]
  loss sum(conv2d(x, 6, 3, padding=1) ** 2)
}"""


def rows(passes: str, source: str = NETWORK, **options: float) -> dict[str, OpRow]:
    """The rows of the layer y by phase after its schedules were set."""
    report = compile_source(
        source, pipeline=f"autodiff,lower-to-npu,{passes}schedule", hardware="igo-small", overrides=options
    )
    return {row.phase: row for row in report.ops if row.name == "y" and row.kind == "matrix"}


def error(passes: str, source: str = NETWORK, **options: float) -> NpucError:
    with pytest.raises(NpucError) as raised:
        rows(passes, source, **options)
    return raised.value


def test_steps_and_keeps_of_one_layer() -> None:
    found = rows('tile{steps="m:2,n:2" only=y},keep{tensors="dY:1,W:2" only=y},')
    assert {phase: (row.schedule.order, row.schedule.keep) for phase, row in found.items() if row.schedule} == {
        "forward": (["m", "n"], {"W": 2}),
        "dx": (["m", "n"], {"dY": 1, "W": 2}),
        "dw": (["m", "n"], {"dY": 1}),
    }


def test_an_interleaved_pair() -> None:
    found = rows('interleave{mode=zip},tile{steps="m:2,n:2" only=y},keep{tensors="dY:2" only=y},')
    assert found["dxdw"].tensors["dY"].read_bytes == 6 * 4 * 2
    (row,) = (rows('interleave,tile{steps="m:2,n:2,k:2" only=y},')[key] for key in ["dxdw"])
    assert row.schedule is not None
    assert row.schedule.tile == {"m": 2, "n": 2, "k": 2}


@pytest.mark.parametrize(
    ("passes", "place", "message", "hint"),
    [
        ('tile{steps="m:0" only=y},', (4, 7), "the step of m in Y of 'y' is 0, expected 1 to 6", None),
        ('tile{steps="m:7" only=y},', (4, 7), "the step of m in Y of 'y' is 7, expected 1 to 6", None),
        ('tile{steps="kk:2" only=y},', (4, 7), "there is no loop 'kk' in Y of 'y' or the 2 other", "did you mean 'k'?"),
        ('keep{tensors="dy:1" only=y},', (4, 7), "there is no tensor 'dy' in Y of 'y'", "did you mean 'dY'?"),
        ('keep{tensors="W:1" only=h},', (3, 7), "Y of 'h' has no loops to keep", "tile or schedule before keep"),
        ('tile{steps="m:2" only=y},keep{tensors="W:2" only=y},', (4, 7), "keep of W is 2, expected 0 to 1", None),
        ('tile{steps="m:2" only=y},keep{tensors="W:-1" only=y},', (4, 7), "keep of W is -1, expected 0 to 1", None),
        ('tile{steps="m:2" only=h},keep{tensors="W:1"},tile{steps="m:6" only=h},', (4, 7), "no loops to keep", None),
        (
            'tile{steps="m:2,n:2" only=y},keep{tensors="W:2" only=y},tile{steps="m:6" only=y},',
            (4, 7),
            "keep of W is 2, expected 0 to 1",
            None,
        ),
    ],
)
def test_a_wrong_name_or_number_is_an_error_at_the_layer(
    passes: str, place: tuple[int, int], message: str, hint: str | None
) -> None:
    found = error(passes)
    assert isinstance(found, UsageError)
    assert message in found.message
    assert found.location is not None
    assert (found.location.line, found.location.col) == place
    assert hint is None or found.hint == hint


def test_a_step_of_several_dimensions_names_the_nearest_tiles() -> None:
    found = error('tile{steps="m:12"},', CONVOLUTION)
    assert found.message.endswith("is 12, which is no tile of b 4 x y 8 x x 8")
    assert found.hint == "nearest: 8, 16"
    assert error('tile{steps="m:16,y:1"},', CONVOLUTION).message.startswith("steps names y of")


def test_a_layer_that_is_not_there() -> None:
    found = error('tile{steps="m:2" only=z},')
    assert (found.message, found.hint) == ("only=z: no contraction is of such a layer", "known: h, y")


def test_blocks_that_do_not_fit() -> None:
    found = error('tile{steps="m:6" only=h},', NETWORK.replace("8", "4096"))
    assert isinstance(found, CapacityError)
    assert found.location is not None
    assert found.location.line == 3
    blocks = "33,710,080 bytes of SPM (X 49152, W 33554432, Y 98304, Y0 8192)"
    assert found.message == f"the blocks of Y of 'h' take {blocks}, a schedule may use 524,288"
    assert found.hint == "smaller steps, less to keep, or a larger scratchpad"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('tile{steps="m"}', "steps has 'm', expected name:number"),
        ('tile{steps="m:2,,n:2"}', "steps has '', expected name:number"),
        ('tile{steps="m:2.5"}', "steps has 'm:2.5', expected name:number"),
        ('tile{steps="m:2,m:3"}', "steps names m twice"),
        ('keep{tensors="W"}', "tensors has 'W', expected name:number"),
        ("tile", 'requires argument "steps"'),
    ],
)
def test_a_text_that_does_not_parse(text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_pipeline(text, available_passes())
    assert message in raised.value.message


def test_the_printed_pipeline_parses() -> None:
    passes = read_pipeline('tile{steps="m:64,n:128" only="fc*"},keep{tensors="dY:2,W:3"}', available_passes())
    assert write_pipeline(passes) == 'tile{steps="m:64,n:128" only="fc*"},keep{tensors="dY:2,W:3"}'
    assert read_pipeline(write_pipeline(passes), available_passes()) == passes


def test_tiles_of_several_dimensions() -> None:
    extents = {"b": 4, "y": 3, "x": 5}
    whole = [(b, y, x) for b, y, x in [(1, 1, n) for n in range(1, 6)] + [(1, n, 5) for n in (2, 3)]]
    whole += [(n, 3, 5) for n in (2, 3, 4)]
    legal = {b * y * x: {"b": b, "y": y, "x": x} for b, y, x in whole}
    assert {step: found for step in range(-1, 70) if (found := cut(extents, step)) is not None} == legal


def nest() -> Nest:
    def tensor(name: str, first: str, second: str) -> Tensor:
        sizes = {"m": 6, "n": 4, "k": 8}
        return Tensor(name, (sizes[first], sizes[second]), (Axis(((first, 1),)), Axis(((second, 1),))))

    return Nest(
        (("m", 6), ("n", 4), ("k", 8)),
        (tensor("X", "m", "k"), tensor("W", "k", "n")),
        (tensor("Y", "m", "n"),),
        (None,),
        (Statement("Y", "X", "W"),),
    )


def test_the_innermost_loop_of_a_dimension_is_the_tile() -> None:
    cut_twice = Schedule((Loop("n", 2, cores=True), Loop("m", 4), Loop("k", 4), Loop("m", 2)))
    assert str_of(tiled(nest(), cut_twice, {"m": 1, "n": 1})) == "cores n : 2, m : 4, k : 4, m : 1, n : 1"
    assert str_of(tiled(nest(), cut_twice, {"m": 4, "k": 8})) == "cores n : 2, m : 4"
    assert str_of(tiled(nest(), cut_twice, {"n": 2})) == str_of(cut_twice)


def str_of(schedule: Schedule) -> str:
    return ", ".join(map(str, schedule.loops))


def test_a_letter_is_all_dimensions_of_its_role() -> None:
    """The rows of a linear layer over [batch, length, width] are b x m."""
    source = "network n() { input x: f32[4, 6, 8]\n y = linear(x, 5)\n loss sum(y ** 2) }"

    def schedule(passes: str) -> ScheduleRow:
        rows = compile_source(source, pipeline=f"autodiff,lower-to-npu,{passes},schedule", hardware="igo-small").ops
        found = next(row.schedule for row in rows if row.phase == "dw" and row.kind == "matrix")
        assert found is not None
        return found

    assert schedule('tile{steps="m:3"}').tile == {"b": 1, "m": 3, "n": 5, "k": 8}
    assert schedule('tile{steps="m:12"}').tile == {"b": 2, "m": 6, "n": 5, "k": 8}
    assert schedule('tile{steps="m:3,n:1,k:1"},rearrange{order=n,m,k}').order == ["n", "b", "m", "k"]
    assert schedule('tile{steps="m:3"},partition{dim=m parts=2}').order == ["b", "m"]
    assert schedule('tile{steps="b:2"}').tile == {"b": 2, "m": 6, "n": 5, "k": 8}


def test_letters_of_a_product() -> None:
    assert [dims_of(nest(), name) for name in ("m", "n", "k", "x")] == [("m",), ("n",), ("k",), ()]
