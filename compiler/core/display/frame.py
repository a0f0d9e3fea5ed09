"""Rows as a table of pandas, which is optional (`pip install "npuc[notebook]"`) and loaded for a table alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from io import StringIO
from typing import Any, TypeAlias, cast

from npuc.compiler.core.errors import UsageError

DataFrame: TypeAlias = Any
"""A table of pandas."""
_LEAST, _MOST = -(2**63), 2**63 - 1


def frame(names: Sequence[str], rows: Iterable[Sequence[object]], about: Mapping[str, object]) -> DataFrame:
    """
    Rows of values as a table with these names of columns; `about` are its `attrs`.

    None, or an empty text, is a missing value: whole numbers stay whole numbers with it (`Int64`), truth values are
    `boolean`; a list is its values joined by commas, as in CSV. Raises `UsageError` without pandas.
    """
    pandas = _pandas()
    table = [[None if value == "" else value for value in row] for row in rows]
    columns = {number: _column(pandas, [row[number] for row in table]) for number, _ in enumerate(names)}
    found = pandas.DataFrame(columns, index=pandas.RangeIndex(len(table)))
    found.columns = _distinct(names)
    found.attrs = dict(about)
    return found


def read_frame(text: str) -> DataFrame:
    """CSV text as a table, as pandas reads it by itself. Raises `UsageError` without pandas."""
    return _pandas().read_csv(StringIO(text))


def _pandas() -> Any:
    try:
        return import_module("pandas")
    except ModuleNotFoundError as e:
        if e.name != "pandas":
            raise
        raise UsageError(
            "to_pandas needs pandas, which is not installed", hint='pip install "npuc[notebook]"'
        ) from None


def _distinct(names: Sequence[str]) -> list[str]:
    """Names of columns; one that was there before has a number, as where CSV is read."""
    seen: dict[str, int] = {}
    found: list[str] = []
    for name in names:
        number = seen.get(name, 0)
        seen[name] = number + 1
        found.append(f"{name}.{number}" if number else name)
    return found


def _column(pandas: Any, values: Sequence[object]) -> Any:
    """A column, of the type that its values have."""
    known = [value for value in values if value is not None]
    gaps = len(known) < len(values)
    if not known:
        return pandas.Series([float("nan")] * len(values), dtype="float64")
    if all(isinstance(value, bool) for value in known):
        return pandas.Series(list(values), dtype="boolean" if gaps else "bool")
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in known):
        return pandas.Series([float("nan") if value is None else _text(value) for value in values])
    numbers = cast("list[int | float]", known)
    if any(isinstance(value, float) for value in numbers):
        return pandas.Series([float("nan") if value is None else value for value in values], dtype="float64")
    if all(_LEAST <= value <= _MOST for value in numbers):
        return pandas.Series(list(values), dtype="Int64" if gaps else "int64")
    return pandas.Series(list(values), dtype="object")


def _text(value: object) -> object:
    """A value among texts as CSV has it, which a reader of CSV takes for a text, too."""
    match value:
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return ",".join(str(_text(one)) for one in cast("Sequence[object]", value))
        case _:
            return str(value)
