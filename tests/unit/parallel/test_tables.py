"""Embedding tables on many devices: how reports show them, when plans choose them, and what is refused."""

import numpy as np
import pytest
from typing_extensions import Unpack

from npuc.compiler import compile_source, run_source
from npuc.compiler.core.errors import CapacityError, NpucError, SourceError, UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.interpreter.execute import Run
from npuc.compiler.layers.base import Array
from npuc.compiler.report import Report

NET = """
network net(batch=64, tables=[64, 128, 64, 256], size=16, lookups=1) {
  input numbers: f32[batch, 8]
  input categories: i32[len(tables), batch, lookups]
  input clicked: f32[batch, 1]
  ids = unbind(categories)
  features = [linear(numbers, 16)]
  for i in 0..len(tables) {
    table = embedding(ids[i], tables[i], size)
    features = features + [sum(table, axis=1)]
  }
  logits = linear(relu(linear(concat(features, axis=1), 32)), 1)
  loss binary_cross_entropy_with_logits(logits, clicked)
  optimizer sgd(lr=0.1)
}
"""
TIED = """
network tied(batch=8) {
  input t: i32[batch, 4]
  labels y: i32[batch, 4]
  word = param([16, 8])
  x = embedding(t, weight=word)
  logits = matmul(x, word, transpose_b=true)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
SHARED: CompileKeywords = {"hardware": "igo-small", "opt_level": 0, "mesh": "8", "precision": "f32"}
BY_ROWS: CompileKeywords = {**SHARED, "parallel": "dp", "tables": "rows"}


def compiled(**more: Unpack[CompileKeywords]) -> Report:
    return compile_source(NET, **{**SHARED, **more})


def elements(report: Report) -> int:
    assert report.parallel is not None
    return int(report.parallel.total.elements)


@pytest.mark.parametrize("strategy", ["dp", "mp", "owt", "hypar", "joint", "accpar", "accpar-joint"])
def test_every_strategy_cuts_the_tables_by_rows_where_that_is_asked(strategy: str) -> None:
    report = compiled(parallel=strategy, tables="rows")
    assert report.parallel is not None
    (level,) = report.parallel.levels
    own = {name for name in level.choices if name.endswith("table")}
    assert len(own) == 4
    assert {level.choices[name] for name in own} == {"II" if "accpar" in strategy else "mp"}
    assert level.cuts is not None
    assert {level.cuts[name] for name in own} == {"rows"}


def test_a_device_keeps_its_rows_of_tables_gradients_and_states() -> None:
    whole, rows = compiled(parallel="dp"), compiled(parallel="dp", tables="rows")
    assert whole.memory is not None
    assert rows.memory is not None
    table_bytes, lists = 4 * 16 * (64 + 128 + 64 + 256), 4 * (8 + 1)
    assert whole.memory.argument_bytes - rows.memory.argument_bytes == table_bytes * 7 // 8 - lists


def test_the_tables_gradients_do_not_move() -> None:
    rows = [row for row in compiled(parallel="dp", tables="rows").ops if row.phase == "comm" and "table" in row.name]
    assert {row.op for row in rows} == {"dist.all_gather", "dist.reduce_scatter"}


def test_plans_that_choose_take_tables_by_rows_only_where_less_moves() -> None:
    for strategy in ("hypar", "joint"):
        for size in (16, 12):
            options: CompileKeywords = {"parallel": strategy, "convention": "physical", "defines": {"size": size}}
            free, rows = compiled(**options), compiled(**{**options, "tables": "rows"})
            assert elements(free) <= elements(rows)
    # columns do not divide among the devices, and all gradients of the tables are more than all vectors
    assert elements(free) == elements(rows)


def test_what_is_asked_for_is_refused_where_it_cannot_be() -> None:
    with pytest.raises(SourceError, match="norms of whole parameters, so that no table is cut"):
        compile_source(NET.replace("sgd", "lamb"), **BY_ROWS)
    with pytest.raises(SourceError, match="found no table that embeddings alone read"):
        compile_source(TIED, **BY_ROWS)
    with pytest.raises(UsageError, match="unknown placement of tables 'cols'"):
        compiled(parallel="dp", tables="cols")
    with pytest.raises(NpucError, match="tables is 'cols', expected rows, whole"):
        compile_source(NET, pipeline="parallelize{tables=cols}")


def test_a_table_with_other_readers_is_left_as_it_is_and_told() -> None:
    text = TIED.replace("x = embedding(t, weight=word)", "x = embedding(t, weight=word) + embedding(t, 16, 8)")
    report = compile_source(text, **BY_ROWS)
    (told,) = [warning for warning in report.warnings if "table" in warning]
    assert "table 'word' is not placed by tables=rows: layer 'logits' reads it, too, which is no embedding" in told


def test_an_index_outside_of_the_whole_table_is_said_as_on_one_device() -> None:
    ids = np.full((4, 64, 1), 64)
    data = {"numbers": np.ones((64, 8)), "categories": ids, "clicked": np.ones((64, 1))}
    with pytest.raises(SourceError, match=r"argument 'ids' holds 64 at .*, expected 0 to 63"):
        run_source(NET, inputs=data, pipeline='parallelize{strategy=dp mesh="8" tables=rows},autodiff')


def ran(data: dict[str, Array], tables: str | None = None) -> Run:
    """A step with two small tables on one device, or on four that share them."""
    mesh, strategy = (None, None) if tables is None else ("4", "dp")
    sizes = {"tables": [13, 5], "batch": 8}
    return run_source(NET, inputs=data, defines=sizes, precision="f32", mesh=mesh, parallel=strategy, tables=tables)


def test_tables_whose_rows_do_not_divide_are_filled_up_and_known_by_their_own_rows() -> None:
    ids = np.array([[12, 0, 12, 3, 5, 8, 9, 12], [4, 4, 0, 1, 2, 3, 4, 0]]).reshape(2, 8, 1)
    data: dict[str, Array] = {"numbers": np.ones((8, 8)), "categories": ids, "clicked": np.ones((8, 1))}
    one, rows = ran(data), ran(data, "rows")
    assert one.updated.keys() == rows.updated.keys()
    assert one.gradients.keys() == rows.gradients.keys()
    assert rows.params["0.table.weight"].shape == (13, 16)
    for name, value in one.updated.items():
        assert np.allclose(value, rows.updated[name], rtol=1e-5, atol=1e-7)
    data["categories"] = ids + 1
    with pytest.raises(SourceError, match=r"argument 'ids' holds 13 at .*, expected 0 to 12"):
        ran(data, "rows")
    with pytest.raises(UsageError, match=r"input '0\.table\.weight' has shape 16x16, expected 13x16 of the table"):
        ran({**data, "0.table.weight": np.ones((16, 16))}, "rows")


FILLED = """
func.func @f(%i: tensor<4xi32> {train.input = "i"},
             %w: tensor<8x2xf32> {train.param = "w", train.fill = 1.0 : f64, train.tables = TABLES})
    -> (tensor<4x2xf32> {train.output = "y"}) {
  %0 = train.embedding %i, %w : (tensor<4xi32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}
"""


def test_an_argument_may_hold_several_tables_each_with_its_own_name() -> None:
    tables = '[{name = "a", at = 0 : i64, rows = 3 : i64}, {name = "b", at = 4 : i64, rows = 2 : i64}]'
    data = {"i": np.array([0, 3, 4, 7]), "b": np.full((2, 2), 5)}
    run = run_source(FILLED.replace("TABLES", tables), "mlir", inputs=data, level="train")
    assert run.params["a"].shape == (3, 2)
    assert run.outputs["y"][:, 0].tolist() == [1, 0, 5, 0]


def test_tables_that_an_argument_does_not_have_are_said() -> None:
    for tables in (
        '[{name = "a", at = 0 : i64, rows = 5 : i64}, {name = "b", at = 4 : i64, rows = 2 : i64}]',
        "[{at = 0 : i64, rows = 5 : i64}]",
        '[{name = "a", at = 0 : i64}]',
    ):
        with pytest.raises(NpucError, match=r"argument 'w' has train\.tables that are no tables"):
            run_source(FILLED.replace("TABLES", tables), "mlir", inputs={"i": np.zeros(4)}, level="train")
    tables = '[{name = "a", at = 6 : i64, rows = 5 : i64}]'
    with pytest.raises(SourceError, match=r"argument 'w' has 8 rows, its train\.tables end at 11"):
        run_source(FILLED.replace("TABLES", tables), "mlir", inputs={"i": np.zeros(4)}, level="train")


def test_a_device_keeps_its_whole_tables() -> None:
    report = compiled(parallel="dp", tables="whole", defines={"tables": [40, 8, 16, 24, 64, 8, 8, 8, 10]})
    assert report.parallel is not None
    assert report.parallel.levels[0].cuts == {"tables": "whole"}
    rows = [row for row in report.ops if row.phase == "comm" and row.name == "tables"]
    assert [row.op for row in rows] == ["dist.all_to_all"] * 3
    # the first device has table 0 and table 8, no other as many rows but the one of table 4
    whole = compiled(parallel="dp", tables="whole", defines={"tables": [40, 8, 16, 24, 50, 8, 8, 8, 10]})
    assert report.memory is not None
    assert whole.memory is not None
    assert report.memory.argument_bytes - whole.memory.argument_bytes == 4 * 16 * (64 - 50)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tables[i], size)", "tables[i], size + i)", r"rows of different widths or types \(16 of f32, 17 of f32,"),
        ("tables[i], size)", "tables[i], size, padding_idx=1)", r"a row without a gradient \(padding_idx\)"),
        (
            "table = embedding(ids[i], tables[i], size)",
            "w = param([8, size])\n table = embedding(ids[i], weight=w) + embedding(ids[i], weight=w)",
            "a table is looked up several times",
        ),
        (
            "    table = embedding(ids[i], tables[i], size)",
            '    table = embedding(ids[i] + cast(features[i], "i32"), tables[i], size)',
            "different shapes|read before the indices of another are known",
        ),
    ],
)
def test_tables_that_are_not_looked_up_together_are_refused(old: str, new: str, message: str) -> None:
    assert old in NET
    text = NET.replace(old, new).replace("lookups=1", "lookups=16" if "cast" in new else "lookups=1")
    with pytest.raises(SourceError, match=message):
        compile_source(text, **{**BY_ROWS, "tables": "whole", "defines": {"tables": [8] * 8}})


def test_fewer_tables_than_devices_are_refused() -> None:
    with pytest.raises(CapacityError, match="found 4 tables, expected at least 8, the devices"):
        compiled(parallel="dp", tables="whole")
