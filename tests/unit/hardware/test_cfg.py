"""SCALE-Sim's configuration files as hardware: both versions, missing keys, and every way in which one is malformed."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler import compile_source
from npuc.compiler.core.errors import UsageError
from npuc.hardware import load_hardware
from npuc.hardware.readers.scalesim import KNOWN, SECTIONS, read_cfg

VERSION_3 = """[general]
run_name = scale_example

[architecture_presets]
ArrayHeight:    16
ArrayWidth:     8
IfmapSramSzkB:    6
FilterSramSzkB:   7
OfmapSramSzkB:    2
IfmapOffset:    0
FilterOffset:   10000000
OfmapOffset:    20000000
Bandwidth : 20
Dataflow : ws
MemoryBanks:   1
ReadRequestBuffer: 32
WriteRequestBuffer: 32

[layout]
IfmapCustomLayout: False
IfmapSRAMBankBandwidth: 4
FilterSRAMBankBandwidth: 5

[sparsity]
SparsitySupport : true
SparseRep : csr
OptimizedMapping : false
RandomNumberGeneratorSeed : 40

[run_presets]
InterfaceBandwidth: CALC
UseRamulatorTrace: False
"""
VERSION_2 = """[general]
run_name = "v2"

[architecture_presets]
ArrayHeight : 12
ArrayWidth  : 14
IfmapSramSz : 108
FilterSramSzkB : 108
OfmapSramSzkB : 108
Dataflow : os
Bandwidth : 3, 4, 5

[run_presets]
InterfaceBandwidth: USER
"""


def test_version_3() -> None:
    values = read_cfg(VERSION_3, "scale.cfg")
    assert values == {
        "name": "scale_example",
        "array.rows": 16,
        "array.cols": 8,
        "array.dataflow": "ws",
        "array.fill": "per-fold",
        "array.drain": "hidden",
        "scalesim.ifmap_sram_kb": 6,
        "scalesim.filter_sram_kb": 7,
        "scalesim.ofmap_sram_kb": 2,
        "scalesim.bandwidth_mode": "CALC",
        "scalesim.memory": True,
        "scalesim.sparsity": True,
        "scalesim.sparse_rep": "csr",
        "cycle.compat": "scalesim3",
        "clock_mhz": 1000.0,
        "memory.spm_kib": 15.0,
        "memory.double_buffer": True,
        "memory.element_bytes": 1,
        "dram.gb_per_s": 10.0,
        "vector.lanes": 8,
    }


def test_version_2_in_user_mode() -> None:
    values = read_cfg(VERSION_2, "old.cfg")
    assert values["name"] == "v2"
    assert [values[f"scalesim.{operand}_bw"] for operand in ("ifmap", "filter", "ofmap")] == [3.0, 3.0, 3.0]
    assert values["scalesim.sparsity"] is False
    layout = "[layout]\nIfmapSRAMBankBandwidth: 4\nFilterSRAMBankBandwidth = 5\n"
    values = read_cfg(VERSION_2 + layout, "old.cfg")
    assert [values[f"scalesim.{operand}_bw"] for operand in ("ifmap", "filter", "ofmap")] == [4.0, 5.0, 3.0]
    assert values["dram.gb_per_s"] == 3.0


@pytest.mark.parametrize("text", ["", "\n# nothing\n", "[general]\n", "\ufeff[Architecture_Presets]\r\n\r\n"])
def test_any_key_may_be_missing(text: str) -> None:
    preset = load_hardware("scalesim")
    for key, value in read_cfg(text, "some/where.cfg").items():
        expected = {"name": "where", "cycle.compat": "scalesim3"}.get(key, preset.get(key))
        assert value == expected, key


@pytest.mark.parametrize(
    "line",
    ["ArrayHeight:16", "ARRAYHEIGHT = 16", "  arrayheight\t:16  ", "ArrayHeight=16 # rows", "ArrayHeight : 16 ; rows"],
)
def test_spellings(line: str) -> None:
    text = f"; a comment\n[ARCHITECTURE_PRESETS]\n# another\n{line}\n[other section]\nArrayHeight : x\n"
    assert read_cfg(text, "t.cfg")["array.rows"] == 16


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("ArrayHeight:    16", "ArrayHeight: many", "5:14", "ArrayHeight: found 'many', expected an integer from 1"),
        ("ArrayHeight:    16", "ArrayHeight: 0", "5:14", "found '0', expected an integer from 1 to 65,536"),
        ("ArrayHeight:    16", "ArrayHeight: 1e3", "5:14", "found '1e3'"),
        ("ArrayHeight:    16", "ArrayHeight:", "5:13", "found nothing"),
        ("ArrayHeight:    16", "ArrayHieght: 16", "5:1", "unknown key 'ArrayHieght'"),
        ("ArrayHeight:    16", "ArrayHeight 16", "5:1", "expected KEY : VALUE"),
        ("ArrayHeight:    16", "  : 16", "5:3", "expected KEY : VALUE"),
        ("ArrayWidth:     8", "arrayheight = 8", "6:1", "ArrayHeight is there twice, first in line 5"),
        ("[general]", "general", "1:1", "found 'general' before any [section]"),
        ("Dataflow : ws", "Dataflow : rs", "14:12", "found 'rs', expected os or ws or is"),
        ("Bandwidth : 20", "Bandwidth : -1", "13:13", "found '-1', expected a bandwidth"),
        ("Bandwidth: CALC", "Bandwidth: AUTO", "31:21", "found 'AUTO', expected CALC or USER"),
        ("Support : true", "Support : maybe", "25:19", "found 'maybe', expected true or false"),
        ("SparseRep : csr", "SparseRep : coo", "26:13", "expected ellpack_block or csr or csc"),
        ("OptimizedMapping : false", "OptimizedMapping : true", "27:20", "row-wise sparsity"),
    ],
)
def test_what_is_malformed_is_told_with_its_place(old: str, new: str, place: str, message: str) -> None:
    text = VERSION_3.replace(old, new, 1)
    with pytest.raises(UsageError) as caught:
        read_cfg(text, "t.cfg")
    assert str(caught.value.location) == f"t.cfg:{place}"
    assert message in caught.value.message
    assert caught.value.source_line == text.splitlines()[int(place.split(":")[0]) - 1]


def test_files_with_overrides(tmp_path: Path) -> None:
    file = tmp_path / "scale.CFG"
    file.write_text(VERSION_3, encoding="utf-8")
    hardware = load_hardware(file, {"array.rows": 64, "clock_mhz": 700})
    assert (hardware.get("array.rows"), hardware.get("array.cols"), hardware.get("clock_mhz")) == (64, 8, 700.0)
    assert hardware.get("cycle.compat") == "scalesim3"
    with pytest.raises(UsageError, match=r"none\.cfg"):
        load_hardware(tmp_path / "none.cfg")


def test_the_own_model_runs_on_the_same_machine(tmp_path: Path) -> None:
    file = tmp_path / "scale.cfg"
    file.write_text(VERSION_3, encoding="utf-8")
    text = "Layer, M, N, K,\nfc,64,64,64,\n"
    (own,) = compile_source(text, "csv", hardware=file, overrides={"cycle.compat": "none"}).ops
    assert own.schedule is not None
    assert own.seconds == own.cycles / 1e9 if own.cycles else False


LINES = st.sampled_from(
    [*VERSION_3.splitlines(), *VERSION_2.splitlines(), "[", "]", ":", "=", "x", "[]", "a:b", "\x1c"]
)


def entry(key: str, between: str, value: str) -> str:
    return key + between + value


ENTRIES = st.builds(
    entry,
    st.sampled_from([*KNOWN, *(f"[{s}]" for s in SECTIONS)]),
    st.sampled_from([":", "=", " : ", ""]),
    st.sampled_from(["1", "0", "true", "ws", "CALC", "USER", "9" * 30, "1,2", "", "\u0663", "-1", "1.5"]),
)


@settings(max_examples=400)
@given(text=st.text(max_size=60) | st.lists(LINES | ENTRIES, max_size=12).map("\n".join))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    error = None
    try:
        assert load_hardware(read_cfg(text, "t.cfg")).get("cycle.compat") == "scalesim3"
    except UsageError as e:
        error = e
    if error is not None:
        assert error.location is not None
        assert 1 <= error.location.line <= len(text.splitlines())
        assert error.render()
