"""Every hardware key changes what a backend says on some machine, or is warned of: none is taken and ignored."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from npuc.compiler import compile_source
from npuc.compiler.core.errors import NpucError
from npuc.hardware import load_hardware
from npuc.hardware.schema import KEYS

NETWORK = """\
network conv(batch=2) {
  input  x: f32[batch, 2, 6, 6]
  labels y: i32[batch]
  h = relu(conv2d(x, 4, 3))
  loss cross_entropy(linear(flatten(h), 4), y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""
BRANCHES = """\
network branches(batch=2) {
  input  x: f32[batch, 8]
  input  y: f32[batch, 8]
  a = linear(x, 8)
  b = linear(x, 8)
  c = linear(a, 8)
  d = linear(b, 8)
  loss mse(c + d, y)
  optimizer sgd(lr=0.1)
}
"""
SPARSE = """\
func.func @step(%x: tensor<16x24xf32>, %w: tensor<24x8x!npu.sparse<f32, 1/4, bitmap>>) -> tensor<16x8xf32> {
  %y = npu.contract (m = 16, n = 8, k = 24) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    : (tensor<16x24xf32>, tensor<24x8x!npu.sparse<f32, 1/4, bitmap>>) -> tensor<16x8xf32>
  func.return %y : tensor<16x8xf32>
}
"""
COLUMNS = {"array.skips": "column-balance", "array.cols": 16}
IN_IR = {"format": "mlir"}
LARGE = NETWORK.replace("2, 6, 6", "2, 24, 24")
UNITS = [
    {"name": "a", "kind": "dense", "pes": 4, "buffer_kib": 8},
    {"name": "b", "kind": "dense-sparse", "pes": 4, "buffer_kib": 8},
]
PAIR = {
    "name": "pair",
    "precision": "bf16",
    "clock_mhz": 1000,
    "dram.gb_per_s": 10,
    "energy.mac_pj": 1.0,
    "energy.spm_pj_per_byte": 2.0,
    "energy.dram_pj_per_byte": 40.0,
    "units": UNITS,
}
MACHINES: Mapping[str, Any] = {"cycle": "igo-large", "roofline": "rtx2080ti", "maestro": "nvdla", "hetero": PAIR}
Overrides = Mapping[str, Any]
NOTHING: Overrides = MappingProxyType({})


class Case(NamedTuple):
    """A value of a key, and the keys and options beside which it shows."""

    value: Any
    beside: Overrides = NOTHING
    options: Overrides = NOTHING
    network: str = NETWORK


WS = {"array.dataflow": "ws"}
RS = {
    "array.dataflow": "rs",
    "array.ifmap_words": 12,
    "array.filter_words": 224,
    "array.psum_words": 24,
    "array.ifmap_port": 1,
    "array.filter_port": 4,
    "array.psum_port": 4,
}
SCALESIM = {
    "cycle.compat": "scalesim3",
    "scalesim.ifmap_sram_kb": 64,
    "scalesim.filter_sram_kb": 64,
    "scalesim.ofmap_sram_kb": 64,
    "scalesim.bandwidth_mode": "CALC",
}
SCALESIM_BANDWIDTHS = {"scalesim.ifmap_bw": 1.0, "scalesim.filter_bw": 1.0, "scalesim.ofmap_bw": 1.0}
"""Keys that no backend reads, since the mode USER is scored as CALC."""
PLAN = {"devices": 2}
LEVELS = [{"kind": "ring", "size": 2, "gb_per_s": 2.0}]
SLOW = 2 * [{"kind": "ring", "size": 2, "gb_per_s": 2.0, "latency_ns": 2.0}]
IN_CHUNKS = {"devices": 4, "parallel": "dp", "chunks": 4, "defines": {"batch": 4}}
MEMORIES = [
    {"name": "L1", "kib": 0.001, "shared": False},
    {"name": "L2", "kib": 0.5},
    {"name": "DRAM", "gb_per_s": 0.1},
]
MANY_CORES = {"array.cores": 2, "array.rows": 2, "array.cols": 2}
SMALL = {"array.rows": 2, "array.cols": 2}
"""Machines on which keys show that do not on the usual one."""

READ: Mapping[str, Mapping[str, Case]] = {
    "cycle": {
        "compute.ops_per_mac": Case(1),
        "dram.kind": Case("HBM2e"),
        "dram.channels": Case(2, beside={"dram.kind": "DDR4"}),
        "technology.node_nm": Case(45),
        "technology.model": Case("gamma", {"technology.node_nm": 7}),
        "energy.edge_pj_per_byte": Case(1.0),
        "energy.vector_pj": Case(1.0),
        "energy.array_idle_w": Case(1.0),
        "energy.vector_idle_w": Case(1.0),
        "energy.spm_idle_w": Case(1.0),
        "energy.dram_idle_w": Case(1.0),
        "area.array_mm2": Case(1.0),
        "area.vector_mm2": Case(1.0),
        "area.spm_mm2": Case(1.0),
        "area.dram_mm2": Case(1.0),
        "area.chip_mm2": Case(1.0),
        "precision": Case("f32"),
        "clock_mhz": Case(10.0),
        "array.rows": Case(2),
        "array.cols": Case(2),
        "array.dataflow": Case("ws"),
        "array.transpose": Case("explicit", {"array.dataflow": "in-place"}),
        "array.overlap": Case("base", WS),
        "array.tile_m": Case(4, {**WS, "array.overlap": "pipe"}),
        "array.cores": Case(2),
        "array.fill": Case("per-fold"),
        "array.drain": Case("full"),
        "array.accumulator_bits": Case(16),
        "memory.retention_us": Case(0.01),
        "energy.refresh_pj_per_byte": Case(7.0, {"memory.retention_us": 0.01}),
        "array.mantissa_bits": Case(2),
        "array.skips": Case("both", {}, IN_IR, SPARSE),
        "array.slice": Case(4, {"array.skips": "column-balance"}, IN_IR, SPARSE),
        "array.balance": Case(True, {"array.skips": "column-balance"}, IN_IR, SPARSE),
        "array.lanes": Case(2, {"array.skips": "window"}, IN_IR, SPARSE),
        "array.lookahead": Case(1, {"array.skips": "window"}, IN_IR, SPARSE),
        "array.edge_elements": Case(64),
        "array.multicast": Case(True, MANY_CORES),
        "array.reduction": Case("on-chip", MANY_CORES),
        "array.ifmap_words": Case(6, RS),
        "array.filter_words": Case(6, RS),
        "array.psum_words": Case(1, {**RS, "array.rows": 3, "array.cols": 2}),
        "array.ifmap_port": Case(64, RS),
        "array.filter_port": Case(64, RS),
        "array.psum_port": Case(64, RS),
        "memory.spm_kib": Case(0.5),
        "memory.levels": Case(MEMORIES),
        "memory.double_buffer": Case(False),
        "memory.element_bytes": Case(8),
        "memory.policy": Case("lru"),
        "dram.gb_per_s": Case(0.1),
        "dram.capacity_mib": Case(0.001),
        "vector.lanes": Case(1),
        "cycle.compat": Case("scalesim3", {k: v for k, v in SCALESIM.items() if k != "cycle.compat"}),
        "scalesim.ifmap_sram_kb": Case(1, SCALESIM),
        "scalesim.filter_sram_kb": Case(1, SCALESIM),
        "scalesim.ofmap_sram_kb": Case(1, SCALESIM, {"inference": True}, LARGE),
        "scalesim.bandwidth_mode": Case("USER", {**SCALESIM, **SCALESIM_BANDWIDTHS}),
        "scalesim.memory": Case(False, SCALESIM),
        "energy.mac_pj": Case(7.0),
        "energy.spm_pj_per_byte": Case(7.0),
        "energy.dram_pj_per_byte": Case(7.0),
        "network.levels": Case(LEVELS, options=PLAN),
        "network.latency": Case("overlap", {"network.levels": SLOW}, IN_CHUNKS),
    },
    "roofline": {
        "array.skips": Case("both", {}, IN_IR, SPARSE),
        "array.slice": Case(4, COLUMNS, IN_IR, SPARSE),
        "array.balance": Case(True, COLUMNS, IN_IR, SPARSE),
        "array.lanes": Case(2, {"array.skips": "window"}, IN_IR, SPARSE),
        "array.lookahead": Case(1, {"array.skips": "window"}, IN_IR, SPARSE),
        "array.mantissa_bits": Case(2),
        "dram.kind": Case("HBM2e"),
        "dram.channels": Case(2, beside={"dram.kind": "DDR4"}),
        "array.cores": Case(4),
        "precision": Case("f16"),
        "memory.element_bytes": Case(8),
        "memory.cache_mib": Case(0.002),
        "memory.levels": Case(MEMORIES),
        "dram.gb_per_s": Case(0.1),
        "dram.capacity_mib": Case(0.001),
        "compute.tflops": Case(0.1),
        "compute.ops_per_mac": Case(1),
        "roofline.profile": Case("thesis"),
        "roofline.oversize": Case("flush", {"memory.cache_mib": 0.001, "roofline.plan": "single"}),
        "roofline.sgd": Case(False),
        "roofline.order": Case("listed", network=BRANCHES),
        "roofline.plan": Case("single", {"memory.cache_mib": 0.002}),
        "roofline.overlap": Case(False),
        "roofline.policy": Case("lru", {"memory.cache_mib": 0.003}),
        "roofline.prefetch": Case("none"),
        "roofline.offload": Case("when-full"),
        "roofline.compat": Case("prototype"),
        "roofline.backward": Case("table"),
        "roofline.loss": Case("free", network=BRANCHES),
        "roofline.update": Case("eager"),
        "roofline.master_bytes": Case(16),
        "roofline.bound": Case(True),
        "network.levels": Case(LEVELS, options=PLAN),
        "network.latency": Case("overlap", {"network.levels": SLOW}, IN_CHUNKS),
    },
    "maestro": {
        "dram.kind": Case("HBM2e"),
        "dram.channels": Case(2, beside={"dram.kind": "DDR4"}),
        "technology.node_nm": Case(45),
        "technology.model": Case("maestro"),
        "memory.levels": Case(MEMORIES),
        "precision": Case("f16"),
        "clock_mhz": Case(10.0),
        "array.accumulator_bits": Case(16, {"memory.element_bytes": 2}),
        "array.mantissa_bits": Case(2),
        "memory.spm_kib": Case(0.1),
        "memory.element_bytes": Case(8),
        "dram.gb_per_s": Case(0.1),
        "dram.capacity_mib": Case(0.001),
        "array.cores": Case(4),
        "maestro.num_pes": Case(2),
        "maestro.noc_bw": Case(1),
        "maestro.noc_hop_latency": Case(64),
        "maestro.offchip_bw": Case(1),
        "maestro.l1_size": Case(1),
        "maestro.l2_size": Case(1),
        "maestro.num_simd_lanes": Case(64),
        "maestro.mode": Case("parity"),
        "maestro.mapping": Case("rs"),
        "energy.mac_pj": Case(7.0),
        "energy.spm_pj_per_byte": Case(7.0, {"technology.node_nm": 45}),
        "energy.dram_pj_per_byte": Case(7.0, {"technology.node_nm": 45}),
        "network.levels": Case(LEVELS, options=PLAN),
        "network.latency": Case("overlap", {"network.levels": SLOW}, IN_CHUNKS),
    },
    "hetero": {
        "compute.ops_per_mac": Case(1),
        "dram.kind": Case("HBM2e"),
        "dram.channels": Case(2, beside={"dram.kind": "DDR4"}),
        "technology.node_nm": Case(45),
        "technology.model": Case("gamma", {"technology.node_nm": 7}),
        "energy.vector_pj": Case(1.0),
        "energy.array_idle_w": Case(1.0),
        "energy.vector_idle_w": Case(1.0),
        "energy.spm_idle_w": Case(1.0),
        "energy.dram_idle_w": Case(1.0),
        "area.array_mm2": Case(1.0),
        "area.vector_mm2": Case(1.0),
        "area.spm_mm2": Case(1.0),
        "area.dram_mm2": Case(1.0),
        "area.chip_mm2": Case(1.0),
        "units": Case(UNITS[:1]),
        "memory.levels": Case(MEMORIES),
        "precision": Case("f32"),
        "clock_mhz": Case(10.0),
        "memory.element_bytes": Case(8),
        "dram.gb_per_s": Case(0.1),
        "dram.capacity_mib": Case(0.001),
        "vector.lanes": Case(1),
        "energy.mac_pj": Case(7.0),
        "energy.spm_pj_per_byte": Case(7.0),
        "energy.dram_pj_per_byte": Case(7.0),
        "network.levels": Case(LEVELS, options=PLAN),
        "network.latency": Case("overlap", {"network.levels": SLOW}, IN_CHUNKS),
    },
}
"""Of each backend the keys that it reads, with a machine on which that shows; of all others it warns."""

NO_REPORT = {
    "name": "the name of the machine, which every report tells",
    "scalesim.sparsity": "of layers of SCALE-Sim's topologies that have an N:M: tests/unit/cycle has them",
    "scalesim.sparse_rep": "of layers of SCALE-Sim's topologies that have an N:M: tests/unit/cycle has them",
    **dict.fromkeys(
        (f"flexibility.{axis}" for axis in ("tiles", "order", "parallel", "shape", "block")),
        "of npuc flexibility: tests/unit/cli/test_flexibility.py has them",
    ),
    **dict.fromkeys(
        ("constraints.rules", "constraints.divisors"),
        "of npuc map: tests/unit/cli/test_constraints.py has them",
    ),
    "cost.usd_per_hour": "of npuc training: tests/unit/cli/test_training.py has it",
    "network.groups": "of plans for heterogeneous devices, which no backend scores: tests/unit/parallel has them",
}
"""Keys that the reports of this network cannot show, with the reason."""
NEEDS_ANOTHER = ("array.overlap", "array.tile_m", "array.transpose")
"""Keys that a machine is refused with that has another dataflow."""
NO_EFFECT = "has no effect"
known: dict[str, tuple[str, list[str]]] = {}


def outcome(backend: str, overrides: Overrides, case: Case) -> tuple[str, list[str]]:
    """All that a report says but for the machine and the keys without effect, and those; or an error."""
    asked = repr((backend, overrides, case.options, case.network))
    if asked not in known:
        try:
            report = compile_source(
                case.network, backend=backend, hardware=MACHINES[backend], overrides=overrides, **case.options
            )
        except NpucError as error:
            known[asked] = f"status {error.exit_code}: {error.message}", []
        else:
            said = json.loads(report.to_json())
            del said["hardware"]
            unread = [text for text in said["warnings"] if NO_EFFECT in text]
            said["warnings"] = [text for text in said["warnings"] if NO_EFFECT not in text]
            known[asked] = json.dumps(said), unread
    return known[asked]


@pytest.mark.parametrize(("backend", "key"), [(backend, key) for backend, cases in READ.items() for key in cases])
def test_a_key_that_a_backend_reads_shows(backend: str, key: str) -> None:
    case = READ[backend][key]
    before, _ = outcome(backend, case.beside, case)
    after, unread = outcome(backend, {**case.beside, key: case.value}, case)
    assert not before.startswith("status"), before
    assert not after.startswith(("status 1", "status 2")), after
    assert before != after
    assert [text for text in unread if text.startswith(f"{key} {NO_EFFECT}")] == []


@pytest.mark.parametrize("backend", MACHINES)
def test_a_backend_warns_of_the_keys_that_it_does_not_read(backend: str) -> None:
    others = {key: case.value for cases in READ.values() for key, case in cases.items()} | SCALESIM_BANDWIDTHS
    assert KEYS.keys() == others.keys() | NO_REPORT.keys()
    given = {key: value for key, value in others.items() if key not in READ[backend] and key not in NEEDS_ANOTHER}
    _, unread = outcome(backend, given, Case(None))
    assert {text.partition(" ")[0] for text in unread} == given.keys()


@pytest.mark.parametrize("key", ["energy.mac_pj", "energy.spm_pj_per_byte", "energy.dram_pj_per_byte"])
def test_an_energy_without_the_others_is_warned_of(key: str) -> None:
    bare = {k: v for k, v in load_hardware("igo-large").values.items() if not k.startswith("energy.")}
    report = compile_source(NETWORK, backend="cycle", hardware=bare, overrides={key: 1.0})
    assert any(text.startswith(f"{key} {NO_EFFECT}: energies need") for text in report.warnings)


def test_keys_of_a_hardware_file_are_not_warned_of() -> None:
    machine = {**load_hardware("igo-large").values, "maestro.num_pes": 4, "roofline.sgd": False}
    report = compile_source(NETWORK, backend="cycle", hardware=machine)
    assert not any(NO_EFFECT in text for text in report.warnings)


def test_a_key_that_one_of_several_backends_reads_is_not_warned_of() -> None:
    overrides = {"compute.tflops": 1.0, "array.rows": 8, "maestro.num_pes": 4}
    reports = compile_source(NETWORK, backend=["cycle", "roofline"], hardware="igo-large", overrides=overrides)
    for report in reports:
        unread = [text.partition(" ")[0] for text in report.warnings if NO_EFFECT in text]
        assert unread == ["maestro.num_pes"]
