"""Memories by level: one truth with the keys that say the same, what accesses to them cost, and what chips take."""

from pathlib import Path

import pytest

from npuc.backends.maestro.machine import array_of, mapped_machine
from npuc.compiler import compile_source
from npuc.compiler.analysis.machine.published_area import AREA_MODELS, Sizes
from npuc.compiler.analysis.mapping.parity import MAESTRO_COSTS
from npuc.compiler.core.errors import UsageError
from npuc.hardware import Hardware, load_hardware, preset_names
from npuc.hardware.area import chip_area
from npuc.hardware.level_keys import LEVELS, SAME, parts_of, rows_of
from npuc.hardware.levels import levels_of
from npuc.hardware.technology import mac_energy, sram_area, sram_energy

L1 = {"name": "L1", "kib": 0.5, "shared": False}
L2 = {"name": "L2", "kib": 64, "gb_per_s": 32.0}
DRAM = {"name": "DRAM", "gb_per_s": 8.0, "pj_per_byte": 30}
MACHINE: dict[str, object] = {
    "clock_mhz": 500,
    "array": {"rows": 8, "cols": 4},
    "memory": {"element_bytes": 2, "levels": [L1, L2, DRAM]},
    "vector.lanes": 4,
}
GEMM = "layer,M,N,K\nfc,64,64,64\n"


def agrees(machine: Hardware) -> bool:
    """Whether levels and the keys that say the same do."""
    rows = rows_of(machine.values)
    return all(
        rows[number][same.field] == same.scale * (machine.get(same.key, float) or 0.0)
        for same in SAME
        if (number := parts_of(rows).get(same.part)) is not None and same.field in rows[number]
    )


def test_levels_speak_for_other_keys() -> None:
    machine = load_hardware(MACHINE)
    said = {same.key: machine.get(same.key) for same in SAME}
    assert said == {
        "memory.spm_kib": 64.0,
        "energy.spm_pj_per_byte": None,
        "dram.capacity_mib": None,
        "dram.gb_per_s": 8.0,
        "energy.dram_pj_per_byte": 30.0,
    }
    assert agrees(machine)
    flat = {k: v for k, v in machine.values.items() if k != LEVELS}
    reports = [compile_source(GEMM, "csv", backend="cycle", hardware=one) for one in (flat, MACHINE)]
    assert reports[0].totals == reports[1].totals


@pytest.mark.parametrize("name", preset_names())
def test_presets_agree_with_themselves(name: str) -> None:
    machine = load_hardware(name)
    assert agrees(machine)
    assert (LEVELS in machine.values) == (machine.get("memory.spm_kib") is not None and name != "scalesim")
    assert load_hardware(machine.values) == machine


@pytest.mark.parametrize(
    ("overrides", "kib", "rate"),
    [
        ({"memory.spm_kib": 16}, 16.0, 8.0),
        ({"dram.gb_per_s": 2}, 64.0, 2.0),
        ({LEVELS: [{"name": "L2", "kib": 4}]}, 4.0, 8.0),
        ({LEVELS: [{"name": "L2", "kib": 4}, {"name": "DRAM", "gb_per_s": 1}]}, 4.0, 1.0),
        ({"dram.kind": "LPDDR5"}, 64.0, 25.6),
    ],
)
def test_what_is_given_later_wins_and_both_say_it(overrides: dict[str, object], kib: float, rate: float) -> None:
    machine = load_hardware(MACHINE, overrides)
    assert agrees(machine)
    assert (machine.known("memory.spm_kib"), machine.known("dram.gb_per_s")) == (kib, rate)
    found = {level.part: level for level in levels_of(machine)}
    assert found["scratchpad"].kib == kib
    assert "dram" not in found or found["dram"].gb_per_s == rate
    assert load_hardware(machine.values) == machine


def test_a_key_in_elements_that_is_given_later_resizes_its_level() -> None:
    levels = {level.name: level for level in levels_of(load_hardware(MACHINE, {"maestro.l1_size": 1024}))}
    assert levels["L1"].kib == 2.0
    wider = load_hardware(MACHINE, {"maestro.noc_bw": 64})
    assert levels_of(wider)[1].gb_per_s == 64.0
    assert levels_of(load_hardware(MACHINE, {"technology.node_nm": 7}))[2].pj_per_byte == 30.0


HEAD = "clock_mhz = 500\narray = { rows = 8, cols = 4 }\nmaestro = { num_pes = 32, l1_size = 300 }\n\n"
ROWS = '[memory]\nelement_bytes = 2\nspm_kib = 32\n\n[[memory.levels]]\nname = "L1"\nkib = 0.5\nshared = false\n\n'
WRONG = {
    "both": ('[[memory.levels]]\nname = "L2"\nkib = 64\n', "7:1", "memory.spm_kib = 32.0 contradicts", "(line 16)"),
    "elements": ('[[memory.levels]]\nname = "L2"\n', "3:27", "maestro.l1_size = 300 contradicts", "(line 11)"),
    "twice": ('[[memory.levels]]\nname = "L1"\n', "15:1", "entry 2: name: there is a level 'L1'", ""),
    "private": ('[[memory.levels]]\n[[memory.levels]]\nname = "L3"\n', "14:1", "entry 2: missing key 'name'", ""),
    "key": ('[[memory.levels]]\nname = "L2"\nkb = 64\n', "16:1", "entry 2: unknown key 'kb'", ""),
    "value": ('[[memory.levels]]\nname = "L2"\nkib = 0\n', "16:1", "entry 2: kib: expected a number above 0", ""),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_contradicts_is_an_error_with_both_places(case: str, tmp_path: Path) -> None:
    rest, place, message, other = WRONG[case]
    file = tmp_path / "wrong.toml"
    file.write_text(HEAD + ROWS + rest)
    with pytest.raises(UsageError) as found:
        load_hardware(str(file))
    where = found.value.location
    assert where is not None
    assert (f"{where.line}:{where.col}", message in found.value.message) == (place, True), found.value.message
    assert other in found.value.message
    assert found.value.exit_code == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([L2, L1], "entry 2: shared: levels of single elements come first"),
        ([DRAM, L2], "entry 2: name: DRAM is the last level"),
        ([{"name": "DRAM", "shared": False}], "entry 1: shared"),
    ],
)
def test_levels_in_a_wrong_order(rows: list[dict[str, object]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_hardware({LEVELS: rows})


def test_overrides_that_contradict_each_other() -> None:
    with pytest.raises(UsageError, match=r"memory\.spm_kib = 8.0 contradicts"):
        load_hardware("nvdla", {LEVELS: [L1, L2], "memory.spm_kib": 8})


def test_the_backend_maestro_reads_them() -> None:
    machine = mapped_machine(load_hardware(MACHINE))
    # 512 bytes, 64 KiB, 32 GB/s and 8 GB/s at 500 MHz in elements of two bytes
    assert (machine.l1_size, machine.l2_size, machine.array.noc_bw) == (256, 32768, 32)
    assert (machine.array.offchip_bw, machine.array.offchip_cycles) == (8, 1)
    assert machine.array.costs == MAESTRO_COSTS
    text = """func.func @f(%x: tensor<8x8xbf16>, %w: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
      %y = npu.contract (m = 8, n = 8, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
        {mapping = #mapping.clusters<1 [m : 8, n : 8, k : 8]>}
        : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
      func.return %y : tensor<8x8xbf16>
    }"""
    # two tiles of 64 elements of each operand, and of 64 sums of 32 bits, that is two elements each
    report = compile_source(text, "mlir", backend="maestro", hardware=MACHINE)
    (warning,) = [one for one in report.warnings if "needs more than" in one]
    assert (
        warning.endswith(
            "needs 512 elements of 256: its mapping needs more than memory.levels, which a search "
            "(npuc map) never takes"
        )
        or "512 elements of 256" in warning
    )


def test_an_access_costs_by_the_size_of_its_buffer() -> None:
    machine = load_hardware(MACHINE, {"technology.node_nm": 45})
    local, shared, memory = levels_of(machine)
    assert local.pj_per_byte == pytest.approx(sram_energy(0.5, 45), rel=1e-3)
    assert shared.pj_per_byte == pytest.approx(sram_energy(64, 45), rel=1e-3)
    assert (local.count, shared.count, memory.count) == (32, 1, 1)
    costs, mac = array_of(machine).costs, mac_energy("f16", 45)
    assert costs.l1 == pytest.approx(2 * sram_energy(0.5, 45) / mac, rel=2e-3)
    assert costs.l2 == pytest.approx(2 * sram_energy(64, 45) / mac, rel=2e-3)
    assert costs.offchip == pytest.approx(2 * 30 / mac, rel=2e-3)
    assert (
        array_of(load_hardware(MACHINE, {"technology.node_nm": 45, "technology.model": "maestro"})).costs
        == MAESTRO_COSTS
    )
    report = compile_source(GEMM, "csv", backend="maestro", hardware=machine.values)
    energy = report.energy
    assert energy is not None
    (row,) = report.ops
    assert energy.dynamic_j["dram"] == pytest.approx(
        30e-12 * ((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0))
    )
    assert (row.dram_read_bytes or 0) >= 2 * 2 * 64 * 64
    assert (row.dram_write_bytes or 0) >= 2 * 64 * 64
    assert sum(value or 0.0 for value in energy.dynamic_j.values()) == pytest.approx(report.totals.energy_j or 0.0)
    assert (energy.dynamic_j["edge"], energy.dynamic_j["vector"]) == (None, None)


def test_areas_by_name() -> None:
    """GAMMA's edge machine, and MAESTRO's formula as its table has it."""
    edge = Sizes(168, 512, 108_000, noc_bw=1)
    assert AREA_MODELS["gamma"](edge).total == pytest.approx(168 * 4470 + 4 * 4161.536 + 168 * 8 * 4505.1889)
    assert AREA_MODELS["gamma-int8"](edge).total == pytest.approx(168 * 282 + 0.688 * (168 * 512 + 108_000))
    pes, lanes = 168, 2
    assert AREA_MODELS["maestro"](Sizes(pes, 512, 108_000, 14, lanes)).total == pytest.approx(
        pes * (283 * lanes + 0.104 * 512)
        + 0.104 * 108_000
        + 101.7938 * (14.662 * pes + 28.895) * 14
        + 395.473 * (1.2886 * pes**2 + 5.5814 * pes - 23.711)
    )
    own = chip_area(load_hardware(MACHINE, {"technology.node_nm": 16}))
    assert own.parts["levels"] == pytest.approx(sram_area(32 * 0.5, 16), rel=1e-3)
    assert own.chip == pytest.approx(sum(size or 0.0 for size in own.parts.values()))
    gamma = chip_area(load_hardware(MACHINE, {"technology.model": "gamma"}))
    assert gamma.chip == pytest.approx((32 * 4470 + 4161.536 + 32 * 4 * 4505.1889) / 1e6)
    assert chip_area(load_hardware("igo-large", {"technology.model": "gamma"})).chip is None


def test_levels_without_effect_are_warned_of() -> None:
    more = {LEVELS: [L1, L2, {"name": "L3", "kib": 512, "managed": False}, DRAM]}
    for backend, unread in (("cycle", ["L1", "L3"]), ("maestro", ["L3"])):
        report = compile_source(GEMM, "csv", backend=backend, hardware=MACHINE, overrides=more)
        told = [text.partition(" ")[0] for text in report.warnings if f"of {LEVELS} has no effect" in text]
        assert told == unread


def test_a_chip_of_which_nothing_is_known_has_no_area() -> None:
    """HBM takes nothing of the chip, which is not its area."""
    unknown = chip_area(load_hardware("trainium2"))
    assert (unknown.parts["dram"], unknown.chip) == (0.0, None)
