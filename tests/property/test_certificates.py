"""Certificates: no program moves less than what rows and layers say has to move, whatever passes made it."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler import CapacityError, Report, compile_source
from npuc.compiler.report import LayerCertificate

FRONT = "autodiff,lower-to-npu"
SEQUENTIAL, FUSED, ZIPPED = (f"{FRONT},{step}schedule" for step in ("", "interleave,", "interleave{mode=zip},"))
ANYWHERE = (
    SEQUENTIAL,
    FUSED,
    ZIPPED,
    f"{FRONT},schedule{{objective=traffic}}",
    'autodiff,lower-to-npu{conv=im2col},interleave{mode=best what="all"},schedule',
    f'{FRONT},interleave{{what="all"}},schedule',
    f'{FRONT},interleave{{mode=zip what="all" objective=traffic}},schedule',
    f'{FRONT},interleave{{mode=best what="all" objective=traffic}},schedule',
    f'{FRONT},tile{{steps="m:1"}},schedule,keep{{tensors="Y:0,X:0"}}',
    f"{FRONT},interleave{{mode=zip}},rearrange{{rule=published}},schedule",
    f"{FRONT},interleave,partition{{rule=best}},schedule",
)
RELIEVED = (
    f"{FRONT},schedule,fuse-vector",
    f"{FRONT},interleave,schedule,fuse-vector",
    f"{FRONT},schedule,keep-resident{{what=pairs}}",
    f"{FRONT},schedule{{objective=traffic}},keep-resident",
    f"{FRONT},interleave,schedule,fuse-vector,keep-resident",
)
"""These have no price with tiles in a pool or in the array; what stays in scratchpad has none on several cores."""


@st.composite
def sources(draw: st.DrawFn) -> str:
    """Convolutions, products of two activations, siblings and shared weights in a chain."""
    size, width = draw(st.integers(2, 6)), draw(st.integers(1, 12))
    steps = draw(st.lists(st.sampled_from(("conv", "linear", "square", "attention", "shared", "relu")), max_size=3))
    lines = [f"network net(batch={draw(st.integers(1, 9))}) {{", f"  input x: f32[batch, 4, {size}, {size}]", "  h = x"]
    for _ in range(steps.count("conv")):
        kernel, stride, groups = draw(st.sampled_from((1, 3))), draw(st.integers(1, 2)), draw(st.sampled_from((1, 2)))
        channels = 2 * draw(st.integers(1, 4))
        lines.append(f"  h = conv2d(h, {channels}, kernel={kernel}, stride={stride}, padding=same, groups={groups})")
    lines.append(f"  h = linear(flatten(h), {width})")
    for step in steps:
        lines += {
            "linear": [f"  h = linear(h, {width})"],
            "square": ["  h = matmul(matmul(h, h, transpose_b=true), h)"],
            "attention": [*(f"  {name} = linear(h, {width})" for name in "qkv"), "  h = matmul(q, matmul(k, v))"],
            "shared": [f"  w = param([{width}, {width}])", "  h = linear(linear(h, weight=w), weight=w)"],
            "relu": [f"  h = relu(linear(h, {width}))"],
        }.get(step, [])
        if step == "attention":
            lines[-1] = "  h = matmul(matmul(q, k, transpose_b=true), v)"
    return "\n".join([*lines, "  loss sum(h ** 2)", "  optimizer sgd(lr=0.1, momentum=0.9)", "}"])


@st.composite
def machines(draw: st.DrawFn) -> dict[str, Any]:
    """A small array with little SPM: explicit or a pool, one core or more with and without shared transfers."""
    policy = draw(st.sampled_from(("explicit", "explicit", "lru")))
    dataflow = draw(st.sampled_from(("os", "ws", "is") if policy == "lru" else ("os", "ws", "in-place")))
    explicit = dataflow == "in-place" and draw(st.booleans())
    return {
        "name": "random",
        "clock_mhz": 1000,
        "array.rows": 4,
        "array.cols": draw(st.sampled_from((2, 4))),
        "array.dataflow": dataflow,
        **({"array.transpose": "explicit"} if explicit else {}),
        "array.cores": 1 if policy == "lru" else draw(st.sampled_from((1, 1, 2, 4))),
        "array.multicast": draw(st.booleans()),
        "array.reduction": draw(st.sampled_from(("dram", "on-chip"))),
        "memory.spm_kib": draw(st.sampled_from((0.25, 0.5, 1, 2, 8, 64))),
        "memory.double_buffer": draw(st.booleans()),
        "memory.policy": policy,
        "dram.gb_per_s": 2.0,
        "vector.lanes": 8,
    }


def compiled(text: str, machine: dict[str, Any], pipeline: str) -> Report | None:
    """The report; None where not even the smallest tiles fit."""
    try:
        return compile_source(text, filename="net.dsl", hardware=machine, pipeline=pipeline)
    except CapacityError:
        return None


def check(report: Report) -> None:
    """Rows and layers move at least their bounds, and are optimal where they move no more."""
    assert report.certificates is not None
    products = [row for row in report.ops if row.kind == "matrix"]
    for row in products:
        moved = (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)
        compulsory, bound, gap = (row.native[key] for key in ("compulsory_bytes", "capacity_bound_bytes", "gap_bytes"))
        assert isinstance(compulsory, int)
        assert isinstance(bound, int)
        assert moved >= max(compulsory, bound) == row.lower_bound_bytes, row
        assert (row.native["reached_bytes"], gap) == (moved, moved - max(compulsory, bound))
        assert row.native["optimal"] == (gap == 0)
    assert sorted(n for c in report.certificates for p in c.products for n in p.rows) == [row.index for row in products]
    for layer in report.certificates:
        for one in layer.products:
            rows = [report.ops[n] for n in one.rows]
            assert {row.name for row in rows} == {layer.layer}
            assert one.bound_bytes == max(one.compulsory_bytes, one.capacity_bound_bytes)
            assert one.reached_bytes == sum((r.dram_read_bytes or 0) + (r.dram_write_bytes or 0) for r in rows)
            assert one.reached_bytes >= one.bound_bytes, (layer.layer, rows)
            assert one.optimal == (one.reached_bytes == one.bound_bytes)
        assert layer.optimal == all(one.optimal for one in layer.products)
        assert layer.gap_bytes == sum(one.repeat * one.gap_bytes for one in layer.products)


@settings(max_examples=40)
@given(text=sources(), machine=machines(), pipeline=st.sampled_from(ANYWHERE))
def test_nothing_is_below_its_bound(text: str, machine: dict[str, Any], pipeline: str) -> None:
    report = compiled(text, machine, pipeline)
    if report is not None:
        check(report)


@settings(max_examples=30)
@given(text=sources(), machine=machines(), pipeline=st.sampled_from(RELIEVED))
def test_nor_where_something_is_not_stored_or_stays_in_scratchpad(
    text: str, machine: dict[str, Any], pipeline: str
) -> None:
    machine |= {"array.dataflow": "os", "memory.policy": "explicit", "memory.spm_kib": 4 * machine["memory.spm_kib"]}
    machine |= {"array.cores": 1} if "keep-resident" in pipeline else {}
    report = compiled(text, {key: value for key, value in machine.items() if key != "array.transpose"}, pipeline)
    if report is not None:
        check(report)


@settings(max_examples=10)
@given(text=sources(), machine=machines())
def test_a_layer_has_one_bound_whatever_its_program(text: str, machine: dict[str, Any]) -> None:
    """One after the other, in turn, or as one nest: its bound is that of any program, so each gap is from the best."""
    reports = [compiled(text, machine, pipeline) for pipeline in (SEQUENTIAL, FUSED, ZIPPED)]
    bounds = [_bounds(report.certificates or []) for report in reports if report is not None]
    assert bounds.count(bounds[0]) == len(bounds) if bounds else True


def _bounds(certificates: list[LayerCertificate]) -> dict[str, int]:
    return {layer.layer: layer.bound_bytes for layer in certificates}
