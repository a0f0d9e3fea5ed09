"""Machines of units: what a file may say of them, what follows, and what is refused."""

import sys
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from npuc.compiler import compile_file
from npuc.compiler.core.errors import UsageError
from npuc.hardware import load_hardware
from npuc.hardware.as_toml import as_toml
from npuc.hardware.technology import sram_energy
from npuc.hardware.units import area_of_units, machine_of_units, refuse_without_units
from npuc.studies.aespa.study import homogeneous

UNIT: dict[str, Any] = {"name": "one", "kind": "dense", "pes": 4, "buffer_kib": 2}
KEYS = {"clock_mhz": 1000, "dram.gb_per_s": 10, "energy.dram_pj_per_byte": 5.0, "energy.mac_pj": 2.0}


def loaded(*units: dict[str, Any], **keys: Any) -> Any:
    return load_hardware({"units": list(units), **KEYS, **keys})


def test_a_machine_of_units() -> None:
    machine = machine_of_units(load_hardware("aespa"))
    assert [unit.kind for unit in machine.units] == ["dense", "dense-sparse", "inner", "outer", "row-wise"]
    assert sum(unit.pes for unit in machine.units) == 4096
    assert (machine.hertz, machine.bytes_per_second, machine.dram_pj_per_byte) == (1e9, 460.8e9, 44.0)
    assert {unit.mac_pj for unit in machine.units} == {load_hardware("aespa").known("energy.mac_pj", float)}


def test_the_machine_of_one_kind_has_the_same_elements() -> None:
    assert homogeneous(machine_of_units(load_hardware("aespa"))) == machine_of_units(load_hardware("eie-like"))


def test_what_a_unit_does_not_say_follows_from_the_machine() -> None:
    keys = {"energy.spm_pj_per_byte": 3.0}
    (unit,) = machine_of_units(loaded(UNIT, **keys)).units
    assert (unit.mac_pj, unit.buffer_pj_per_byte, unit.idle_w, unit.only) == (2.0, 3.0, 0.0, None)
    (unit,) = machine_of_units(loaded(UNIT, **{"technology.node_nm": 28.0})).units
    assert unit.buffer_pj_per_byte == pytest.approx(sram_energy(2, 28.0), rel=1e-3)
    own = {"mac_pj": 1.0, "buffer_pj_per_byte": 0.5, "idle_w": 0.25, "a_format": "dense", "b_format": "dense"}
    machine = machine_of_units(loaded(UNIT | own, **keys))
    (unit,) = machine.units
    assert (unit.mac_pj, unit.buffer_pj_per_byte, unit.only) == (1.0, 0.5, ("dense", "dense"))
    assert machine.idle_w == 0.25


def test_the_area_is_that_of_units_that_all_say_it() -> None:
    assert area_of_units(loaded(UNIT | {"area_mm2": 1.5}, UNIT | {"name": "two", "area_mm2": 2.0})) == 3.5
    assert area_of_units(loaded(UNIT | {"area_mm2": 1.5}, UNIT | {"name": "two"})) is None


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        ({"buffer_kib": 0}, "units: unit 1: buffer_kib: a unit without a buffer keeps no sum and no operand"),
        ({"kind": "systolic"}, "units: unit 1: kind: expected 'dense' or 'dense-sparse' or 'inner' or 'outer' or"),
        ({"pes": 0}, "units: unit 1: pes: expected an integer from 1"),
        ({"a_format": "csr"}, "units: unit 1: a_format: expected a_format and b_format, or neither"),
        (
            {"kind": "outer", "a_format": "csr", "b_format": "csr"},
            "units: unit 1: a_format: a unit of kind 'outer' takes csc x csr, got csr x csr",
        ),
        ({"lanes": 2}, "units: unit 1: unknown key 'lanes', expected name, kind, pes"),
    ],
)
def test_units_that_do_not_exist(unit: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        loaded(UNIT | unit)


def test_a_buffer_has_to_be_said() -> None:
    with pytest.raises(UsageError, match="a unit without a buffer"):
        loaded({key: value for key, value in UNIT.items() if key != "buffer_kib"})


def test_names_are_unique_and_there_is_one_unit_at_least() -> None:
    with pytest.raises(UsageError, match="units: unit 2: name: there is a unit 'one' before it"):
        loaded(UNIT, UNIT)
    with pytest.raises(UsageError, match="units: unit 1: expected at least one unit"):
        loaded()


def test_missing_keys_are_named_together() -> None:
    with pytest.raises(UsageError, match=r"no clock_mhz .*dram.gb_per_s .*nor energy.dram_pj_per_byte"):
        machine_of_units(load_hardware({"units": [UNIT]}))
    with pytest.raises(UsageError, match="hardware 'nvdla' has no units"):
        refuse_without_units(load_hardware("nvdla"))


def test_an_error_has_its_place_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('clock_mhz = 1\n\n[[units]]\nname = "a"\nkind = "dense"\npes = 4\nbuffer_kib = 0\n')
    with pytest.raises(UsageError) as error:
        load_hardware(str(file))
    assert error.value.location is not None
    assert (error.value.location.line, error.value.source_line) == (7, "buffer_kib = 0")


def test_a_written_machine_is_read_again(tmp_path: Path) -> None:
    machine, file = load_hardware("aespa"), tmp_path / "m.toml"
    file.write_text(as_toml(machine, "units"))
    assert load_hardware(str(file)).values == machine.values
    units = machine.as_dict()["units"]
    assert isinstance(units, list)
    assert [unit["name"] for unit in units] == ["tpu", "eie", "extensor", "outerspace", "matraptor"]


def test_hardware_with_units_imports_no_numpy() -> None:
    code = "import sys; import npuc.hardware.units as u; assert not {'numpy', 'xdsl'} & {*sys.modules}"
    assert run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("backend", "name"), [("cycle", "igo-large"), ("roofline", "rtx2080ti"), ("maestro", "nvdla")])
def test_backends_that_know_no_units_say_so(backend: str, name: str) -> None:
    report = compile_file("samples:mlp", backend=backend, hardware=name, overrides={"units": [UNIT]}, opt_level=0)
    assert [text for text in report.warnings if text.startswith("units has no effect")]
