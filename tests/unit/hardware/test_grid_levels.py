"""Levels of several dimensions in descriptions: `sizes` of a torus and mesh, what is wrong with them, where they go."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.analysis.interconnect.described import network_facts
from npuc.compiler.core.errors import UsageError
from npuc.hardware import load_hardware
from npuc.hardware.as_toml import as_toml
from npuc.hardware.network import network_of, stamp_network

TORUS: dict[str, object] = {"kind": "torus", "sizes": [4, 4, 8], "gb_per_s": 300.0}


def levels(*rows: dict[str, Any]) -> dict[str, object]:
    return {"network.levels": list(rows)}


def test_sizes_are_in_place_of_a_size() -> None:
    machine = load_hardware(levels({"kind": "mesh", "sizes": (2, 3), "gb_per_s": 1}, TORUS))
    mesh, torus = network_of(machine, backend="t").levels
    assert (torus.size, torus.sizes, torus.bytes_per_s) == (128, (4, 4, 8), Fraction(300 * 10**9))
    assert (mesh.kind, mesh.size, mesh.shape) == ("mesh", 6, "2 x 3")
    assert machine.as_dict()["network"] == {
        "levels": [
            {"kind": "mesh", "sizes": [2, 3], "gb_per_s": 1.0, "latency_ns": 0.0},
            {"kind": "torus", "sizes": [4, 4, 8], "gb_per_s": 300.0, "latency_ns": 0.0},
        ],
        "latency": "serial",
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"kind": "torus", "size": 64}, "entry 1: size: a torus has sizes in its place, for example sizes = [4, 4, 4]"),
        ({"kind": "mesh"}, "entry 1: missing key 'sizes', which a mesh has"),
        ({"kind": "ring", "sizes": [4, 4]}, "entry 1: sizes: a ring has size in its place, for example size = 64"),
        ({"kind": "switch"}, "entry 1: missing key 'size', which a switch has"),
        ({"kind": "torus", "sizes": [4, 1]}, "sizes: expected a list of 1 to 6 integers from 2 to 1,048,576, got 1 in"),
        ({"kind": "torus", "sizes": []}, "sizes: expected a list of 1 to 6 integers from 2 to 1,048,576, got 0"),
        ({"kind": "torus", "sizes": [2] * 7}, "1 to 6 integers from 2 to 1,048,576, got 7"),
        ({"kind": "torus", "sizes": [4, 2.5]}, "got 2.5 in it"),
        ({"kind": "torus", "sizes": [True, 4]}, "got true in it"),
        ({"kind": "torus", "sizes": "4x4"}, "got the string '4x4'"),
        ({"kind": "torus", "sizes": [2048, 2048]}, "from 2 to 1,048,576 in all, got 4,194,304"),
        ({"kind": "torus", "sizes": [4, 4], "algorithm": "ring"}, "algorithm 'ring' is for levels of kind 'ring'"),
        ({"kind": "torus", "sizes": [4, 4], "switch_usd_per_gb_per_s": 1}, "expected of kind 'switch' alone"),
    ],
)
def test_what_is_wrong_is_said(row: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as e:
        load_hardware(levels({**row, "gb_per_s": 1.0}))
    assert message in e.value.message


def test_the_place_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text('[[network.levels]]\nkind = "torus"\ngb_per_s = 1\nsizes = [4, 1]\n')
    with pytest.raises(UsageError) as e:
        load_hardware("m.toml")
    assert e.value.location is not None
    assert (e.value.location.line, e.value.location.col) == (4, 1)


def test_a_description_is_written_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    machine = load_hardware(levels(TORUS))
    Path("again.toml").write_text(as_toml(machine, "a torus"))
    assert load_hardware("again.toml").values == machine.values
    module = ModuleOp([])
    stamp_network(module, machine)
    facts = network_facts(module)
    assert facts is not None
    assert facts.network == network_of(machine, backend="t")
