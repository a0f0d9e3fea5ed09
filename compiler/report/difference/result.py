"""The difference of two reports with what it is written and shown as."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from npuc.compiler.report.difference.document import SCHEMA, DifferenceData
from npuc.compiler.report.rows import DisplayedData

if TYPE_CHECKING:
    from npuc.compiler.core.display.frame import DataFrame
    from npuc.compiler.core.display.shown import Shown


class Difference(DisplayedData, DifferenceData, frozen=True, kw_only=True):
    """
    The difference of two reports.

    Layers are in the order of A's program, those of B alone behind the layer that they follow in B.
    """

    def to_pandas(self) -> DataFrame:
        """A row for each layer and each of its phases that differs. Raises `UsageError` without pandas."""
        from npuc.compiler.report.difference.as_csv import difference_frame

        return difference_frame(self)

    def shown(self) -> Shown:
        from npuc.compiler.report.shown.difference import shown_difference

        return shown_difference(self)


def difference_schema() -> dict[str, object]:
    """The JSON Schema of a difference, from the classes. `difference_schema.json` is this, written down."""
    head: dict[str, object] = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA}
    return head | msgspec.json.schema(Difference)
