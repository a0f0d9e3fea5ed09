"""The calls of `opaque` that a graph's script gets, and what is to be said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os.path import basename
from typing import TYPE_CHECKING

from npuc.frontends.script.opaque.counts import (
    Counts,
    Number,
    OpaqueMismatch,
    Shape,
    counts_of,
    default_counts,
    shape_by,
    sizes_of,
)
from npuc.frontends.script.opaque.entries import Entry
from npuc.frontends.script.opaque.file import OPTION, entries_of
from npuc.frontends.script.weights import Refused

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Call, Name
    from npuc.frontends.script.writer import CallWriter

MOST_SAID = 8
"""The most nodes of an operator that a remark lists."""


class OpaqueOperators:
    """
    What is known of the work of operators without a meaning, and which of them a graph has.

    `path` is a file of entries besides npuc's own (None: no file). Raises `UsageError` for one that is wrong.
    """

    def __init__(self, path: str | None):
        self._entries = entries_of(path)
        self._nodes: dict[str, dict[int, None]] = {}
        self._found: dict[str, Entry | None] = {}
        self._refused: dict[str, str] = {}

    def entry(self, *names: str) -> Entry | None:
        """The entry of an operator, which may have several names, the most special one first."""
        return next((self._entries[name] for name in names if name in self._entries), None)

    def shape(
        self, entry: Entry | None, number: int, inputs: Sequence[Shape | None], outputs: Sequence[Shape | None]
    ) -> Shape | None:
        """The shape of an output by its entry and the shapes that are known; None where the entry does not say it."""
        try:
            return None if entry is None else shape_by(entry, number, sizes_of(entry, inputs, outputs))
        except OpaqueMismatch as error:
            raise Refused(str(error)) from None

    def call(
        self,
        c: CallWriter,
        node: int,
        names: Sequence[str],
        operands: Sequence[Name | None],
        shapes: Sequence[Shape],
        dtypes: Sequence[str],
        attributes: Mapping[str, Number],
    ) -> Call:
        """
        The call of an operator by the last of its names, at a node.

        `operands` are None where one is left out, `attributes` its arguments that are numbers. Raises `Refused`,
        `UsageError`.
        """
        operator, entry = names[-1], self.entry(*names)
        self._nodes.setdefault(operator, {})[node] = None
        self._found[operator] = entry
        inputs = [None if one is None else c.shape(one) for one in operands]
        try:
            counts = default_counts(inputs, shapes) if entry is None else counts_of(entry, inputs, shapes, attributes)
        except OpaqueMismatch as error:
            raise Refused(str(error)) from None
        given = [one for one in operands if one is not None]
        return c.call("opaque", operator, given, **_arguments(c, given, shapes, dtypes, counts, entry))

    def refused(self, operator: str, why: str) -> None:
        """Note why the meaning of an operator is refused somewhere, so that it is priced."""
        self._refused.setdefault(operator, why)

    def remarks(self) -> Iterator[str]:
        """What is to be said of the operators of the graph, and of entries that nothing needs."""
        if not self._nodes:
            yield "--opaque has no effect: each operator of the model has a meaning"
        for operator, why in self._refused.items():
            yield f"{operator} is priced, since what it means is not read here: {why}"
        for operator, nodes in self._nodes.items():
            listed = ", ".join(map(str, [*nodes][:MOST_SAID])) + (", …" if len(nodes) > MOST_SAID else "")
            where = f"{operator} (node{'s' * (len(nodes) > 1)} {listed})"
            entry = self._found[operator]
            if entry is None:
                yield (
                    f"{where} has no formula: its MACs count as 0, its vector work as an operation an element of its "
                    f'largest tensor; [ops."{operator}"] in {OPTION} FILE.toml says more'
                )
            else:
                yield f"the cost of {where} is assumed, by formulas of {basename(entry.source.name)}"
        taken = {id(entry) for entry in self._found.values()}
        for name, entry in self._entries.items():
            if entry.given and id(entry) not in taken:
                file = basename(entry.source.name)
                yield f"{file}: '{name}' has no effect: the model has no such operator without a meaning"


def _arguments(
    c: CallWriter,
    operands: Sequence[Name],
    shapes: Sequence[Shape],
    dtypes: Sequence[str],
    counts: Counts,
    entry: Entry | None,
) -> dict[str, list[list[int]] | list[str] | list[int] | int]:
    """The arguments of a call by name, but for those that are defaults."""
    found: dict[str, list[list[int]] | list[str] | list[int] | int] = {"shapes": [list(shape) for shape in shapes]}
    first = c.element(operands[0]) if operands else "f32"
    if any(dtype != first for dtype in dtypes):
        found["dtypes"] = list(dtypes)
    if counts.macs:
        found["macs"] = counts.macs
    if entry is not None:
        found["vector"] = counts.vector
    if counts.backward_macs != 2 * counts.macs:
        found["backward_macs"] = counts.backward_macs
    if counts.backward_vector != 2 * counts.vector:
        found["backward_vector"] = counts.backward_vector
    if counts.batch:
        found["batch"] = list(counts.batch)
    return found
