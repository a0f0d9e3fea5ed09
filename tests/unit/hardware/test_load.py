"""Hardware descriptions: presets, files, overrides, and every way in which one can be wrong."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.analysis.machine.facts import machine_from
from npuc.compiler.core.errors import NpucError, UsageError
from npuc.hardware import KEYS, PRESETS, load_hardware, machine_target, parse_setting, preset_names

NAMES = [
    "a100",
    "aespa",
    "edge",
    "eie-like",
    "eyeriss",
    "gemmini",
    "h100",
    "hypar16",
    "hypar16-torus",
    "i9-10980xe",
    "igo-large",
    "igo-small",
    "maestro-example",
    "mtia-v1",
    "nvdla",
    "procrustes",
    "rtx2080ti",
    "rtx2080ti-card",
    "rx6900xt",
    "tensordash",
    "tpu-v4",
    "tpu-v4-cmem",
    "tpu-v5e",
    "trainium2",
]


def test_presets_are_those_of_the_contract() -> None:
    assert list(preset_names()) == sorted([*NAMES, "scalesim", "tpu-v1"])


@pytest.mark.parametrize("name", preset_names())
def test_preset_is_valid_and_named_like_its_file(name: str) -> None:
    assert load_hardware(name).name == name


@pytest.mark.parametrize("name", preset_names())
def test_preset_gives_a_source_for_its_values(name: str) -> None:
    head = (PRESETS / f"{name}.toml").read_text(encoding="utf-8").splitlines()[0]
    assert head.startswith("# ")
    assert len(head) > 20


@pytest.mark.parametrize("name", ["igo-large", "igo-small", "eyeriss", "nvdla", "tpu-v1", "scalesim", "hypar16"])
def test_array_presets_make_a_machine(name: str) -> None:
    machine = machine_from(machine_target(load_hardware(name)))
    assert machine.spm_bytes > 0
    assert machine.bytes_per_cycle > 0


def test_numbers_of_the_published_machines() -> None:
    large, small = load_hardware("igo-large"), load_hardware("igo-small")
    assert machine_target(large)["spm_bytes"] == 4 << 20
    assert float(machine_from(machine_target(large)).bytes_per_cycle) == pytest.approx(142.857, abs=1e-3)
    assert machine_from(machine_target(small)).bytes_per_cycle == 22
    assert load_hardware("tpu-v1").get("memory.spm_kib") == 28 * 1024
    assert load_hardware("a100").get("compute.tflops") == 19.45
    # Eyeriss adds 16-bit numbers in 16 bits; the others' accumulators have 32 (NVDLA: 34).
    bits = {name: load_hardware(name).get("array.accumulator_bits") for name in ("eyeriss", "tpu-v1", "nvdla")}
    assert bits == {"eyeriss": 16, "tpu-v1": 32, "nvdla": 32}


def test_a_graphics_card_as_it_is_and_as_the_table_prints_it() -> None:
    printed, card = load_hardware("rtx2080ti"), load_hardware("rtx2080ti-card")
    assert (printed.get("memory.cache_mib"), card.get("memory.cache_mib")) == (55, 5.5)
    other = ("name", "memory.cache_mib")
    assert {k: v for k, v in printed.values.items() if k not in other} == {
        k: v for k, v in card.values.items() if k not in other
    }


def test_defaults_are_told_from_what_is_written() -> None:
    hardware = load_hardware({"array": {"rows": 8, "cols": 8}})
    assert hardware.get("array.dataflow") == "os"
    assert not hardware.written("array.dataflow")
    assert hardware.as_dict() == {
        "array": {
            "rows": 8,
            "cols": 8,
            "dataflow": "os",
            "transpose": "none",
            "tile_m": 16,
            "accumulator_bits": 32,
            "edge_elements": 1,
            "cores": 1,
            "fill": "overlap",
            "drain": "hidden",
            "multicast": False,
            "reduction": "dram",
            "slice": 256,
            "balance": False,
            "lanes": 16,
            "lookahead": 3,
        }
    }


def test_nested_and_dotted_mappings_agree() -> None:
    nested = load_hardware({"array": {"rows": 8}, "dram": {"gb_per_s": 3}})
    assert nested == load_hardware({"array.rows": 8, "dram.gb_per_s": 3.0})
    assert isinstance(nested.get("dram.gb_per_s"), float)


def test_overrides_win_and_add() -> None:
    hardware = load_hardware("rtx2080ti", {"memory": {"cache_mib": 100}, "array.rows": 4})
    assert hardware.get("memory.cache_mib") == 100.0
    assert hardware.get("array.rows") == 4
    assert hardware.get("dram.gb_per_s") == 616.0


def test_numbers_of_numpy_are_numbers() -> None:
    machine = load_hardware({"maestro.num_pes": np.int64(8), "clock_mhz": np.int32(700)})
    pes, clock = machine.get("maestro.num_pes", int), machine.get("clock_mhz", float)
    assert (pes, clock) == (8, 700.0)
    assert (type(pes), type(clock)) == (int, float)
    for wrong in (np.int64(0), np.bool_(True), np.float64(8)):
        with pytest.raises(UsageError, match=r"maestro\.num_pes: expected an integer from 1 to"):
            load_hardware({"maestro.num_pes": wrong})


def test_missing_key_names_the_backend_that_needs_it() -> None:
    with pytest.raises(UsageError) as caught:
        load_hardware("a100").require("array.rows", backend="cycle")
    assert "array.rows" in caught.value.message
    assert "'cycle'" in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("array = { rows = 3, colls = 4 }", "1:21", "did you mean 'array.cols'?"),
        ("[array]\nrows = -1", "2:1", "from 1 to 65,536, got -1"),
        ("[array]\nrows = 0", "2:1", "got 0"),
        ("array.rows = 1000000", "1:1", "got 1000000"),
        ("[array]\n  rows = 3.5", "2:3", "got the number 3.5"),
        ("array.rows = true", "1:1", "got true"),
        ("array.rows = '8'", "1:1", "got the string '8'"),
        ("array.rows = [1]", "1:1", "got a list"),
        ("array.rows = 2020-01-01", "1:1", "got a date"),
        ("array.dataflow = 'sw'", "1:1", "'os' or 'ws' or 'is' or 'in-place' or 'rs', got 'sw'"),
        ("array.multicast = 1", "1:1", "expected true or false"),
        ("dram.gb_per_s = nan", "1:1", "got nan"),
        ("dram.gb_per_s = inf", "1:1", "got inf"),
        ("dram.gb_per_s = 0", "1:1", "above 0"),
        ("dram.gb_per_s = -3.0", "1:1", "above 0"),
        ("clock_mhz = 1e30", "1:1", "got 1e+30"),
        ("energy.mac_pj = -1", "1:1", "from 0"),
        ("memory = 3", "1:1", "expected a table"),
        ("[[memory]]\nspm_kib = 3", "1:3", "expected a table"),
        ("[memori]\nspm_kib = 3", "1:2", "did you mean 'memory'?"),
        ("rows = 3", "1:1", "did you mean 'array.rows'?"),
        ("clock = 3", "1:1", "did you mean 'clock_mhz'?"),
        ("# note\nfoo_bar_baz = 3", "2:1", "known: name"),
        ("name = ''", "1:1", "empty"),
        ("[array]\nrows = = 3", "2:8", ""),
        ("[array\nrows = 3", "1:7", ""),
        ("x = [[", "1:7", ""),
        ("a = 1\na = 2", "2:6", "this key has a value already"),
        ("network.levels = [ { kind = 'pair', size = 2 } ]", "1:20", "missing key 'gb_per_s'"),
        ("network.levels = [ { kind = 'star', size = 2, gb_per_s = 1 } ]", "1:22", "entry 1: kind"),
        (
            "network.levels = [ { kind = 'pair', size = 4, gb_per_s = 1 } ]",
            "1:37",
            "entry 1: size: expected 2 of a pair",
        ),
        ("network.levels = [ { kind = 'ring', size = 1, gb_per_s = 1 } ]", "1:37", "entry 1: size"),
        ("network.levels = [ 3 ]", "1:1", "entry 1"),
        ("network.groups = [ { tflops = 2, gbps = 1 } ]", "1:34", "unknown key 'gbps'"),
        ("network.levels = 3", "1:1", "expected a list"),
        ("\nclock_mhz = " + "9" * 5000, "2:13", "found a number of too many digits"),
    ],
)
def test_wrong_file_names_file_place_and_key(tmp_path: Path, text: str, place: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_hardware(file)
    rendered = caught.value.render()
    assert rendered.startswith(f"{file}:{place}: error: ")
    assert message in rendered
    assert "^" in rendered


def test_bandwidths_belong_to_user_mode() -> None:
    with pytest.raises(UsageError, match=r"needs scalesim\.ifmap_bw"):
        load_hardware("scalesim", {"scalesim.bandwidth_mode": "USER"})


@pytest.mark.parametrize("name", ["igo-larg", "", "mine.cfg", "mine.m", "no/such.toml", "\x00.toml", "/"])
def test_unknown_hardware_is_wrong_usage(name: str) -> None:
    with pytest.raises(UsageError):
        load_hardware(name)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    for name in ("none.toml", "none.cfg", "none.m"):
        with pytest.raises(UsageError, match=r"cannot read hardware file '.*': No such file or directory"):
            load_hardware(tmp_path / name)


def test_nearest_preset_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        load_hardware("igo-larg")
    assert caught.value.hint == "did you mean 'igo-large'?"


@pytest.mark.parametrize("data", [b"\xff\xfe", b"name = \xff", b"a" * ((1 << 20) + 1), b"x = " + b"9" * 5000])
def test_unreadable_files_are_wrong_usage(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(data)
    with pytest.raises(UsageError):
        load_hardware(file)


def test_deep_nesting_is_wrong_usage(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("x = " + "[" * 100_000)
    with pytest.raises(UsageError):
        load_hardware(file)


def test_folder_is_wrong_usage(tmp_path: Path) -> None:
    folder = tmp_path / "mine.toml"
    folder.mkdir()
    with pytest.raises(UsageError):
        load_hardware(folder)


def test_byte_order_mark_and_crlf_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xef\xbb\xbfname = 'a'\r\narray.rows = 3\r\n")
    assert load_hardware(file).get("array.rows") == 3


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("array.rows=64", "array.rows", 64),
        ("array.dataflow=ws", "array.dataflow", "ws"),
        ('array.dataflow="ws"', "array.dataflow", "ws"),
        ("dram.gb_per_s = 1e3", "dram.gb_per_s", 1e3),
        ("memory.double_buffer=false", "memory.double_buffer", False),
        ("name=8", "name", "8"),
        ("array.rows=2\ncols = 3", "array.rows", "2\ncols = 3"),
    ],
)
def test_settings_are_read_as_toml_or_bare_strings(text: str, key: str, value: object) -> None:
    assert parse_setting(text) == (key, value)


@pytest.mark.parametrize("text", ["", "=", "array.rows", "array.rows=", "=3", " = 3"])
def test_settings_need_key_and_value(text: str) -> None:
    with pytest.raises(UsageError, match="KEY=VALUE"):
        parse_setting(text)


def status(hardware: Path | dict[str, object], overrides: dict[str, object] | None = None) -> int:
    """What reading a description ends with: 0, or the exit status of its error."""
    try:
        load_hardware(hardware, overrides).as_dict()
    except NpucError as error:
        return error.exit_code
    return 0


@given(st.binary(max_size=200))
def test_random_bytes_never_raise_anything_else(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "random.toml"
    file.write_bytes(data)
    assert status(file) in (0, 2)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
names = st.sampled_from([*KEYS, "array", "memory", "network"]) | st.text(max_size=8)


@given(st.dictionaries(names, values, max_size=4), st.dictionaries(names, values, max_size=2))
def test_random_mappings_never_raise_anything_else(data: dict[str, object], overrides: dict[str, object]) -> None:
    assert status(data, overrides) in (0, 2)


words = st.sampled_from(
    [
        *KEYS,
        "[array]",
        "[[network.levels]]",
        "rows",
        " = ",
        "{",
        "}",
        "[",
        "]",
        "\n",
        "3",
        "-1",
        "nan",
        "'ws'",
        "#",
        '"',
    ]
)


@given(st.lists(words, max_size=12))
def test_random_toml_never_raises_anything_else(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    file = tmp_path_factory.getbasetemp() / "words.toml"
    file.write_text("".join(parts))
    assert status(file) in (0, 2)


@given(st.text(max_size=30))
def test_random_settings_never_raise_anything_else(text: str) -> None:
    try:
        key, value = parse_setting(text)
    except NpucError:
        return
    assert status({}, {key: value}) in (0, 2)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('[array]\ndataflow = "os"\noverlap = "pipe"\n', 3, "array.overlap applies only to"),
        ('[array]\ndataflow = "ws"\nfill = "per-fold"\noverlap = "pipe"\n', 3, "array.overlap contradicts"),
        ('array.dataflow = "ws"\narray.tile_m = 4\n', 2, "array.tile_m applies only with"),
        ('array = { dataflow = "os", transpose = "explicit" }\n', 1, "array.transpose = 'explicit' applies only to"),
        ('array.dataflow = "rs"\n\nmemory.policy = "lru"\n', 3, "memory.policy = 'lru' does not know"),
        ('scalesim.bandwidth_mode = "USER"\n', 1, "'USER' needs scalesim.ifmap_bw"),
        ('memory.element_bytes = 2\nprecision = "f32"\n', 2, "precision = 'f32' contradicts"),
    ],
)
def test_keys_of_a_file_that_exclude_each_other(tmp_path: Path, text: str, line: int, message: str) -> None:
    file = tmp_path / "h.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_hardware(file)
    assert message in caught.value.message
    assert caught.value.hint is not None
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == (str(file), line)


def test_an_override_that_contradicts_a_file_has_no_place(tmp_path: Path) -> None:
    (tmp_path / "h.toml").write_text('array.dataflow = "os"\n')
    with pytest.raises(UsageError, match=r"array\.overlap applies only") as caught:
        load_hardware(tmp_path / "h.toml", {"array.overlap": "pipe"})
    assert caught.value.location is None
