"""Every preset on every backend: whole networks compile, or one message says what the machine leaves out."""

from collections.abc import Iterator
from itertools import product

import pytest

from npuc.compiler import compile_file
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.hardware import PRESETS, load_hardware, preset_names

BACKENDS = ("cycle", "roofline", "maestro")
NETWORKS: dict[str, dict[str, int | str]] = {
    "samples:resnet18": {"batch": 1, "image": 64},
    "samples:transformer": {"batch": 1, "length": 16},
}
ON_ALL = (
    *("edge", "eyeriss", "gemmini", "h100", "nvdla", "procrustes", "tensordash", "tpu-v1", "tpu-v4", "tpu-v5e"),
    *("trainium2", "mtia-v1", "tpu-v4-cmem"),
)
"""Machines of which everything is said or follows; those of the studies come as their studies print them."""
LACKS = {
    "cycle": ("a100", "aespa", "eie-like", "i9-10980xe", "maestro-example", "rtx2080ti", "rtx2080ti-card", "rx6900xt"),
    "roofline": ("aespa", "eie-like", "maestro-example"),
    "maestro": ("a100", "aespa", "eie-like", "i9-10980xe", "rtx2080ti", "rtx2080ti-card", "rx6900xt"),
}


SEARCHED_LONG = ("mtia-v1", "tpu-v4", "tpu-v4-cmem", "tpu-v5e", "trainium2")
"""Several cores that share what they read: cuts over cores are searched for a minute of a network of convolutions."""


def _cases() -> Iterator[object]:
    for name, backend, network in product(preset_names(), BACKENDS, NETWORKS):
        is_long = name in SEARCHED_LONG and (backend, network) == ("cycle", "samples:resnet18")
        yield pytest.param(name, backend, network, marks=pytest.mark.long if is_long else pytest.mark.slow)


@pytest.mark.parametrize(("name", "backend", "network"), [*_cases()])
def test_a_preset_compiles_whole_networks(name: str, backend: str, network: str) -> None:
    if name in LACKS[backend]:
        with pytest.raises(UsageError, match=f"hardware '{name}' has no .* which the backend '{backend}' needs"):
            compile_file(network, backend=backend, hardware=name, defines=NETWORKS[network], opt_level=0)
        return
    if (backend, network) == ("roofline", "samples:transformer") and name.startswith("hypar16"):
        with pytest.raises(CapacityError, match=f"needs 131,072 bytes of cache .* {name} has 110,592"):
            compile_file(network, backend=backend, hardware=name, defines=NETWORKS[network], opt_level=0)
        return
    report = compile_file(network, backend=backend, hardware=name, defines=NETWORKS[network], opt_level=0)
    assert (report.totals.macs or 0) > 10**6
    assert report.totals.seconds or name == "maestro-example"
    said = [text for text in report.warnings if "is not the peak" in text]
    assert said == []


def test_machines_of_today_are_there_for_all_backends() -> None:
    assert not {*ON_ALL} & {name for names in LACKS.values() for name in names}


@pytest.mark.parametrize("name", ON_ALL)
def test_every_number_of_a_machine_of_today_has_its_source(name: str) -> None:
    """On its line or the next, a number says where it is from; that of a file whose head says so needs no remark."""
    text = (PRESETS / f"{name}.toml").read_text(encoding="utf-8")
    if "alues without a remark" in text:
        return
    lines = text.splitlines()
    for number, line in enumerate(lines):
        key, equals, value = line.partition("=")
        if not equals or key.startswith("#") or not value.strip()[0].isdigit():
            continue
        beside = [line, *(lines[number - 1 : number] if number else [])]
        assert any("#" in one for one in beside), f"{name}: {line}"


@pytest.mark.parametrize(
    ("name", "tflops"), [("tpu-v4", 275), ("tpu-v5e", 197), ("h100", 989.4), ("trainium2", 8 * 79), ("edge", 2.048)]
)
def test_the_peak_is_the_published_one(name: str, tflops: float) -> None:
    bare = {key: value for key, value in load_hardware(name).values.items() if key != "compute.tflops"}
    assert load_hardware(bare).known("compute.tflops", float) == pytest.approx(tflops, rel=5e-3)
