"""MAESTRO's hardware files: both spellings of their keys, missing ones, and every way in which one is malformed."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.core.errors import UsageError
from npuc.hardware import load_hardware
from npuc.hardware.readers.maestro import SPELLINGS, UNLIMITED, read_maestro_file

DEFAULTS = {
    "name": "pod",
    "maestro.num_pes": 1,
    "maestro.noc_bw": UNLIMITED,
    "maestro.noc_hop_latency": 1,
    "maestro.offchip_bw": UNLIMITED,
    "maestro.num_simd_lanes": 1,
}


def test_all_keys() -> None:
    text = "num_pes: 256\nnoc_bw_cstr: 64\nNoC_NumHops: 2\noffchip_bw_cstr: 50\nl1_size_cstr: 512\nl2_size_cstr: 4096\n"
    assert read_maestro_file(text, "some/pod.m") == DEFAULTS | {
        "maestro.num_pes": 256,
        "maestro.noc_bw": 64,
        "maestro.noc_hop_latency": 2,
        "maestro.offchip_bw": 50,
        "maestro.l1_size": 512,
        "maestro.l2_size": 4096,
    }


def test_older_files() -> None:
    found = read_maestro_file("NumPEs: 256\nL1Size: 256\nL2Size: 4096\nNoC_BW: 64\nNoC_NumHops: 1\n", "pod.m")
    sizes = {"maestro.num_pes": 256, "maestro.l1_size": 256, "maestro.l2_size": 4096, "maestro.noc_bw": 64}
    assert found == DEFAULTS | sizes


@pytest.mark.parametrize("text", ["", "// nothing\n", "\r\n\t;\n"])
def test_without_keys_it_is_as_maestro_begins(text: str) -> None:
    assert read_maestro_file(text, "pod.m") == DEFAULTS


@pytest.mark.parametrize(
    "text",
    [
        "num_pes 8 noc_bw_cstr 4",
        "\ufeffnum_pes: 8; // sixteen: 16\r\nnoc_bw_cstr -> 4\r\n",
        "num_pes\n(8)\nnoc_bw_cstr\t4,",
        "noc_bw_cstr-4;num_pes-8",
    ],
)
def test_what_separates(text: str) -> None:
    assert read_maestro_file(text, "pod.m") == DEFAULTS | {"maestro.num_pes": 8, "maestro.noc_bw": 4}


def test_it_is_loaded_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "pod.M"
    path.write_bytes(b"\xef\xbb\xbfnum_pes: 16\r\nNoC_NumHops: 0\r\n")
    machine = load_hardware(str(path), {"maestro.num_simd_lanes": 4, "maestro.noc_bw": 2})
    keys = ("num_pes", "noc_bw", "noc_hop_latency", "num_simd_lanes", "mode")
    assert [machine.get(f"maestro.{key}") for key in keys] == [16, 2, 0, 4, None]
    assert machine.name == "pod"


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("num_pe: 4", "1:1", "unknown key 'num_pe'", "did you mean 'num_pes'?"),
        ("num_pes: 4\n  # two: 2", "2:3", "unknown key '#'", "known: "),
        ("noc_mc_support: 1", "1:1", "unknown key 'noc_mc_support'", ""),
        ("\nNetwork net {", "2:1", "unknown key 'Network'", "that is a mapping file"),
        ("num_pes: 4\nNumPEs: 4", "2:1", "NumPEs is there twice, first in line 1", ""),
        ("num_pes:", "1:1", "num_pes: found the end of the file, expected an integer", ""),
        ("num_pes: // 4", "1:1", "num_pes: found the end of the file, expected an integer", ""),
        ("num_pes: 0", "1:10", "num_pes: expected an integer from 1 to 1,048,576, got 0", "processing elements"),
        ("num_pes: -4", "1:10", "num_pes: expected an integer from 1 to 1,048,576, got -4", ""),
        ("num_pes: 4k", "1:10", "num_pes: expected an integer from 1 to 1,048,576, got the string '4k'", ""),
        ("num_pes: \u0664", "1:10", "num_pes: expected an integer from 1", ""),
        ("noc_bw_cstr: 2147483648", "1:14", "noc_bw_cstr: expected an integer from 1 to 2,147,483,647", "network"),
        (f"noc_bw_cstr: {'9' * 5000}", "1:14", "noc_bw_cstr: expected an integer from 1 to 2,147,483,647", ""),
        ("NoC_NumHops: 1.5", "1:14", "NoC_NumHops: expected an integer from 0 to 1,048,576", "latency"),
        ("l1_size_cstr 0", "1:14", "l1_size_cstr: expected an integer from 1 to 2,147,483,647, got 0", ""),
    ],
)
def test_errors(text: str, place: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_maestro_file(text, "pod.m")
    shown = caught.value.render()
    assert shown.startswith(f"pod.m:{place}: error: {message}")
    assert hint in (caught.value.hint or "")
    assert len(shown) < 600


WORDS = st.sampled_from(
    [*SPELLINGS, "Network", "-1", "0", "7", "2147483648", "x", ":", ";", "-", "//", "\n", "\r\n", "\x0b"]
)


@settings(max_examples=200)
@given(st.lists(WORDS | st.text(max_size=4), max_size=12).map(" ".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    error: UsageError | None = None
    try:
        found = read_maestro_file(text, "pod.m")
        assert set(DEFAULTS) <= set(found)
        assert load_hardware(dict(found)).name == "pod"
    except UsageError as e:
        error = e
    place = None if error is None else error.location
    if error is not None:
        assert place is not None
        assert 1 <= place.col <= len(text.removeprefix("\ufeff").split("\n")[place.line - 1])
