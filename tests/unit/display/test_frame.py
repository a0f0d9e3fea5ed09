"""Rows as tables of pandas: types that the values have, and the error without pandas."""

import sys

import pytest

from npuc.compiler.core.display.frame import frame
from npuc.compiler.core.errors import UsageError

ROWS = [
    ("a", 1, 1, 0.5, True, True, None, [1, 2], 2**70, 1),
    (None, 2, None, None, False, None, None, None, 1, 2.5),
]
NAMES = ("text", "whole", "gaps", "real", "truth", "maybe", "nothing", "list", "large", "mixed")


def test_types_are_those_of_the_values() -> None:
    pytest.importorskip("pandas")
    found = frame(NAMES, ROWS, {"title": "x"})
    types = {name: str(found[name].dtype) for name in NAMES}
    del types["text"], types["list"]  # their name differs between versions of pandas
    assert types == {
        "whole": "int64",
        "gaps": "Int64",
        "real": "float64",
        "truth": "bool",
        "maybe": "boolean",
        "nothing": "float64",
        "large": "object",
        "mixed": "float64",
    }
    assert found["gaps"][0] == 1
    assert found["gaps"].isna()[1]
    assert found["list"][0] == "1,2"
    assert found["large"][0] == 2**70
    assert found["text"].isna().tolist() == [False, True]
    assert found.attrs == {"title": "x"}


def test_whole_numbers_stay_exact_beside_gaps() -> None:
    pytest.importorskip("pandas")
    exact = 2**53 + 1
    assert int(frame(["n"], [[exact], [None]], {})["n"][0]) == exact


def test_a_name_of_a_column_that_is_there_twice() -> None:
    pytest.importorskip("pandas")
    assert list(frame(["a", "b", "a"], [[1, 2, 3]], {}).columns) == ["a", "b", "a.1"]


def test_no_rows() -> None:
    pytest.importorskip("pandas")
    assert frame(["a"], [], {}).shape == (0, 1)


def test_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError) as caught:
        frame(["a"], [[1]], {})
    assert caught.value.message == "to_pandas needs pandas, which is not installed"
    assert caught.value.hint == 'pip install "npuc[notebook]"'
