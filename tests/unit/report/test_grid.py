"""Tables that fit: which columns are shown, names on several lines, lines that hang behind their headings."""

from io import StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from npuc.compiler.report.text.grid import (
    Column,
    broken_name,
    columns_of,
    fitting,
    print_grid,
    print_line,
    wrapped,
)


def printed(columns: list[Column], width: int, **options: object) -> list[str]:
    stream = StringIO()
    print_grid(columns, Console(file=stream, width=width), **options)  # pyright: ignore[reportArgumentType]
    return stream.getvalue().splitlines()


def table(ranks: dict[int, int]) -> list[Column]:
    return columns_of([["name", "aaaa", "bbbb", "cccc"], ["x", "1", "22", "333"], ["yy", "4"]], ranks=ranks)


def test_columns_whose_headings_say_nothing_alone_are_called_otherwise_where_they_are_left_out() -> None:
    columns = [Column("name", ("x" * 18,)), Column("1", ("40",), rank=1, called="gains by layer")]
    columns += [Column("2", ("50",), rank=1, called="gains by layer"), Column("z", ("9",), rank=2)]
    assert " ".join(printed(columns, 20)[3:]).split() == "no room in 20 columns for gains by layer, z".split()


def test_all_columns_where_there_is_room() -> None:
    assert printed(table({2: 1, 3: 2}), 80) == [
        " name aaaa bbbb cccc",
        " ───────────────────",
        " x       1   22  333",
        " yy      4",
        "",
    ]


def test_the_highest_rank_goes_first_and_that_is_said() -> None:
    assert printed(table({1: 1, 3: 2}), 16) == [
        " name aaaa bbbb",
        " ──────────────",
        " x       1   22",
        " yy      4",
        "no room in 16",
        "  columns for cccc",
        "",
    ]


def test_a_narrow_column_of_a_higher_rank_takes_what_a_wide_one_leaves() -> None:
    columns = columns_of([["n", "a long heading", "b"], ["x", "1", "2"]], ranks={1: 1, 2: 2})
    assert [column.heading for column in fitting(columns, 8)] == ["n", "b"]


def test_columns_of_one_rank_are_shown_together() -> None:
    assert [column.heading for column in fitting(table({1: 1, 2: 1, 3: 2}), 15)] == ["name", "cccc"]


def test_columns_in_place_of_others() -> None:
    columns = [
        Column("n", ("x",)),
        Column("left", ("1",), rank=1),
        Column("right", ("2",), rank=1),
        Column("sum", ("3",), rank=2, instead=1),
    ]
    assert [column.heading for column in fitting(columns, 20)] == ["n", "left", "right"]
    assert [column.heading for column in fitting(columns, 9)] == ["n", "sum"]
    assert printed(columns, 9) == [" n sum", " ─────", " x   3", ""]  # nothing is missing


def test_footers_and_rules() -> None:
    columns = [Column("n", ("x", "y"), left=True, footer="all"), Column("b", ("1", "2"), footer="3")]
    assert printed(columns, 80, rules=[0]) == [
        " n   b",
        " ─────",
        " x   1",
        " ─────",
        " y   2",
        " ─────",
        " all 3",
        "",
    ]


def test_headings_of_two_lines_stand_at_the_bottom() -> None:
    assert printed(columns_of([["n", "time\nms"], ["x", "1"]]), 80)[:2] == ["   time", " n   ms"]


def test_a_long_name_continues_below() -> None:
    name = "model.encoder.layers.11.attention.output"
    assert broken_name(name, 20) == "model.encoder.\n  layers.11.\n  attention.output"
    assert broken_name("short", 20) == "short"
    lines = printed(columns_of([["layer", "time"], [name, "1.00 ms"]]), 40)
    assert lines[2].endswith("1.00 ms")
    assert "".join(line.replace("1.00 ms", "").strip() for line in lines[2:-1]) == name


@given(
    st.lists(st.lists(st.integers(0, 10**12), min_size=4, max_size=4), min_size=1, max_size=5),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.integers(20, 100),
)
@example([[10**12, 0, 0, 0]], [0, 0, 0, 0], 20)
def test_numbers_are_never_cut(rows: list[list[int]], ranks: list[int], width: int) -> None:
    texts = [["name", "a", "b", "c"], *([f"{n:,}" for n in row] for row in rows)]
    columns = columns_of(texts, ranks=dict(enumerate([0, *ranks[1:]])))
    lines = printed(columns, width)
    shown = fitting(columns, width)
    for row, texts_of_row in enumerate(texts[1:]):
        expected = [text for column, text in zip(columns, texts_of_row, strict=True) if column in shown]
        assert lines[2 + row].split() == expected
    if any(column.rank for column in shown):
        assert max(map(len, lines[: 2 + len(rows)])) <= width


@pytest.mark.parametrize("width", [40, 60, 80])
def test_lines_hang_behind_their_heading(width: int) -> None:
    stream = StringIO()
    print_line("verdict", "a step takes 12.5 ms; " * 8, Console(file=stream, width=width))
    first, *rest = stream.getvalue().splitlines()
    assert first.startswith("verdict   a step")
    assert rest
    assert all(line.startswith(" " * 10) and line[10] != " " for line in rest)
    assert max(map(len, (first, *rest))) <= width


def test_a_heading_that_is_too_long_stands_above() -> None:
    stream = StringIO()
    print_line("a-long-heading", "its text", Console(file=stream, width=40))
    assert stream.getvalue() == "a-long-heading\n          its text\n"


def test_a_number_stays_with_its_unit() -> None:
    assert wrapped("it takes 12.5 ms in all", 13) == ["it takes", "12.5 ms in", "all"]
    assert wrapped("takes 3 steps", 7) == ["takes 3", "steps"]
    assert wrapped("", 20) == [""]


def test_a_long_name_takes_what_the_shown_columns_leave_and_displaces_none() -> None:
    name = "encoder.layers.attention.self.query.projection.weight.transposed"
    names = Column("layer", (name,), left=True)
    times, shares = Column("time", ("1.25 ms",)), Column("%", ("12",), rank=1)
    wide, narrow = Column("cycles", ("123,456,789",), rank=1), 48
    shown = fitting([names, times, shares], narrow)
    assert [column.heading for column in shown] == ["layer", "time", "%"]
    room = narrow - 1 - (times.width + 1) - (shares.width + 1) - 1
    assert narrow // 3 < shown[0].width <= room
    assert shown[0].cells == (broken_name(name, room),)
    beside = fitting([names, times, wide], narrow)
    assert [column.heading for column in beside] == ["layer", "time", "cycles"]
    assert sum(column.width + 1 for column in beside) + 1 <= narrow
