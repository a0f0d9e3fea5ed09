"""`npuc machine`: what each backend sees, and where each number is from."""

import json
from pathlib import Path
from typing import Any

import pytest

from npuc.backends.registry import built_in, get_backend
from npuc.compiler import compile_source
from npuc.compiler.reference.machine import machine_page
from npuc.hardware import KEYS, load_hardware, preset_names, text_of_hardware
from npuc.hardware.readers.toml_remarks import head_of, remark_of
from tests.unit.cli.conftest import Npuc

ONE = """\
# A machine of a test. Values
# without a remark are of nowhere.

clock_mhz = 500 # its "clock" # twice
array = { rows = 8, cols = 4 } # both of a sketch

[memory]
# what stands above
spm_kib = 16
element_bytes = 2       # beside
                        # and below

[dram]
gb_per_s = 4.0
"""


def page_of(npuc: Npuc, *arguments: str) -> dict[str, Any]:
    outcome = npuc("machine", *arguments, "--json", "-")
    assert outcome.status == 0, outcome.err
    return json.loads(outcome.out)


def test_a_machine_of_several_cores(npuc: Npuc) -> None:
    page = page_of(npuc, "tpu-v4")
    seen = {one["backend"]: one for one in page["backends"] if one["backend"] in built_in()}
    assert "has no units" in seen.pop("hetero")["missing"]
    for one in seen.values():
        assert one["peak_ops_per_second"] == pytest.approx(275.2512e12)
        assert one["bytes_per_second"] == pytest.approx(1.2e12)
        assert one["ridge_ops_per_byte"] == pytest.approx(275.2512 / 1.2)
        assert one["missing"] is None
    assert seen["cycle"]["macs_per_cycle"] == seen["maestro"]["macs_per_cycle"] == 8 * 128 * 128
    assert seen["cycle"]["bytes_per_cycle"] == pytest.approx(1.2e12 / 1.05e9)
    assert 2 * seen["cycle"]["memory_bytes"] == seen["roofline"]["memory_bytes"] == 160 << 20
    keys = {one["key"]: one for one in page["keys"]}
    assert keys["clock_mhz"]["source"] == "table 4"
    assert (keys["compute.tflops"]["origin"], keys["compute.tflops"]["backends"]) == ("derived", ["roofline"])
    assert keys["array.fill"]["origin"] == "default"


@pytest.mark.parametrize("name", preset_names())
def test_what_is_shown_is_what_is_scored(name: str) -> None:
    """Every written number has a source, and the peak is the one that utilisation is of."""
    page = machine_page(name)
    assert all(one.source for one in page.keys)
    assert {one.key for one in page.keys} >= load_hardware(name).values.keys()
    gemm = "layer,M,N,K\nfc,512,512,512\n"
    for one in page.backends:
        if one.backend not in built_in() or one.missing is not None or one.peak_ops_per_second is None:
            continue
        report = compile_source(gemm, "csv", backend=one.backend, hardware=name, opt_level=0)
        (row,) = report.ops
        assert row.seconds
        if row.utilization is not None and one.ops_per_mac is not None:
            done = one.ops_per_mac * (row.macs or 0) / row.seconds
            assert done / one.peak_ops_per_second == pytest.approx(row.utilization, rel=1e-6)


def test_what_is_missing_is_said_and_the_rest_shown(npuc: Npuc) -> None:
    out = npuc("machine", "a100").out
    assert "hardware 'a100' has no array.rows" in " ".join(out.split())
    assert "19.4 T" in out
    page = page_of(npuc, "a100", "--set", "array.rows=128", "--set", "array.cols=128", "--set", "vector.lanes=128")
    keys = {one["key"]: one for one in page["keys"]}
    assert (keys["array.rows"]["origin"], keys["clock_mhz"]["origin"]) == ("set", "derived")
    missing = {one["backend"]: one["missing"] for one in page["backends"] if one["backend"] in built_in()}
    assert "has no units" in missing.pop("hetero")
    assert set(missing.values()) == {None}


def test_remarks_of_a_file(npuc: Npuc, folder: Path) -> None:
    (folder / "one.toml").write_text(ONE)
    assert head_of(ONE) == "A machine of a test. Values without a remark are of nowhere."
    told = {key: remark_of(ONE, key) for key in KEYS}
    assert {key: text for key, text in told.items() if text is not None} == {
        "clock_mhz": 'its "clock" # twice',
        "array.rows": "both of a sketch",
        "array.cols": "both of a sketch",
        "memory.spm_kib": "what stands above",
        "memory.element_bytes": "beside and below",
    }
    keys = {one["key"]: one for one in page_of(npuc, "one.toml", "--set", "memory.spm_kib=32")["keys"]}
    assert keys["memory.spm_kib"]["source"] == "given beside the file"
    assert keys["dram.gb_per_s"]["source"] == head_of(ONE)
    assert text_of_hardware({"array.rows": 2}) == ""


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_its_rooflines_as_a_picture(npuc: Npuc, folder: Path, kind: str) -> None:
    pytest.importorskip("matplotlib")
    assert npuc("machine", "h100", "--plot", f"h.{kind}").status == 0
    first = (folder / f"h.{kind}").read_bytes()
    assert len(first) > 4000
    assert npuc("machine", "h100", "--plot", f"h.{kind}").status == 0
    assert (folder / f"h.{kind}").read_bytes() == first


def test_wrong_usage(npuc: Npuc) -> None:
    assert "did you mean 'tpu-v4'" in npuc("machine", "tpu-v44").err
    assert npuc("machine", "tpu-v44").status == 2
    pytest.importorskip("matplotlib")
    none = npuc("machine", "maestro-example", "--plot", "m.svg")
    assert (none.status, "no backend knows the peak" in none.err) == (2, True)
    assert npuc("machine", "h100", "--plot", "m.gif").status == 2


def test_a_mode_without_a_bandwidth_shows_nothing() -> None:
    machine = load_hardware("scalesim", {"cycle.compat": "scalesim3"})
    assert get_backend("cycle").machine_view(machine) is None


def test_a_column_without_room_is_called_by_what_it_says(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "no room in 80 columns for what that memory is" in npuc("machine", "gemmini").out


@pytest.mark.parametrize("name", ["gemmini", "igo-large", "a100", "maestro-example"])
def test_between_its_parts_is_one_empty_line(npuc: Npuc, name: str) -> None:
    assert "\n\n\n" not in npuc("machine", name).out


def test_an_area_that_is_not_known_says_what_it_lacks(npuc: Npuc) -> None:
    def area(*arguments: str) -> list[str]:
        text = npuc("machine", *arguments).out
        return [line.removeprefix("area").strip() for line in text.splitlines() if line.startswith("area ")]

    assert area("trainium2") == ["not known: its technology node is not said (--set technology.node_nm=N)"]
    assert area("trainium2", "--set", "technology.node_nm=7")[0].endswith("vector 0.572, spm 102")
    assert area("igo-large", "--set", "technology.model=gamma", "--set", "technology.node_nm=16") == []
