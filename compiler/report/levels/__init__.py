"""What memories between scratchpads and DRAM do in an operation: a section of `native`."""

from __future__ import annotations

from npuc.compiler.report.sections import Section


class LevelFacts(Section, frozen=True):
    """
    The levels between scratchpads and DRAM, from the scratchpads outwards, a value a level in each list.

    `level_read_bytes` are those that the memory inside of it reads there, `level_write_bytes` those that it writes
    there, `level_bound_bytes` a lower bound of the two together over all schedules, `level_transfer_cycles` the time of
    these transfers at full bandwidth. `level_held_bytes` are the blocks kept there, of all cores; `level_j` the energy
    of accesses, from both sides. The report's traffic of DRAM is that of the last level.
    """

    levels: list[str]
    level_read_bytes: list[int]
    level_write_bytes: list[int]
    level_bound_bytes: list[int]
    level_held_bytes: list[int]
    level_transfer_cycles: list[int]
    level_j: list[float] | None = None
