"""
Between which nodes of a network which values go, in the form that each way of a node makes or needs.

    reading     a node needs a value in a certain form: its maker has it in another
    sum         a node makes addends of a value, which every device needs whole

Each is priced from the ways of one or two nodes alone, and each becomes operations of the lowered program, so that the
price of a plan is what its program moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from npuc.compiler.analysis.parallel.nodes import Network
from npuc.compiler.analysis.parallel.program import Source, Value
from npuc.compiler.analysis.parallel.ways import WAYS, Way
from npuc.compiler.layers.base import Combine
from npuc.dialects.train.signature import ArgumentKind

ByWay = tuple[int | None, ...]
"""For each of `WAYS` the axis that it cuts; None: whole."""
WHOLE: ByWay = (None,) * len(WAYS)
NOWHERE: tuple[bool, ...] = (False,) * len(WAYS)
NUMBER: Mapping[Way, int] = {way: number for number, way in enumerate(WAYS)}


@dataclass(frozen=True)
class Reading:
    """
    A value that a node (None: whoever needs no data) reads: the axes by way that its maker has cut and that the reader
    needs cut, and in which ways of the reader the work is cut though the value is read whole. `scattered`: where its
    maker has it cut, its gradient is then reduced and scattered. `held` are the maker's ways in which it keeps the
    gradient as addends, `added` the reader's in which it takes addends of the value.
    """

    value: int
    elements: int
    active: bool
    maker: int | None
    made: ByWay
    reader: int | None
    needed: ByWay
    shared: tuple[bool, ...]
    scattered: bool = False
    held: tuple[bool, ...] = NOWHERE
    added: tuple[bool, ...] = NOWHERE


@dataclass(frozen=True)
class Sum:
    """
    A result of a node's task of which some ways make addends: the axes by way that are cut, and how addends add.

    `taker` is the node that alone reads it, or what is linear in it, if that takes addends in the ways `later`.
    """

    value: int
    elements: int
    node: int
    made: ByWay
    adds: tuple[Combine | None, ...]
    taker: int | None = None
    later: tuple[bool, ...] = NOWHERE


@dataclass(frozen=True)
class Home:
    """The form in which an argument is given and kept: that of one of the nodes that read it (None: whole)."""

    node: int | None
    made: ByWay


@dataclass(frozen=True)
class Flows:
    """All readings, sums and homes of a network; `reading_of` finds the reading of a task's operand."""

    readings: tuple[Reading, ...]
    reading_of: Mapping[tuple[int, int], int]
    sums: tuple[Sum, ...]
    homes: Mapping[int, Home]

    def made(self, network: Network, task: int, place: int) -> ByWay:
        """The axes by way that a task's result is cut along."""
        axes = [_cut_results(network, task, way)[place] for way in WAYS]
        return tuple(axis if isinstance(axis, int) else None for axis in axes)


def flows_of(network: Network, *, cut_parameters: bool = True, scatter_over: int | None = None) -> Flows:
    """
    The flows of a network. Without `cut_parameters` every device keeps the parameters whole (their update needs all of
    one), and takes its part of them when it reads them.

    With `scatter_over`, a number of devices, parameters that all devices read whole are kept in parts where an axis
    divides among so many, and so are their gradients and the optimizer's states: they are gathered before they are
    read, and their gradients are reduced and scattered (Rajbhandari et al., "ZeRO", SC 2020).
    """
    return _Builder(network, cut_parameters, scatter_over).flows()


class _Builder:
    """Collects the flows task by task."""

    def __init__(self, network: Network, cut_parameters: bool, scatter_over: int | None):
        self.network = network
        self.cut_parameters = cut_parameters
        self.scatter_over = scatter_over
        self.homes: dict[int, Home] = {}
        self.readings: dict[Reading, int] = {}
        self.reading_of: dict[tuple[int, int], int] = {}
        self.sums: list[Sum] = []
        # the readings through which a gradient comes back: value, reader and what it needs
        self.passes: set[tuple[int, int | None, ByWay, tuple[bool, ...], tuple[bool, ...]]] = set()

    def flows(self) -> Flows:
        network = self.network
        needs = {
            (number, place): self._needs(number, place)
            for number, task in enumerate(network.program.tasks)
            for place in range(len(task.operands))
        }
        for number, task in enumerate(network.program.tasks):
            for place, operand in enumerate(task.operands):
                if task.gradients[place]:
                    self.passes.add((operand, network.node_of[number], *needs[number, place]))
        for number, task in enumerate(network.program.tasks):
            node = network.node_of[number]
            for place, operand in enumerate(task.operands):
                needed, shared, added = needs[number, place]
                self._home(operand, node, needed, shared)
                self.reading_of[number, place] = self._read(number, operand, needed, shared, added)
            for place, result in enumerate(task.results):
                self._sum(number, place, result)
        return Flows(tuple(self.readings), self.reading_of, tuple(self.sums), self.homes)

    def _needs(self, task: int, place: int) -> tuple[ByWay, tuple[bool, ...], tuple[bool, ...]]:
        """
        The axes by way that a task needs an operand cut along, the ways in which it reads all of it for a part, and
        those in which it takes addends.

        Where a node keeps the gradients of its results as addends, it reads all from elsewhere as if for a part.
        """
        own = self.network.program.tasks[task]
        numbers = [self.network.cuttings.cut_of[way][task] for way in WAYS]
        cuts = [None if number is None else own.cuts[number] for number in numbers]
        axes = tuple(None if cut is None else cut.operands[place] for cut in cuts)
        added = tuple(cut is not None and cut.addends for cut in cuts)
        parts = [cut is not None and cut.operands[place] is None and not cut.addends for cut in cuts]
        maker = self.network.maker[own.operands[place]]
        if own.hub or maker is None or self.network.node_of[maker] != self.network.node_of[task]:
            held = self._held(self.network.node_of[task])
            parts = [one or (other and axis is None) for one, other, axis in zip(parts, held, axes, strict=True)]
        return axes, tuple(parts), added

    def _held(self, node: int | None) -> tuple[bool, ...]:
        """The ways of a node in which the gradients of its results are kept as addends."""
        return NOWHERE if node is None else tuple(way in self.network.nodes[node].held for way in WAYS)

    def _made(self, value: int) -> tuple[int | None, ByWay]:
        """The node that makes a value and the axes by way."""
        maker = self.network.maker[value]
        if maker is None:
            home = self.homes.get(value, Home(None, WHOLE))
            return home.node, home.made
        place = self.network.program.tasks[maker].results.index(value)
        axes = [_cut_results(self.network, maker, way)[place] for way in WAYS]
        return self.network.node_of[maker], tuple(axis if isinstance(axis, int) else None for axis in axes)

    def _home(self, value: int, node: int | None, needed: ByWay, shared: tuple[bool, ...]) -> None:
        """An argument is kept as the first node that reads it needs it."""
        own = self.network.program.values[value]
        if own.argument is None or value in self.homes:
            return
        whole = own.argument is ArgumentKind.PARAM and not self.cut_parameters
        if whole or node is None:
            self.homes[value] = Home(None, WHOLE)
            return
        axis = self._scatter_axis(own) if own.argument is ArgumentKind.PARAM else None
        made = tuple(axis if all_read else one for one, all_read in zip(needed, shared, strict=True))
        self.homes[value] = Home(node, needed if axis is None else made)

    def _scatter_axis(self, own: Value) -> int | None:
        """The first axis of a parameter that divides among all devices, if parameters are to be kept in parts."""
        if self.scatter_over is None or not own.trained:
            return None
        return next((axis for axis, size in enumerate(own.shape) if size % self.scatter_over == 0), None)

    def _read(self, task: int, value: int, needed: ByWay, shared: tuple[bool, ...], added: tuple[bool, ...]) -> int:
        network = self.network
        node, hub = network.node_of[task], network.program.tasks[task].hub
        maker, made = self._made(value)
        own = network.program.values[value]
        if own.argument is ArgumentKind.INPUT:
            # inputs are given in any form
            maker, made = None, WHOLE
        kept = own.argument is ArgumentKind.PARAM and maker == node and made != needed
        active = (value, node, needed, shared, added) in self.passes
        held = self._held(maker) if network.maker[value] is not None and maker != node else NOWHERE
        reading = Reading(
            value,
            own.elements,
            active,
            maker,
            made,
            node,
            needed,
            shared,
            scattered=kept or hub,
            held=held,
            added=added,
        )
        return self.readings.setdefault(reading, len(self.readings))

    def _sum(self, task: int, place: int, result: int) -> None:
        network = self.network
        results = [_cut_results(network, task, way)[place] for way in WAYS]
        adds = tuple(axis if isinstance(axis, Combine) else None for axis in results)
        node = network.node_of[task]
        if any(adds) and node is not None:
            made = tuple(axis if isinstance(axis, int) else None for axis in results)
            elements, taker = network.program.values[result].elements, network.takers.get(result)
            if taker is None:
                self.sums.append(Sum(result, elements, node, made, adds))
            else:
                later = self._needs(taker.task, taker.place)[2]
                self.sums.append(Sum(result, elements, node, made, adds, network.node_of[taker.task], later))


def _cut_results(network: Network, task: int, way: Way) -> tuple[int | Combine | None, ...]:
    cut = network.cuttings.cut_of[way][task]
    own = network.program.tasks[task]
    return own.cuts[cut].results if cut is not None else (None,) * len(own.results)


def is_data(network: Network, value: int) -> bool:
    """Whether a value depends on the network's inputs."""
    return network.program.values[value].source is Source.DATA
