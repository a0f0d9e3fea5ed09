"""What follows from the keys of a machine, and one message for all that does not."""

import re

import pytest

from npuc.compiler import compile_source
from npuc.compiler.core.errors import UsageError
from npuc.hardware import KEYS, Hardware, load_hardware, preset_names
from npuc.hardware.derive import RULES, Rule

NETWORK = """\
network net(batch=2) {
  input  x: f32[batch, 16]
  labels y: i32[batch]
  h = relu(linear(x, 16))
  loss cross_entropy(linear(h, 4), y)
  optimizer sgd(lr=0.1)
}
"""
ARRAY = {"clock_mhz": 800, "array.rows": 32, "array.cols": 16, "array.cores": 3}
BACKENDS = ("cycle", "roofline", "maestro")


@pytest.mark.parametrize(
    ("key", "machine", "value", "how"),
    [
        ("compute.tflops", ARRAY, 2.4576, "2 x 1,536 MACs x 800 MHz"),
        ("compute.tflops", ARRAY | {"compute.ops_per_mac": 1}, 1.2288, "1 x 1,536 MACs x 800 MHz"),
        (
            "compute.tflops",
            {"maestro.num_pes": 256, "maestro.num_simd_lanes": 4, "clock_mhz": 0.1},
            0.0002048,
            "2 x 1,024 MACs x 0.1 MHz",
        ),
        (
            "clock_mhz",
            {"compute.tflops": 1.8432, "array.rows": 32, "array.cols": 16},
            1800.0,
            "1.8432 TFLOPS over 2 x 512",
        ),
        ("memory.cache_mib", {"memory.spm_kib": 512, "array.cores": 4}, 2.0, "512 KiB of SPM x 4 cores"),
        ("memory.spm_kib", {"memory.cache_mib": 50}, 51200.0, "50 MiB of cache over 1 core"),
        ("memory.spm_kib", {"memory.cache_mib": 2, "array.cores": 4}, 512.0, "2 MiB of cache over 4 cores"),
        ("maestro.num_pes", ARRAY, 1536, "32 rows x 16 columns x 3 cores"),
        (
            "dram.gb_per_s",
            {"maestro.offchip_bw": 10, "memory.element_bytes": 2, "clock_mhz": 800, "array.cores": 4},
            4.0,
            "10 elements a cycle x 2 bytes x 800 MHz over 4 cores",
        ),
    ],
)
def test_a_value_follows(key: str, machine: dict[str, object], value: float, how: str) -> None:
    hardware = load_hardware(machine)
    assert hardware.get(key) is None
    assert hardware.known(key) == value
    assert hardware.derived[key].how.startswith(how)
    assert isinstance(hardware.known(key), type(KEYS[key].kind.read(1)))
    table, _, leaf = key.rpartition(".")
    shown = hardware.as_dict()[table] if table else hardware.as_dict()
    assert isinstance(shown, dict)
    assert shown[leaf] == value


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.key} of {rule.inputs[0]}")
def test_a_rule_reads_what_it_says(rule: Rule) -> None:
    own: dict[str, object] = {"compute.ops_per_mac": 1, "precision": "f32", "dram.kind": "DDR4"}
    own["technology.model"] = "maestro"
    written = {path: own.get(path, 64) for path in rule.inputs}
    hardware = load_hardware(written)
    assert hardware.known(rule.key) is not None
    assert hardware.reads <= {rule.key, *(path for one in RULES if one.key == rule.key for path in one.inputs)}
    assert {key for key in written if key in hardware.reads} == written.keys()


def test_what_is_written_wins_and_nothing_follows_from_nothing() -> None:
    written = load_hardware(ARRAY | {"compute.tflops": 7.0})
    assert (written.known("compute.tflops"), written.derived) == (7.0, {})
    empty = load_hardware({"name": "bare"})
    assert all(empty.known(rule.key) is None for rule in RULES)
    assert empty.derived == {}


def test_no_machine_has_more_elements_than_a_key_takes() -> None:
    large = load_hardware({"array.rows": 65536, "array.cols": 65536})
    assert large.known("maestro.num_pes") is None


def test_a_report_says_what_was_derived() -> None:
    machine = ARRAY | {"memory.spm_kib": 64, "dram.gb_per_s": 10, "vector.lanes": 8}
    roofline, maestro, cycle = (
        compile_source(NETWORK, backend=name, hardware=machine) for name in ("roofline", "maestro", "cycle")
    )
    assert roofline.derived == {
        "compute.tflops": "2 x 1,536 MACs x 800 MHz",
        "memory.cache_mib": "64 KiB of SPM x 3 cores",
    }
    assert roofline.hardware["compute"] == {"tflops": 2.4576, "ops_per_mac": 2}
    assert '"derived": {"compute.tflops": "2 x 1,536' in roofline.to_json()
    assert maestro.derived == {"maestro.num_pes": "32 rows x 16 columns x 3 cores"}
    assert cycle.derived == {}


def test_what_follows_costs_as_what_is_written() -> None:
    machine = ARRAY | {"memory.spm_kib": 64, "dram.gb_per_s": 10, "vector.lanes": 8}
    written = machine | {"compute.tflops": 2.4576, "memory.cache_mib": 0.1875, "maestro.num_pes": 1536}
    for name in BACKENDS:
        derived, said = (compile_source(NETWORK, backend=name, hardware=one) for one in (machine, written))
        assert (derived.totals, derived.ops) == (said.totals, said.ops)


def test_a_peak_that_is_not_that_of_the_cores_is_told() -> None:
    report = compile_source(NETWORK, backend="roofline", hardware="igo-large", overrides={"array.cores": 4})
    assert [text for text in report.warnings if "is not the peak of 4 cores, 137.626" in text]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", [*preset_names(), ""])
def test_one_message_has_all_that_is_missing_and_what_would_do(name: str, backend: str) -> None:
    """The machine is refused at most once: with what the hint says it compiles."""
    machine: Hardware = load_hardware(name or {"name": "bare"})
    refused = refusal(backend, machine)
    if refused is None:
        assert name
        return
    assert refused.message.startswith(f"hardware '{machine.name}' has no ")
    assert refused.message.endswith(f"which the backend '{backend}' needs")
    settings = dict(found.split("=") for found in re.findall(r"--set (\S+=[\w.]+)", refused.hint or ""))
    assert settings
    given = {key: float(value) if "." in value else int(value) for key, value in settings.items()}
    compile_source(NETWORK, backend=backend, hardware=machine.values, overrides=given, opt_level=0)


def refusal(backend: str, machine: Hardware) -> UsageError | None:
    try:
        compile_source(NETWORK, backend=backend, hardware=machine.values, opt_level=0)
    except UsageError as error:
        return error
    return None


def test_a_peak_gives_the_size_of_the_array() -> None:
    with pytest.raises(UsageError) as refused:
        compile_source(NETWORK, hardware="a100")
    hint = "--set array.rows=128 --set array.cols=128 --set vector.lanes=128; clock_mhz then follows"
    assert hint in (refused.value.hint or "")
