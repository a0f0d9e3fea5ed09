"""The compatibility mode: SCALE-Sim's numbers through the public functions and files, and what else a row says."""

import csv
import math
from collections import defaultdict
from pathlib import Path

import pytest

from npuc.backends.cycle.products import product_of
from npuc.backends.cycle.scalesim import COLUMNS, Image
from npuc.compiler import Report, UsageError, compile_file, compile_source
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.report import OpRow
from npuc.dialects.npu import ContractOp
from npuc.frontends.source import text_source

FILE = Path(__file__).parents[2] / "oracle" / "data" / "scalesim" / "public.csv"
ROWS = [row for row in csv.DictReader(FILE.open(encoding="utf-8")) if row["bandwidth_mode"] != "USER"]
SIZES = ("ifmap_sram_kb", "filter_sram_kb", "ofmap_sram_kb")
GEMM_HEADER = "Layer, M, N, K, Sparsity,\n"
CONV_HEADER = "Layer name, IFMAP H, IFMAP W, Filter H, Filter W, Channels, Num Filter, Strides, Sparsity,\n"
SMALL: dict[str, object] = {
    "array": {"rows": 4, "cols": 4, "dataflow": "ws"},
    "cycle.compat": "scalesim3",
    "scalesim": {"ifmap_sram_kb": 1, "filter_sram_kb": 1, "ofmap_sram_kb": 1},
}


def line_of(row: dict[str, str]) -> str:
    """A row of the reference as one of a topology."""
    if row["kind"] == "gemm":
        cells = [row[name] for name in ("layer", "M", "N", "K", "sparsity")]
    else:
        names = ("layer", "ifmap_h", "ifmap_w", "filter_h", "filter_w", "channels", "num_filters")
        cells = [*(row[name] for name in names), f"{row['stride_h']}x{row['stride_w']}", row["sparsity"]]
    return ", ".join(cells) + ",\n"


def topology(rows: list[dict[str, str]]) -> str:
    return (GEMM_HEADER if rows[0]["kind"] == "gemm" else CONV_HEADER) + "".join(map(line_of, rows))


def differences(row: dict[str, str], found: OpRow) -> list[str]:
    """The columns in which a row of a report differs from the reference."""
    wrong: list[str] = []
    for name in COLUMNS:
        value, expected = found.native[name], row[name]
        if expected == "":
            equal = value is None
        else:
            equal = isinstance(value, int | float) and math.isclose(float(expected), value, rel_tol=1e-9)
            equal &= not isinstance(value, int) or value == float(expected)
        if not equal:
            wrong.append(f"{row['layer']}: {name} is {value}, expected {expected}")
    return wrong


@pytest.mark.oracle
def test_every_row_of_the_reference_by_itself() -> None:
    wrong: list[str] = []
    for row in ROWS:
        full = row["stage"] == "full"
        scalesim: dict[str, object] = {"memory": full, "sparsity": bool(row["sparsity"])}
        hardware = {
            "array": {"rows": int(row["array_rows"]), "cols": int(row["array_cols"]), "dataflow": row["dataflow"]},
            "cycle": {"compat": "scalesim3"},
            "scalesim": scalesim | ({name: int(row[name]) for name in SIZES} if full else {}),
        }
        (found,) = compile_source(topology([row]), format="csv", hardware=hardware).ops
        wrong += differences(row, found)
        sizes = (found.batch, found.m, found.n, found.k)
        assert sizes == (1, int(row["M"]), int(row["N"]), int(row["K"]))
        assert found.cycles == int(row["compute_cycles"]) + 1
        if full:
            assert found.dram_read_bytes == int(row["ifmap_dram_reads"]) + int(row["filter_dram_reads"])
            assert found.dram_write_bytes == int(row["ofmap_dram_writes"])
    assert len(ROWS) == 576
    assert wrong == []


def config_file(row: dict[str, str]) -> str:
    sparsity = f"[sparsity]\nSparsitySupport = {bool(row['sparsity'])}\n"
    sizes = "".join(f"{row_key} : {row[name]}\n" for row_key, name in zip(CFG_SIZES, SIZES, strict=True) if row[name])
    return (
        f"[general]\nrun_name = reference\n[architecture_presets]\nArrayHeight : {row['array_rows']}\n"
        f"ArrayWidth : {row['array_cols']}\nDataflow : {row['dataflow']}\n{sizes}{sparsity}"
        "[run_presets]\nInterfaceBandwidth: CALC\n"
    )


CFG_SIZES = ("IfmapSramSzkB", "FilterSramSzkB", "OfmapSramSzkB")


@pytest.mark.oracle
def test_every_row_of_the_reference_through_files(tmp_path: Path) -> None:
    runs: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    for row in ROWS:
        runs[row["kind"], row["stage"], config_file(row)].append(row)
    wrong: list[str] = []
    for number, ((_, stage, config), rows) in enumerate(runs.items()):
        source, hardware = tmp_path / f"{number}.csv", tmp_path / f"{number}.cfg"
        source.write_text(topology(rows), encoding="utf-8")
        hardware.write_text(config, encoding="utf-8")
        report = compile_file(source, hardware=hardware, overrides={"scalesim.memory": stage == "full"})
        assert report.pipeline == "lower-to-npu"
        for row, found in zip(rows, report.ops, strict=True):
            wrong += differences(row, found)
    assert len(runs) > 50
    assert wrong == []


def score(text: str, **overrides: object) -> Report:
    """The report of a table on the small machine; `a__b=1` overrides the key a.b."""
    changed = {name.replace("__", "."): value for name, value in overrides.items()}
    return compile_source(text, "csv", "t.csv", hardware=SMALL, overrides=changed)


def count(row: OpRow, name: str) -> int:
    """A column of a row that is an integer."""
    value = row.native[name]
    assert isinstance(value, int)
    return value


def test_fields_of_a_row_follow_from_the_columns() -> None:
    (row,) = score(GEMM_HEADER + "fc,10,6,8,\n", clock_mhz=500).ops
    native = row.native
    assert row.cycles == row.compute_cycles == count(row, "total_cycles") + 1 == 4 * (2 * 4 + 4 + 10 - 2) == 80
    assert (row.stall_cycles, row.limit, row.schedule, row.spm_bytes) == (0, "compute", None, None)
    assert row.seconds == 80 / 500e6
    assert row.utilization == 480 / (16 * 80)
    assert {name: (t.read_bytes, t.write_bytes) for name, t in row.tensors.items()} == {
        "X": (native["ifmap_dram_reads"], 0),
        "W": (native["filter_dram_reads"], 0),
        "Y": (0, native["ofmap_dram_writes"]),
    }
    assert native["products"] == 1


def test_without_a_clock_there_are_no_times() -> None:
    report = score(GEMM_HEADER + "fc,10,6,8,\n")
    assert report.ops[0].seconds is None
    assert report.totals.seconds is None
    assert report.totals.cycles == report.ops[0].cycles


def test_energy_counts_what_scalesim_counts() -> None:
    prices = {"energy__mac_pj": 1, "energy__spm_pj_per_byte": 2, "energy__dram_pj_per_byte": 3}
    (row,) = score(GEMM_HEADER + "fc,10,6,8,\n", **prices).ops
    accesses = sum(count(row, name) for name in ("ifmap_sram_reads", "filter_sram_reads", "ofmap_sram_writes"))
    moved = (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)
    assert row.energy_j == pytest.approx(1e-12 * (480 + 2 * (accesses + moved) + 3 * moved))


def test_repetitions_count_in_totals_only() -> None:
    once, often = score("layer,M,N,K\na,9,8,7\n"), score("layer,M,N,K,count\na,9,8,7,5\n")
    assert often.ops[0].repeat == 5
    assert often.ops[0].native == once.ops[0].native
    assert often.totals.cycles == 5 * (once.totals.cycles or 0) > 0


def test_rows_of_one_size_differ_in_what_is_their_own() -> None:
    """Of rows that are alike one is scored: name, place, repetitions and sparsity are each row's own."""
    text = "layer,M,N,K,sparsity,count\na,9,8,16,,1\nb,9,8,16,2:4,1\nc,9,8,16,,3\nd,9,8,16,2:4,2\n"
    report = score(text, scalesim__sparsity=True)
    assert [(r.index, r.name, r.loc, r.repeat) for r in report.ops] == [
        *((0, "a", "t.csv:2:1", 1), (1, "b", "t.csv:3:1", 1)),
        *((2, "c", "t.csv:4:1", 3), (3, "d", "t.csv:5:1", 2)),
    ]
    dense, sparse, *others = (row.native for row in report.ops)
    assert dense != sparse
    assert others == [dense, sparse]


def test_gradients_are_plain_products() -> None:
    table = "layer,M,N,K,has_dX\na,9,8,7,1\n"
    forward, dx, dw = score(table).ops
    for row, sizes in ((forward, "9,8,7"), (dx, "9,7,8"), (dw, "7,8,9")):
        (alone,) = score(GEMM_HEADER + f"a,{sizes},\n").ops
        assert row.native == alone.native
    conv = CONV_HEADER + "c,9,9,3,3,4,5,2,\n"
    _, dx, dw = compile_source(conv, "csv", hardware=SMALL, inference=False).ops
    assert dx.native == score(GEMM_HEADER + "a,16,36,5,\n").ops[0].native
    assert dw.native == score(GEMM_HEADER + "a,36,5,16,\n").ops[0].native


def test_sparsity_counts_only_where_it_is_on_and_in_the_forward_product() -> None:
    text = GEMM_HEADER + "a,9,8,16,2:4,\n"
    dense = score(GEMM_HEADER + "a,9,8,16,\n")
    off, on = score(text), score(text, scalesim__sparsity=True)
    assert off.ops[0].native == dense.ops[0].native
    assert "N:M of 1 layers" in off.warnings[0]
    assert count(on.ops[0], "total_cycles") < count(dense.ops[0], "total_cycles")
    assert on.warnings == []
    assert on.ops[0].native["filter_words_original"] == 8 * 16
    changed = {"scalesim.sparsity": True}
    trained = compile_source(text, "csv", hardware=SMALL, overrides=changed, inference=False)
    plain = compile_source(GEMM_HEADER + "a,9,8,16,\n", "csv", hardware=SMALL, overrides=changed, inference=False)
    assert plain.ops[0].native["filter_words_new"] == 8 * 16
    assert [r.native for r in trained.ops[1:]] == [r.native for r in plain.ops[1:]]


@pytest.mark.parametrize("representation", ["csr", "csc", "ellpack_block"])
def test_storage_of_sparse_filters(representation: str) -> None:
    report = score(GEMM_HEADER + "a,9,8,16,2:4,\n", scalesim__sparsity=True, scalesim__sparse_rep=representation)
    metadata = {"csr": 64 + 17, "csc": 64 + 9, "ellpack_block": 64 * 2 / 32}[representation]
    assert report.ops[0].native["filter_metadata_words"] == metadata


def test_depthwise_convolutions_by_their_names() -> None:
    text = CONV_HEADER + "ConvDP,9,9,3,3,4,5,1,\n"
    report = score(text)
    assert [row.name for row in report.ops] == ["ConvDP"] * 4
    assert {row.k for row in report.ops} == {9}
    assert "DP" in report.warnings[0]
    assert len(compile_source(text, "csv").ops) == 1


def test_user_mode_is_scored_as_calc_with_a_warning() -> None:
    bandwidths = {"scalesim__ifmap_bw": 1, "scalesim__filter_bw": 1, "scalesim__ofmap_bw": 1}
    user = score(GEMM_HEADER + "a,9,8,7,\n", scalesim__bandwidth_mode="USER", **bandwidths)
    assert user.ops == score(GEMM_HEADER + "a,9,8,7,\n").ops
    assert [text for text in user.warnings if "has no effect" not in text] == [
        text for text in user.warnings if "USER is scored as CALC" in text
    ]
    assert sum("USER is scored as CALC" in text for text in user.warnings) == 1


NETWORK = """
network net(batch=2) {
  input x: f32[batch, 4, 9, 9]
  labels y: i32[batch]
  a = relu(conv2d(x, 6, kernel=3, stride=2, padding=1, bias=false))
  b = conv2d(a, 6, kernel=3, padding=1, groups=6, bias=false)
  loss cross_entropy(linear(flatten(b), 3), y)
}
"""


def test_a_network_with_work_that_scalesim_does_not_have() -> None:
    report = compile_source(NETWORK, hardware=SMALL)
    vector = [row for row in report.ops if row.kind != "matrix"]
    assert vector
    assert all(row.cycles is None and row.dram_read_bytes is None and row.native == {} for row in vector)
    assert f"{len(vector)} rows without products" in report.warnings[-1]
    assert report.totals.cycles == sum(row.cycles for row in report.ops if row.cycles is not None)
    depthwise = next(row for row in report.ops if row.name == "b" and row.phase == "forward")
    assert depthwise.native["products"] == 6
    assert depthwise.cycles == 6 * (count(depthwise, "total_cycles") + 1)


@pytest.mark.parametrize(
    ("call", "image"),
    [
        ("conv2d(x, 6, kernel=3, stride=2, padding=1)", Image(11, 11, 3, 3, 4, 2, 2, 2)),
        ("conv2d(x, 6, kernel=2, stride=3)", Image(8, 8, 2, 2, 4, 3, 3, 2)),
        ("conv2d(x, 6, kernel=3, stride=2, padding=[0, 1, 0, 0])", Image(9, 9, 3, 3, 4, 2, 2, 2)),
        ("conv2d(x, 6, kernel=[1, 9])", Image(9, 9, 1, 9, 4, 1, 1, 2)),
        ("conv2d(x, 6, kernel=1)", Image(9, 9, 1, 1, 4, 1, 1, 2)),
        ("conv2d(x, 8, kernel=3, groups=2)", Image(9, 9, 3, 3, 2, 1, 1, 2)),
        ("conv2d(x, 6, kernel=3, dilation=2)", None),
    ],
)
def test_images_of_convolutions(call: str, image: Image | None) -> None:
    plain = call.replace(")", ", bias=false)")
    text = f"network net(batch=2) {{\n  input x: f32[batch, 4, 9, 9]\n  output c = {plain}\n}}\n"
    made = compile_program(text_source(text, "dsl", "net.dsl"), ["cycle"], {"hardware": SMALL, "inference": True})
    (contract,) = [op for op in made.modules[0].walk() if isinstance(op, ContractOp)]
    _, layer = product_of(contract.nest)
    assert layer.image == image


@pytest.mark.parametrize("key", ["array.rows", "array.cols", "scalesim.ifmap_sram_kb"])
def test_what_the_mode_needs_of_a_machine(key: str) -> None:
    flat: dict[str, object] = {"array.rows": 4, "array.cols": 4, "cycle.compat": "scalesim3"}
    flat |= {f"scalesim.{name}": 1 for name in SIZES}
    flat.pop(key)
    with pytest.raises(UsageError, match=key):
        compile_source(GEMM_HEADER + "a,9,8,7,\n", "csv", hardware=flat)


@pytest.mark.parametrize(("key", "value"), [("array.dataflow", "in-place"), ("array.cores", 2)])
def test_what_the_mode_does_not_have(key: str, value: object) -> None:
    with pytest.raises(UsageError, match=key):
        compile_source(GEMM_HEADER + "a,9,8,7,\n", "csv", hardware=SMALL, overrides={key: value})
