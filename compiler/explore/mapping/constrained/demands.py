"""The constraints of every contraction of a program, whether they can be met, and what to say where they cannot."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TypeVar

from npuc.compiler.analysis.mapping.constraints.resolve import (
    Dimensions,
    constraints_of,
    dimensions_of,
    dimensions_of_layer,
)
from npuc.compiler.analysis.mapping.constraints.rules import RULES, Atom, MapRules
from npuc.compiler.analysis.mapping.constraints.words import ROLES
from npuc.compiler.core.errors import CapacityError, Location, UsageError, either, nearest
from npuc.compiler.core.options import Options
from npuc.compiler.explore.mapping.constrained.possible import (
    conflict,
    constrained,
    elements_of,
    is_possible,
    least_needs,
)
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.mapping.task import ExactTask, ParityTask, SearchTask
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of, role_of
from npuc.hardware import Hardware, machine_constraints, text_of_hardware
from npuc.hardware.readers.toml_places import find_in_entry

T = TypeVar("T", bound=SearchTask)


def machine_rules(hardware: Hardware, options: Options) -> MapRules:
    """The constraints of the machine that `options` name, with their places in its file."""
    name, overrides = options.hardware, options.overrides
    if name is None or isinstance(name, Mapping) or RULES in overrides:
        name, text = "hardware override" if RULES in overrides else hardware.name, None
    else:
        name, text = os.fspath(name), text_of_hardware(name)
    return machine_constraints(hardware, name, text)


@dataclass(frozen=True)
class Hints:
    """What would help where constraints cannot be met: more dimensions that a level spreads, more levels, any tiles."""

    spread: str = "--spread 2 or 3, so that a level may spread several dimensions"
    levels: str = "--levels {level}, or constraints of fewer levels"
    tiles: str = "--tiles any, where tiles need not divide a dimension"


@dataclass(frozen=True)
class Demands:
    """
    Rules for the mappings of a program's contractions; of each those count that are for it.

    `open`: the machine is searched, so that no share of its elements is too much before its clusters are known.
    """

    rules: MapRules
    open: bool = False
    hints: Hints = Hints()

    def atoms(self, op: ContractOp, kind: str) -> tuple[Atom, ...]:
        """What is demanded of a contraction."""
        return self.rules.atoms(layer_of(op), kind, role_of(op).value)

    def rows(self, op: ContractOp) -> tuple[int, ...]:
        """The numbers of the rules that are for a contraction."""
        kind = dimensions_of(op.nest).kind if self.rules else ""
        layer, phase = layer_of(op), role_of(op).value
        return tuple(at for at, rule in enumerate(self.rules.rules) if rule.applies(layer, kind, phase))

    def applied(self, task: T, op: ContractOp) -> T:
        """
        The search for a contraction's mapping under its constraints.

        Raises `CapacityError` where no mapping meets them, and `UsageError` for those of levels that mappings have not.
        """
        if not self.rules:
            return task
        assert isinstance(task, ExactTask | ParityTask)
        dims = _dimensions(task, op)
        atoms, space = self.atoms(op, dims.kind), task.space
        for atom in atoms:
            if atom.level is not None and atom.level >= space.levels:
                hint = self.hints.levels.format(level=atom.level + 1)
                raise self.error(UsageError, atom, f"level {atom.level + 1} of mappings that have {space.levels}", hint)
        found = self.restricted(space, op, dims, self._elements(space))
        if not is_possible(found, task.capacity):
            self._refuse(task, op, atoms)
        return replace(task, space=found)

    def restricted(self, space: MapSpace, op: ContractOp, dims: Dimensions, elements: int) -> MapSpace:
        """The part of a space, with dimensions of these roles, that meets the constraints of a contraction."""
        atoms = self.atoms(op, dims.kind)
        own = constraints_of(atoms, dims, space.levels, elements, divisors=self.rules.divisors)
        return constrained(space, own)

    def _elements(self, space: MapSpace) -> int:
        return 1 if self.open else elements_of(space)

    def _refuse(self, task: ExactTask | ParityTask, op: ContractOp, atoms: tuple[Atom, ...]) -> None:
        """Raise for constraints that cannot be met together; what no smallest set explains is left to the search."""
        space, divisors, dims = task.space, self.rules.divisors, _dimensions(task, op)
        elements = self._elements(space)
        found = conflict(atoms, dims, space, task.capacity, elements, divisors=divisors)
        if not found:
            return
        whose, which = f"{layer_of(op) or 'a contraction'} ({role_of(op).value})", self.listed(found)
        if not conflict(found, dims, space, replace(task.capacity, l1=None, l2=None), elements, divisors=divisors):
            own = constraints_of(found, dims, space.levels, elements, divisors=divisors)
            text, hint = _too_small(task, constrained(space, own), whose, which)
            raise self.error(CapacityError, found[0], text, hint)
        one = "can" if len(found) == 1 else "can together"
        where = "any clusters" if self.open else f"{elements:,} elements"
        text = f"{whose}: no mapping on {where} {one} meet {which}"
        raise self.error(CapacityError, found[0], text, self._hint(task, op, found))

    def _hint(self, task: ExactTask | ParityTask, op: ContractOp, found: tuple[Atom, ...]) -> str | None:
        """What would help against a conflict."""
        space, dims, elements = task.space, _dimensions(task, op), self._elements(task.space)

        def helps(other: ExactTask | ParityTask, *, divisors: bool) -> bool:
            return not conflict(found, dims, other.space, other.capacity, elements, divisors=divisors)

        wide = replace(task, space=replace(space, parallel=3))
        if space.parallel < 3 and helps(wide, divisors=self.rules.divisors):
            return self.hints.spread
        anything = replace(task, space=replace(space, divisors=False))
        if (space.divisors or self.rules.divisors) and helps(anything, divisors=False):
            more = self.hints.tiles if space.divisors else "tiles that need not divide a dimension"
            return more + (", without constraints.divisors" if self.rules.divisors else "")
        sizes = " ".join(f"{name} = {dims.size(name):,}" for name in _names(found) if dims.places(name))
        return f"the contraction has {sizes}" if sizes else None

    def listed(self, found: tuple[Atom, ...]) -> str:
        """Demands in a message; equal ones of several levels are one of all of these."""
        same: dict[str, list[str]] = {}
        for atom in found:
            same.setdefault(atom.demanded, []).append(self._placed(atom, found[0]))
        return either([f"{demanded} {either(places, 'and')}".strip() for demanded, places in same.items()], "and")

    def _placed(self, atom: Atom, first: Atom) -> str:
        """The level of a demand in a message, with its place where that is not the message's own."""
        place, own = self._location(atom), self._location(first)
        level = "" if atom.level is None else f"at level {atom.level + 1}"
        if place is None or place == own:
            return level
        return f"{level} ({place if own is None or own.file != place.file else f'line {place.line}'})".strip()

    def error(self, kind: type[CapacityError | UsageError], atom: Atom, text: str, hint: str | None) -> Exception:
        """An error about a demand, with its place."""
        place, text_of_file = self._location(atom), atom.rule.place.text
        if place is None or text_of_file is None:
            return kind(f"{atom.rule.place.name}: {text}", hint=hint)
        return kind(text, location=place, hint=hint, source_line=text_of_file.split("\n")[place.line - 1])

    def _location(self, atom: Atom) -> Location | None:
        """Where a demand is written, as far as that is found."""
        place = atom.rule.place
        found = None if place.text is None else find_in_entry(place.text, RULES, place.number, atom.key)
        return None if found is None else Location(place.name, *found)

    def check_names(self, tasks: Sequence[tuple[SearchTask, ContractOp]]) -> None:
        """
        Raise `UsageError` for a dimension that no contraction has. Rules that are for none may name any.

        Where a contraction that a rule is for does not have it, but others have, it plays no part.
        """
        known, used = set[str](), self._used(tasks)
        for task, op in tasks if used else ():
            known |= _dimensions(_searched(task), op).named.keys()
        for atom in (atom for rule in self.rules.rules if id(rule) in used for atom in rule.atoms()):
            for name in atom.names:
                if name not in ROLES and name not in known:
                    own = sorted(known.difference(ROLES))
                    near, roles = nearest(name, [*own, *ROLES]), ", ".join(ROLES)
                    every = f"roles are {roles}; the dimensions of this program's contractions are {', '.join(own)}"
                    hint = f"did you mean '{near}'?" if near else every
                    raise self.error(UsageError, atom, f"{atom.key}: no contraction has a dimension '{name}'", hint)

    def warnings(self, tasks: Sequence[tuple[SearchTask, ContractOp]]) -> Iterator[str]:
        """Rules that are for no contraction."""
        used = self._used(tasks)
        for rule in self.rules.rules:
            if id(rule) not in used:
                yield f"rule {rule.place.number + 1} of {rule.place.name} is for no contraction of this program"

    def _used(self, tasks: Sequence[tuple[SearchTask, ContractOp]]) -> set[int]:
        """The rules, by `id`, that are for some contraction."""
        if not self.rules:
            return set()
        kinds = ((op, _dimensions(_searched(task), op).kind) for task, op in tasks)
        return {id(atom.rule) for op, kind in kinds for atom in self.atoms(op, kind)}


def _too_small(task: ExactTask | ParityTask, space: MapSpace, whose: str, which: str) -> tuple[str, str]:
    """What to say, with a hint, where a buffer cannot hold the smallest tiles of a constrained space."""
    machine, capacity = task.machine, task.capacity
    buffers = (machine.l1_key, capacity.l1), (machine.l2_key, capacity.l2)
    for (key, size), need in zip(buffers, least_needs(space, capacity), strict=True):
        if size is not None and need > size:
            few = f"{whose}: a buffer of {size:,} elements ({key}) is too small for {which}"
            return f"{few}, whose smallest tiles take {ceil(need):,}", f"a larger {key}"
    raise AssertionError(which)


def _searched(task: SearchTask) -> ExactTask | ParityTask:
    assert isinstance(task, ExactTask | ParityTask)
    return task


def _dimensions(task: ExactTask | ParityTask, op: ContractOp) -> Dimensions:
    return dimensions_of(op.nest) if isinstance(task, ExactTask) else dimensions_of_layer(task.problem)


def _names(atoms: tuple[Atom, ...]) -> list[str]:
    """The dimensions that demands name."""
    return list(dict.fromkeys(name for atom in atoms for name in atom.names))
