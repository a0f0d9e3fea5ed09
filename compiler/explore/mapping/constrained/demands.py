"""The constraints of every contraction of a program, whether they can be met, and what to say where they cannot."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from npuc.compiler.analysis.mapping.constraints.resolve import (
    Dimensions,
    constraints_of,
    dimensions_of,
    dimensions_of_layer,
)
from npuc.compiler.analysis.mapping.constraints.rules import DIVISORS, RULES, Atom, MapRules, rules_of
from npuc.compiler.analysis.mapping.constraints.words import ROLES
from npuc.compiler.core.errors import CapacityError, Location, UsageError, either
from npuc.compiler.core.options import Options
from npuc.compiler.explore.mapping.constrained.possible import conflict, constrained, elements_of, is_possible
from npuc.compiler.explore.mapping.task import ExactTask, ParityTask, SearchTask
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of, role_of
from npuc.hardware import Hardware, text_of_hardware
from npuc.hardware.readers.toml_places import find_in_entry

T = TypeVar("T", bound=SearchTask)


def machine_rules(hardware: Hardware, options: Options) -> MapRules:
    """The constraints of the machine that `options` name, with their places in its file."""
    name, overrides = options.hardware, options.overrides
    if name is None or isinstance(name, Mapping) or RULES in overrides:
        name, text = "hardware override" if RULES in overrides else hardware.name, None
    else:
        name, text = os.fspath(name), text_of_hardware(name)
    return rules_of({key: hardware.get(key) or () for key in (RULES, DIVISORS)}, name, text)


@dataclass(frozen=True)
class Demands:
    """Rules for the mappings of a program's contractions; of each those count that are for it."""

    rules: MapRules

    def atoms(self, op: ContractOp, kind: str) -> tuple[Atom, ...]:
        """What is demanded of a contraction."""
        layer, phase = layer_of(op), role_of(op).value
        return tuple(atom for rule in self.rules.rules if rule.applies(layer, kind, phase) for atom in rule.atoms())

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
                hint = f"--levels {atom.level + 1}, or constraints of fewer levels"
                raise self._error(
                    UsageError, atom, f"level {atom.level + 1} of mappings that have {space.levels}", hint
                )
        own = constraints_of(atoms, dims, space.levels, elements_of(space), divisors=self.rules.divisors)
        found = constrained(space, own)
        if not is_possible(found, task.capacity):
            self._refuse(task, op, atoms)
        return replace(task, space=found)

    def _refuse(self, task: ExactTask | ParityTask, op: ContractOp, atoms: tuple[Atom, ...]) -> None:
        """Raise for constraints that cannot be met together; what no smallest set explains is left to the search."""
        space, divisors = task.space, self.rules.divisors
        found = conflict(atoms, _dimensions(task, op), space, task.capacity, divisors=divisors)
        if not found:
            return
        which = either([self._named(atom, found[0]) for atom in found], "and")
        whose = f"{layer_of(op) or 'a contraction'} ({role_of(op).value})"
        one = "can" if len(found) == 1 else "can together"
        raise self._error(
            CapacityError,
            found[0],
            f"{whose}: no mapping on {elements_of(space):,} elements {one} meet {which}",
            self._hint(task, op, found),
        )

    def _hint(self, task: ExactTask | ParityTask, op: ContractOp, found: tuple[Atom, ...]) -> str | None:
        """What would help against a conflict."""
        space, dims = task.space, _dimensions(task, op)

        def helps(other: ExactTask | ParityTask, *, divisors: bool) -> bool:
            return not conflict(found, dims, other.space, other.capacity, divisors=divisors)

        roomy = replace(task.capacity, l1=None, l2=None)
        if not conflict(found, dims, space, roomy, divisors=self.rules.divisors):
            return "the smallest tiles that they leave do not fit into the machine's buffers"
        if space.parallel < 3 and helps(replace(task, space=replace(space, parallel=3)), divisors=self.rules.divisors):
            return "--spread 2 or 3, so that a level may spread several dimensions"
        anything = replace(task, space=replace(space, divisors=False))
        if (space.divisors or self.rules.divisors) and helps(anything, divisors=False):
            return "--tiles any, where tiles need not divide a dimension" + (
                ", without constraints.divisors" if self.rules.divisors else ""
            )
        sizes = " ".join(f"{name} = {dims.size(name):,}" for name in _names(found) if dims.places(name))
        return f"the contraction has {sizes}" if sizes else None

    def _named(self, atom: Atom, first: Atom) -> str:
        """A demand in a message, with its place where that is not the message's own."""
        place = self._location(atom)
        own = self._location(first)
        if place is None or place == own:
            return f"{atom}"
        return f"{atom} ({place if own is None or own.file != place.file else f'line {place.line}'})"

    def _error(self, kind: type[CapacityError | UsageError], atom: Atom, text: str, hint: str | None) -> Exception:
        place, text_of_file = self._location(atom), atom.rule.place.text
        if place is None or text_of_file is None:
            return kind(f"{atom.rule.place.name}: {text}", hint=hint)
        return kind(text, location=place, hint=hint, source_line=text_of_file.split("\n")[place.line - 1])

    def _location(self, atom: Atom) -> Location | None:
        """Where a demand is written, as far as that is found."""
        place = atom.rule.place
        found = None if place.text is None else find_in_entry(place.text, RULES, place.number, atom.key)
        return None if found is None else Location(place.name, *found)

    def warnings(self, tasks: list[tuple[SearchTask, ContractOp]]) -> Iterator[str]:
        """Rules that are for no contraction, and own dimensions that none has."""
        used, known = set[int](), set[str]()
        for task, op in tasks:
            assert isinstance(task, ExactTask | ParityTask)
            dims = _dimensions(task, op)
            known |= dims.named.keys()
            used |= {id(atom.rule) for atom in self.atoms(op, dims.kind)}
        for rule in self.rules.rules:
            where = f"rule {rule.place.number + 1} of {rule.place.name}"
            if id(rule) not in used:
                yield f"{where} is for no contraction of this program"
                continue
            for name in _names(tuple(rule.atoms())):
                if name not in ROLES and name not in known:
                    yield f"{where}: no contraction has a dimension '{name}'"


def _dimensions(task: ExactTask | ParityTask, op: ContractOp) -> Dimensions:
    return dimensions_of(op.nest) if isinstance(task, ExactTask) else dimensions_of_layer(task.problem)


def _names(atoms: tuple[Atom, ...]) -> list[str]:
    """The dimensions that demands name."""
    return list(dict.fromkeys(name for atom in atoms for name in atom.names))
