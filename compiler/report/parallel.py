"""How a step is split over devices, as frozen data: the report's `parallel` object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from npuc.compiler.report.rows import ByName, DisplayedData

if TYPE_CHECKING:
    from npuc.compiler.core.display.frame import DataFrame
    from npuc.compiler.core.display.shown import Shown


class ParallelPair(ByName, frozen=True, kw_only=True):
    """
    A pair of sides that share their work unequally, and how many such pairs a level has.

    `groups` are the first and the last group of devices that it splits, `shares` the part of each layer that the first
    side computes (exact, `"2/3"`), `elements` half of the elements that both sides read from each other. `seconds` is
    the time of the pair alone, waiting included, `side_seconds` the busy time of each side.
    """

    groups: list[int]
    """the first and the last group of devices that the pair splits"""
    count: int
    """how many such pairs the level has"""
    choices: dict[str, str]
    """partition type by layer"""
    shares: dict[str, str]
    """the part of each layer that the first side computes, exact: `2/3`"""
    elements: int | str
    """half of the elements that both sides read from each other"""
    seconds: float
    """s of the pair alone, waiting included"""
    side_seconds: list[float]
    """busy s of each side"""


class ParallelLevel(ByName, frozen=True, kw_only=True, omit_defaults=True):
    """
    One level of the tree of devices: the type of each layer, and the elements that one pair reads in one direction.

    `cuts` holds for each layer in `mp` the channels along which it is split, `input` or `output`, under conventions
    that leave the choice open; null under the others. Of an embedding table it may say `rows`, always.

    With heterogeneous devices `pairs` lists all different pairs, and the rest is that of the first. Where a level
    splits into more than two `parts`, elements are half of those that all parts read from each other.
    """

    level: str
    """`H1` is the outermost"""
    choices: dict[str, str]
    """partition type by layer"""
    elements: int | str
    """what one pair reads in one direction"""
    cuts: dict[str, str] | None = None
    """
    of layers in `mp` the channels along which they are split, `input` or `output`; null where the convention leaves no
    choice; of tables that are cut by rows `rows`
    """
    shares: dict[str, str] | None = None
    """with heterogeneous devices the part of each layer that the first side of the first pair computes"""
    pairs: list[ParallelPair] | None = None
    """with heterogeneous devices all different pairs"""
    parts: int = 2
    """into how many parts the level splits; 2 is left out"""


class ParallelTotal(ByName, frozen=True):
    """
    Movement of all levels; a number that is not whole is an exact string (`"3/2"`).

    Bytes are those of the tensors' types, both directions; null where tensors differ in width and it is not known which
    of them are moved.
    """

    elements: int | str
    """elements of all levels, one direction"""
    bytes: int | str | None
    """bytes of all levels, both directions; null where it is not known which tensors move"""


class PlanCost(ByName, frozen=True, kw_only=True):
    """The cost that a plan minimises, where it is not movement: seconds of a step (`time`) or bytes kept (`memory`)."""

    objective: Literal["time", "memory"]
    """what the plan minimises"""
    value: float
    """s of a step, or bytes kept"""
    lower_bound: float
    """what no plan goes below"""


class Parallel(ByName, DisplayedData, frozen=True, kw_only=True, omit_defaults=True):
    """
    How the step is split over devices; `planned` is there for plans of other objectives than movement.

    `training` is false where a forward pass is planned, which has no gradients to move. `seconds` is the time of the
    products and the movement of a step on heterogeneous devices.
    """

    strategy: str
    """parallelisation strategy"""
    convention: str
    """how movement is counted"""
    devices: int
    """number of devices"""
    levels: list[ParallelLevel]
    """the levels of the mesh, outermost first"""
    total: ParallelTotal
    """what moves at all levels"""
    lower_bound_elements: int | str | None
    """elements that no plan of these types goes below; null where nothing is proved"""
    planned: PlanCost | None = None
    """the cost that a plan of another objective minimises"""
    seconds: float | None = None
    """s of the products and the movement on heterogeneous devices"""
    training: bool = True
    """false for a forward pass; else left out"""

    def table(self) -> tuple[list[str], list[list[str | None]]]:
        """The type of each layer at each level: names of columns and a row a layer, None where a level has none."""
        layers = dict.fromkeys(name for level in self.levels for name in level.choices)
        names = ["layer", *(level.level for level in self.levels)]
        return names, [[name, *(level.choices.get(name) for level in self.levels)] for name in layers]

    def to_pandas(self) -> DataFrame:
        """The type of each layer at each level as a table of pandas. Raises `UsageError` without pandas."""
        from npuc.compiler.core.display.frame import frame

        return frame(*self.table(), {"devices": self.devices, "strategy": self.strategy, "convention": self.convention})

    def shown(self) -> Shown:
        from npuc.compiler.core.display.shown import Shown, ShownTable, value_text
        from npuc.compiler.report.text.quantities import bytes_cell, time_text

        names, rows = self.table()
        cells = [tuple(value or "" for value in row) for row in rows]
        moved, elements = self.total.bytes, self.total.elements
        size = f", {bytes_cell(float(moved))}" if isinstance(moved, int | float) else ""
        facts = {
            "convention": self.convention,
            "bound": "" if self.lower_bound_elements is None else f"{value_text(self.lower_bound_elements)} elements",
            "planned": "" if self.planned is None else f"{self.planned.objective} of {self.planned.value:.6g}",
            "time": "" if self.seconds is None else time_text(self.seconds),
        }
        return Shown(
            "Parallel",
            f"plan of {len(rows):,} layer{'s' * (len(rows) != 1)} on {self.devices:,} devices by {self.strategy}",
            f"{value_text(elements)} elements{size} moved",
            tuple((name, text) for name, text in facts.items() if text),
            table=ShownTable(tuple(names), cells, len(rows), len(names), "layers"),
        )
