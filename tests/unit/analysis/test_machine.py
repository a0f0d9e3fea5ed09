"""The facts of a machine, from flat keys and from the IR."""

from fractions import Fraction

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import TARGET, Fact, machine_of, target_attr
from npuc.compiler.analysis.machine.table import Energy, Machine, machine_from
from npuc.compiler.core.errors import Location, UsageError
from npuc.frontends.mlir import read_mlir

FACTS: dict[str, Fact] = {
    "name": "igo-large",
    "rows": 128,
    "cols": 64,
    "dataflow": "ws",
    "fill": "per-fold",
    "drain": "full",
    "spm_bytes": 4194304,
    "double_buffer": True,
    "clock_mhz": 1050.0,
    "gb_per_s": 150.0,
    "lanes": 128,
}


def test_bandwidth_is_exact() -> None:
    machine = machine_from(FACTS)
    assert machine.bytes_per_cycle == Fraction(1000, 7)
    assert (machine.transfer_cycles(1000), machine.transfer_cycles(1001)) == (7, 8)
    assert machine.seconds(1050) == 1e-6
    assert machine == Machine(Array(128, 64, "ws", "per-fold", "full"), 4194304, Fraction(1000, 7), 1050.0, 128)


def test_through_the_ir() -> None:
    module = ModuleOp([])
    assert machine_of(module) is None
    energies: dict[str, Fact] = {"mac_pj": 0.2, "spm_pj_per_byte": 1.0, "dram_pj_per_byte": 20.0, "element_bytes": 2}
    module.attributes[TARGET] = target_attr(FACTS | energies)
    found = machine_of(module)
    assert found == machine_from(FACTS | energies)
    assert found is not None
    assert found.energy == Energy(0.2, 1.0, 20.0)


def test_energy_needs_all_three() -> None:
    assert machine_from(FACTS | {"mac_pj": 0.2}).energy is None


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("cores", "2", "cores is '2', expected an integer from 1 on"),
        ("multicast", "yes", "multicast is 'yes', expected true or false"),
        ("multicast", 1, "multicast is 1, expected true or false"),
        ("double_buffer", 1, "double_buffer is 1, expected true or false"),
        ("rows", 0, "rows is 0, expected an integer from 1 on"),
        ("lanes", 2.5, "lanes is 2.5, expected an integer"),
        ("dataflow", "sr", "dataflow is 'sr', expected os, ws, is, in-place, rs"),
        ("transpose", "implicit", "transpose is 'implicit', expected none, explicit"),
        ("gb_per_s", 0.0, "gb_per_s is 0, expected a number above 0"),
        ("clock", 5, "unknown key 'clock'"),
    ],
)
def test_wrong_facts(key: str, value: Fact, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        machine_from(FACTS | {key: value})


def test_missing_fact() -> None:
    with pytest.raises(UsageError, match="has no lanes"):
        machine_from({key: value for key, value in FACTS.items() if key != "lanes"})


def test_target_of_a_wrong_kind() -> None:
    with pytest.raises(UsageError, match="expected a dictionary"):
        machine_of(ModuleOp([], {TARGET: StringAttr("igo-large")}))


def test_errors_are_at_the_place_of_the_module() -> None:
    text = "\n  builtin.module attributes {npu.target = {rows = 4 : i64, colz = 4 : i64}} {}\n"
    with pytest.raises(UsageError, match="unknown key 'colz'") as error:
        machine_of(read_mlir(text, "net.mlir"))
    assert (error.value.location, error.value.hint) == (Location("net.mlir", 2, 3), "did you mean 'cols'?")
