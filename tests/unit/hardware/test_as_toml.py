"""Machines as TOML files are read as the same machines."""

from pathlib import Path

import pytest

from npuc.hardware import load_hardware, preset_names
from npuc.hardware.as_toml import as_toml


@pytest.mark.parametrize("name", preset_names())
def test_each_preset_is_read_again(name: str, tmp_path: Path) -> None:
    machine = load_hardware(name)
    path = tmp_path / "a.toml"
    path.write_text(as_toml(machine, "two\nlines"), encoding="utf-8")
    assert load_hardware(path).values == machine.values
    assert path.read_text(encoding="utf-8").startswith("# two\n# lines\n")


def test_names_and_remarks_of_any_characters(tmp_path: Path) -> None:
    name = 'a "b" \\ c\' # \u00e9'
    path = tmp_path / "a.toml"
    path.write_text(as_toml(load_hardware({"name": name}), "a \x00 b\x7f\nc = 1"), encoding="utf-8")
    assert load_hardware(path).name == name
    assert path.read_text(encoding="utf-8").startswith("# a   b \n# c = 1\n")
