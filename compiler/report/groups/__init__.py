"""Groups of layers that run by micro-batches, gathered from the rows of a report; and what their rows say beside it."""

from __future__ import annotations

from npuc.compiler.core.frozen import frozen
from npuc.compiler.report.document import ReportData
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.sections import Section
from npuc.compiler.report.sparse import GroupFacts


class GroupBound(Section, frozen=True):
    """
    Of the first row of a group: the bytes that it moves at least, whatever its micro-batches and schedules are.

    What of each operand from outside is used is read once, weights too, and each result that something outside needs is
    written once.
    """

    group_bound_bytes: int


class OnceFacts(Section, frozen=True):
    """
    Of an operation in a group: what moves once for all micro-batches, in bytes, and what that takes, in cycles.

    Held operands are loaded before the first micro-batch, sums stored after the last, while nothing else happens.
    """

    loaded_once_bytes: int
    stored_once_bytes: int
    once_cycles: int

    @property
    def load_cycles(self) -> float:
        """The cycles of the load."""
        return self.once_cycles * self.loaded_once_bytes / (self.loaded_once_bytes + self.stored_once_bytes)


@frozen
class LayerGroup:
    """A group: its number from 1, its layers in the order of the program, its rows; the bound as in `GroupBound`."""

    number: int
    layers: tuple[str, ...]
    micro_batch: int
    micro_batches: int
    rows: tuple[OpRow, ...]
    saved_cycles: int | None
    saved_bytes: int | None
    bound_bytes: int | None
    bands: int = 1
    """The bands of rows in which it walks a micro-batch."""

    @property
    def runs(self) -> int:
        """How often each of its operations runs: in every micro-batch, for every band of rows."""
        return self.micro_batches * self.bands

    @property
    def title(self) -> str:
        """The first of its layers and the last one."""
        return self.layers[0] if len(self.layers) == 1 else f"{self.layers[0]} to {self.layers[-1]}"

    @property
    def cycles(self) -> int:
        """Cycles of all its micro-batches."""
        return sum(int(row.cycles or 0) for row in self.rows)

    @property
    def seconds(self) -> float:
        """The time of all its micro-batches."""
        return sum(row.seconds or 0.0 for row in self.rows)

    @property
    def dram_bytes(self) -> int:
        """Bytes that it reads from DRAM and writes there."""
        return sum((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0) for row in self.rows)

    @property
    def spm_bytes(self) -> int | None:
        """The most SPM that one of its products takes, with all that is kept beside it; None without products."""
        return max((row.spm_bytes for row in self.rows if row.spm_bytes), default=None)

    @property
    def saved_seconds(self) -> float | None:
        """What its operations by themselves take more; None where nobody says."""
        return None if self.saved_cycles is None or not self.cycles else self.saved_cycles * self.seconds / self.cycles


def layer_groups(report: ReportData) -> list[LayerGroup]:
    """The groups of a report, in the order of the program."""
    rows: dict[int, list[OpRow]] = {}
    for row in report.ops:
        facts = GroupFacts.found_in(row)
        if facts is not None:
            rows.setdefault(facts.group, []).append(row)
    return [_group(number, own) for number, own in rows.items()]


def _group(number: int, rows: list[OpRow]) -> LayerGroup:
    facts, bound = GroupFacts.found_in(rows[0]), GroupBound.found_in(rows[0])
    assert facts is not None
    return LayerGroup(
        number,
        tuple(facts.group_layers or dict.fromkeys(row.name for row in rows)),
        facts.micro_batch,
        facts.micro_batches,
        tuple(rows),
        facts.saved_cycles,
        facts.saved_bytes,
        None if bound is None else bound.group_bound_bytes,
        facts.bands or 1,
    )
