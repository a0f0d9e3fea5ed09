"""The least that dX and dW of a product take, against what they take apart, in turn and as one nest."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import StringAttr

from npuc.backends.cycle.backend import CycleBackend
from npuc.compiler import compile_source
from npuc.compiler.core.errors import CapacityError
from npuc.hardware.load import load_hardware
from tests.ir_programs import lowered

LOWER = "autodiff,lower-to-npu"
WAYS = (
    "schedule",
    "interleave{mode=zip},schedule",
    "interleave{mode=fused},schedule",
    "interleave{mode=best},schedule",
    'interleave{mode=zip},rearrange{rule="published"},schedule',
)
PRODUCT = """network one(batch={m}) {{
  input x: f32[batch, {k}]
  labels y: i32[batch]
  h = linear(x, {k}, bias=false)
  h = linear(h, {n}, bias=false)
  loss cross_entropy(h, y)
  optimizer sgd(lr=0.1)
}}
"""
CONVOLUTION = """network one(batch={m}) {{
  input x: f32[batch, {k}, 4, 4]
  labels y: i32[batch]
  h = conv2d(x, {k}, kernel=3, padding=1, bias=false)
  h = conv2d(h, {n}, kernel=2, bias=false)
  loss cross_entropy(linear(flatten(h), 2), y)
  optimizer sgd(lr=0.1)
}}
"""
TWICE = """network one(batch={m}) {{
  input x: f32[batch, {k}]
  labels y: i32[batch]
  h = linear(x, {k}, bias=false)
  h = linear(h, {n}, bias=false) + linear(h * h, {n}, bias=false)
  loss cross_entropy(h, y)
  optimizer sgd(lr=0.1)
}}
"""


def draw_machine(r: Random) -> dict[str, Any]:
    """A small machine, with room for little or for all, whose products take time by array or channel."""
    return {
        "name": "small",
        "clock_mhz": 1000,
        "array": {
            "rows": r.choice([2, 4, 8]),
            "cols": r.choice([2, 4, 8]),
            "dataflow": r.choice(["os", "ws", "is"]),
            "fill": r.choice(["per-fold", "overlap"]),
            "cores": r.choice([1, 1, 2]),
        },
        "memory": {"spm_kib": r.choice([1, 2, 64]), "element_bytes": 2},
        "dram": {"gb_per_s": r.choice([0.5, 4.0, 100.0])},
        "vector": {"lanes": 4},
    }


def seconds_by_layer(text: str, machine: dict[str, Any], way: str) -> dict[str, float]:
    """What each layer takes, all of its rows together."""
    report = compile_source(text, hardware=machine, pipeline=f"{LOWER},{way}")
    found: dict[str, float] = {}
    for row in report.ops:
        found[row.name] = found.get(row.name, 0.0) + row.repeat * (row.seconds or 0.0)
    return found


@given(st.integers(0, 10**6), st.sampled_from([PRODUCT, CONVOLUTION, TWICE]))
@settings(max_examples=25)
def test_nothing_takes_less_than_the_least_in_any_way(seed: int, network: str) -> None:
    r = Random(seed)
    text = network.format(m=r.choice([2, 4, 6]), k=r.choice([2, 4, 12]), n=r.choice([2, 4, 10]))
    machine, backend = draw_machine(r), CycleBackend()
    hardware = load_hardware(machine)
    program = lowered(text, LOWER)
    apart = backend.least_seconds(program, hardware)
    together = backend.least_seconds(program, hardware, together=True)
    assert apart is not None
    assert together is not None
    for layer, own in together.items():
        assert sum(own) <= sum(apart[layer]) * (1 + 1e-12)
    for way in WAYS:
        try:
            taken = seconds_by_layer(text, machine, way)
        except CapacityError:
            continue
        for layer, least in (together if way != "schedule" else apart).items():
            assert sum(least) <= taken.get(layer, 0.0) * (1 + 1e-12), (way, layer)


def test_two_products_of_one_gradient_have_no_bound_in_one_layer() -> None:
    """Which of their gradients run together is not known."""
    hardware, found = load_hardware(draw_machine(Random(0))), list[float]()
    for name in (None, "both"):
        program = lowered(TWICE.format(m=4, k=4, n=4), LOWER)
        for op in program.walk():
            if name is not None and "layer" in op.attributes:
                op.attributes["layer"] = StringAttr(name)
        least = CycleBackend().least_seconds(program, hardware, together=True)
        assert least is not None
        assert len(least) == 1 or name is None
        found.append(sum(map(sum, least.values())))
    apart, together = found
    assert 0 < together < apart


def test_what_runs_together_already_has_no_bound() -> None:
    program = lowered(PRODUCT.format(m=4, k=4, n=4), f"{LOWER},interleave{{mode=zip}}")
    assert CycleBackend().least_seconds(program, load_hardware(draw_machine(Random(0))), together=True) is None
