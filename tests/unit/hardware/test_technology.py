"""Energies and areas by node and size, and kinds of memory: published points, and what machines make of them."""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest

from npuc.compiler import compile_file, compile_source
from npuc.compiler.analysis.machine.facts import machine_from
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report import report_from_json
from npuc.hardware import load_hardware, machine_target, preset_names
from npuc.hardware.memories import MEMORIES
from npuc.hardware.technology import (
    energy_at,
    mac_area,
    mac_energy,
    sram_area,
    sram_energy,
    vector_energy,
    wire_energy,
)

NODES = (130, 90, 65, 45, 40, 32, 28, 22, 20, 16, 14, 12, 10, 7, 5, 4, 3)
ARRAY = {"clock_mhz": 1000, "array.rows": 16, "array.cols": 64, "vector.lanes": 32, "memory.spm_kib": 1024}
GEMM = "layer,M,N,K\nfc,64,64,64\n"


def test_published_points_are_met() -> None:
    """Jouppi et al., ISCA 2021, table 2, and Horowitz, ISSCC 2014."""
    assert [mac_energy("int8", node) for node in (45, 7)] == pytest.approx([0.2 + 0.1, 0.07 + 0.03])
    assert [mac_energy("f16", node) for node in (45, 7)] == pytest.approx([1.1 + 0.9, 0.34 + 0.38])
    assert [mac_energy("f32", node) for node in (45, 7)] == pytest.approx([3.7 + 0.9, 1.31 + 0.38])
    assert mac_energy("bf16", 7) == pytest.approx(0.21 + 0.38)
    assert [8 * sram_energy(kib, 45) for kib in (8, 1024)] == pytest.approx([10, 100])
    assert [8 * sram_energy(kib, 7) for kib in (8, 1024)] == pytest.approx([7.5, 14])
    assert 8 * sram_energy(32, 45) == pytest.approx(20, rel=0.07)
    assert 8 * sram_energy(32, 7) == pytest.approx(8.5, rel=0.05)
    assert 256 * 10 * wire_energy(1, 40) / 8 == pytest.approx(310)
    assert mac_area("int8", 45) * 1e6 == pytest.approx(282 + 137)
    assert mac_area("f32", 45) * 1e6 == pytest.approx(7700 + 4184)
    assert sram_area(1024, 7) == pytest.approx(2**23 * 0.027e-6 / 0.5)
    assert vector_energy(45) == pytest.approx((3.7 + 0.9) / 2)


def test_gates_fall_as_their_fit_says() -> None:
    """Stillmaker and Baas: 0.8612 at 45 nm and 1.0 V, 0.0478 at 7 nm and 0.7 V; 16 nm by the logarithms."""
    at_16 = 0.2958 * 0.85**2 - 0.1241 * 0.85 + 0.03024
    part = math.log(at_16 / 0.8612) / math.log(0.047815 / 0.8612)
    assert energy_at(3.7, 1.31, 16) == pytest.approx(3.7 ** (1 - part) * 1.31**part, rel=1e-3)


@pytest.mark.parametrize(
    "of",
    [
        partial(mac_energy, "int8"),
        partial(mac_energy, "bf16"),
        partial(sram_energy, 64),
        partial(sram_energy, 8192),
        partial(wire_energy, 1),
        vector_energy,
        partial(mac_area, "f32"),
        partial(sram_area, 1),
    ],
)
def test_everything_shrinks_with_the_node(of: Callable[[float], float]) -> None:
    values = [of(node) for node in NODES]
    assert all(before >= after > 0 for before, after in pairwise(values))


def test_larger_memories_and_wider_numbers_cost_more() -> None:
    for node in NODES:
        sizes = [sram_energy(2.0**power, node) for power in range(-1, 19)]
        assert sizes == sorted(sizes)
        assert mac_energy("int8", node) < mac_energy("bf16", node) <= mac_energy("f16", node) < mac_energy("f32", node)


def test_a_node_and_a_kind_price_a_machine() -> None:
    machine = load_hardware(ARRAY | {"precision": "bf16", "technology.node_nm": 7, "dram.kind": "HBM2e"})
    facts = machine_target(machine)
    assert (facts["mac_pj"], facts["dram_pj_per_byte"]) == (0.59, 44.0)
    length = math.sqrt(16 * 64 * mac_area("bf16", 7)) / 2
    assert machine.known("energy.edge_pj_per_byte") == pytest.approx(wire_energy(length, 7), rel=1e-3)
    priced = machine_from(facts).energy
    assert priced is not None
    assert priced.spm_pj_per_byte == pytest.approx(14 / 8 + wire_energy(length, 7), rel=1e-3)
    assert machine.known("dram.gb_per_s") == 460.8


@pytest.mark.parametrize(
    ("given", "pj"),
    [
        ({"memory.element_bytes": 1}, 0.1),
        ({"array.mantissa_bits": 8}, 0.1),
        ({"array.mantissa_bits": 2, "precision": "mixed"}, 0.07 / 16 + 0.03),
        ({"memory.element_bytes": 2}, 0.72),
        ({"precision": "mixed"}, 0.59),
        ({"precision": "f16"}, 0.72),
        ({}, 1.69),
    ],
)
def test_the_type_prices_a_mac(given: dict[str, object], pj: float) -> None:
    assert load_hardware(ARRAY | given | {"technology.node_nm": 7}).known("energy.mac_pj") == pytest.approx(
        pj, rel=1e-3
    )


def test_what_a_machine_writes_wins_and_what_is_given_later_takes_its_place() -> None:
    written = load_hardware(
        ARRAY | {"technology.node_nm": 7, "energy.mac_pj": 5.0, "dram.kind": "DDR4", "dram.gb_per_s": 1}
    )
    assert (written.known("energy.mac_pj"), written.known("dram.gb_per_s")) == (5.0, 1.0)
    later = load_hardware(written.values, {"dram.kind": "GDDR6", "technology.node_nm": 45})
    assert (later.known("energy.mac_pj"), later.known("dram.gb_per_s")) == (pytest.approx(4.6), 64.0)
    both = load_hardware(written.values, {"dram.kind": "GDDR6", "dram.gb_per_s": 3})
    assert both.known("dram.gb_per_s") == 3.0


def test_channels_are_those_of_the_chip() -> None:
    machine = load_hardware(ARRAY | {"array.cores": 4, "dram.kind": "DDR4", "dram.channels": 2})
    assert machine.known("dram.gb_per_s") == 2 * 25.6 / 4


@pytest.mark.parametrize("kind", MEMORIES)
def test_a_kind_can_be_set_and_costs(kind: str) -> None:
    report = compile_source(GEMM, "csv", hardware="igo-large", overrides={"dram.kind": kind}, opt_level=0)
    assert report.hardware["dram"] == {"kind": kind, "gb_per_s": MEMORIES[kind].gb_per_s}
    assert report.totals.energy_j
    assert MEMORIES[kind].source


def test_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="expected 'DDR4' or 'LPDDR5' or"):
        load_hardware(ARRAY | {"dram.kind": "ddr4"})
    with pytest.raises(UsageError, match="expected a number from 3 to 130, got 2"):
        load_hardware(ARRAY | {"technology.node_nm": 2})


@pytest.mark.parametrize("name", preset_names())
def test_a_machine_that_says_nothing_of_a_node_has_no_more_energies_than_it_writes(name: str) -> None:
    machine = load_hardware(name)
    if machine.get("technology.node_nm") is not None:
        return
    keys = ("energy.mac_pj", "energy.spm_pj_per_byte", "energy.edge_pj_per_byte", "energy.vector_pj", "area.array_mm2")
    assert [machine.known(key) for key in keys] == [machine.get(key) for key in keys]


def test_one_of_both_alone_is_no_energy() -> None:
    bare = {key: value for key, value in load_hardware("igo-large").values.items() if not key.startswith("energy.")}
    report = compile_source(GEMM, "csv", hardware=bare, overrides={"technology.node_nm": 7}, opt_level=0)
    assert report.totals.energy_j is None
    with pytest.raises(UsageError, match=r"energy\.dram_pj_per_byte"):
        compile_source(GEMM, "csv", hardware=bare, overrides={"technology.node_nm": 7}, objective="energy")


@pytest.mark.parametrize("network", ["samples:mlp", "samples:lenet"])
def test_components_add_up(network: str) -> None:
    keys = {"technology.node_nm": 7, "dram.kind": "HBM2e", "dram.capacity_mib": 1024}
    report = compile_file(network, hardware="igo-small", overrides=keys, defines={"batch": 2}, opt_level=0)
    energy, totals = report.energy, report.totals
    assert energy is not None
    assert totals.seconds
    dynamic, static = ([v for v in part.values() if v is not None] for part in (energy.dynamic_j, energy.static_j))
    assert math.fsum(dynamic) == pytest.approx(totals.energy_j)
    assert energy.total_j == pytest.approx(math.fsum([*dynamic, *static]))
    assert energy.watts == pytest.approx(energy.total_j / totals.seconds)
    machine = load_hardware("igo-small", keys)
    prices = {
        name: machine.known(f"energy.{name}", float) or 0.0 for name in ("mac_pj", "vector_pj", "dram_pj_per_byte")
    }
    moved = (totals.dram_read_bytes or 0) + (totals.dram_write_bytes or 0)
    assert energy.dynamic_j["array"] == pytest.approx(1e-12 * prices["mac_pj"] * (totals.macs or 0))
    assert energy.dynamic_j["vector"] == pytest.approx(1e-12 * prices["vector_pj"] * (totals.vector_ops or 0))
    assert energy.dynamic_j["dram"] == pytest.approx(1e-12 * prices["dram_pj_per_byte"] * moved)
    edge, spm = energy.dynamic_j["edge"], energy.dynamic_j["spm"]
    assert edge
    assert spm
    wires, access = (machine.known(f"energy.{name}_pj_per_byte", float) or 0.0 for name in ("edge", "spm"))
    assert edge / spm == pytest.approx(wires / access)
    area = energy.area_mm2["chip"]
    assert area == pytest.approx(math.fsum(energy.area_mm2[name] or 0.0 for name in ("array", "vector", "spm", "dram")))
    operations = 2e-12 * (totals.macs or 0)
    assert energy.tops_per_w == totals.tops_per_w == pytest.approx(operations / energy.total_j)
    assert energy.tops_per_mm2 == totals.tops_per_mm2 == pytest.approx(operations / totals.seconds / (area or 1.0))
    assert energy.memory_usd == MEMORIES["HBM2e"].usd_per_gib
    assert totals.energy == {**energy.dynamic_j, "static": pytest.approx(math.fsum(static))}
    assert report_from_json(report.to_json()).energy == energy
    for op in report.ops:
        assert op.energy, op
        own = [joules for name, joules in op.energy.items() if name != "static" and joules is not None]
        assert math.fsum(own) == pytest.approx(op.energy_j)
    for name, joules in totals.energy.items():
        rows = [op.repeat * part for op in report.ops if op.energy and (part := op.energy[name]) is not None]
        assert (math.fsum(rows) if rows else None) == pytest.approx(joules), name
    lines = report.to_csv().splitlines()
    names, cells = lines[0].split(","), lines[1].split(",")
    assert float(cells[names.index("energy.dram")]) == (report.ops[0].energy or {})["dram"]


def test_a_machine_that_writes_energies_alone_keeps_them() -> None:
    """The energy of igo-large is that of MACs, SPM and DRAM, as written; its components say which is which."""
    report = compile_file("samples:mlp", opt_level=0)
    energy = report.energy
    assert energy is not None
    assert {name for name, joules in energy.dynamic_j.items() if joules is not None} == {"array", "spm", "dram"}
    assert set(energy.static_j.values()) == set(energy.area_mm2.values()) == {None}
    assert energy.total_j == pytest.approx(report.totals.energy_j)
    assert report.derived == {}


def test_a_model_without_traffic_has_macs_and_buffers() -> None:
    report = compile_source(GEMM, "csv", backend="maestro", hardware="nvdla", overrides={"technology.node_nm": 28})
    energy = report.energy
    assert energy is not None
    assert {name for name, joules in energy.dynamic_j.items() if joules is not None} == {"array", "spm"}
    assert compile_source(GEMM, "csv", backend="roofline", hardware="nvdla").energy is None


def test_a_schedule_for_less_energy_counts_the_wires() -> None:
    """What schedules minimise is what the report says but for the vector unit, which no schedule changes."""
    keys = {"technology.node_nm": 45, "dram.kind": "LPDDR5"}
    fast, frugal = (
        compile_source(GEMM, "csv", hardware="igo-small", overrides=keys, objective=objective)
        for objective in ("time", "energy")
    )
    assert (frugal.totals.energy_j or 0.0) <= (fast.totals.energy_j or 0.0)
