"""The rows of a study as JSON (schema `npuc.study/1`) and as CSV."""

import csv
import json
from collections.abc import Mapping, Sequence
from io import StringIO

SCHEMA = "npuc.study/1"


def rows_json(study: str, preset: str, tables: Mapping[str, Sequence[Mapping[str, object]]]) -> str:
    """A study's tables, `rows` the first of them, with its name and the assumptions they rest on."""
    data: dict[str, object] = {"schema": SCHEMA, "study": study, "preset": preset, **tables}
    return json.dumps(data, indent=2) + "\n"


def rows_csv(names: Sequence[str], rows: Sequence[Mapping[str, object]]) -> str:
    """Rows under their names, one per line; None is an empty cell."""
    out = StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
