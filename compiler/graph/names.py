"""
Layers folded by their names: `stage1.0.conv1` is part of `stage1.0`, and that of `stage1`.

Blocks side by side whose names differ in a number alone and whose forward work is alike are a run, and fold into one:
`encoder.0`, …, `encoder.11` are `encoder.0-11`, twelve times.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.numbers import integer_of
from npuc.compiler.graph.flow import Step
from npuc.compiler.graph.words import work_name

Path = tuple[str, ...]
Depth = int | Literal["auto", "ops", "layers"]
AUTO: Depth = "auto"
MOST_OPS, MOST_BOXES = 24, 40
"""What is drawn by itself: operations of a program of so few, layers and blocks of so many in a lane."""


def depth_of(text: str | None) -> Depth:
    """The depth that an option names. Raises `UsageError` for another text."""
    match text:
        case None | "auto":
            return "auto"
        case "ops":
            return "ops"
        case "layers":
            return "layers"
        case _:
            number = integer_of(text, 4)
            if number is None or number < 1:
                raise UsageError(
                    f"--depth {text}: expected auto, ops, layers or a number from 1",
                    hint="--depth 2 folds stage1.0.conv1 into stage1.0",
                )
            return number


@dataclass(frozen=True)
class Run:
    """Like blocks that are drawn as one: how many, and the names of the first and the last."""

    count: int
    first: str
    last: str


@dataclass
class Names:
    """The path of each step, in order; and of which runs a path is, by the path up to there."""

    paths: list[Path]
    runs: dict[Path, Run] = field(default_factory=dict[Path, Run])

    def at(self, depth: int) -> list[Path]:
        """The paths cut to so many names."""
        return [path[:depth] for path in self.paths]

    @property
    def deepest(self) -> int:
        """The names of the longest path."""
        return max(map(len, self.paths), default=1)


def names_of(steps: Sequence[Step]) -> Names:
    """The names of steps as they are; an update belongs to the layer of its parameter, or to the block that has it."""
    known: set[Path] = set()
    for step in steps:
        if step.lane != "update" and step.layer:
            path = tuple(step.layer.split("."))
            known.update(path[:n] for n in range(1, len(path) + 1))
    return Names([_path(step, known) for step in steps])


def _path(step: Step, known: set[Path]) -> Path:
    if not step.layer:
        return (work_name(step.op),)
    path = tuple(step.layer.split("."))
    if step.lane != "update":
        return path
    return next((path[:n] for n in range(len(path) - 1, 0, -1) if path[:n] in known), path)


def with_runs(names: Names, steps: Sequence[Step]) -> Names:
    """The names with runs of like blocks as one."""
    tree = _Tree()
    for path, step in zip(names.paths, steps, strict=True):
        tree.add(path, step)
    renamed: dict[Path, Path] = {(): ()}
    runs: dict[Path, Run] = {}
    _fold(tree, (), (), renamed, runs)
    return Names([renamed[path] for path in names.paths], runs)


@dataclass
class _Tree:
    """The blocks of a block in the order of the program, and the steps that are in none of them."""

    blocks: dict[str, _Tree] = field(default_factory=dict[str, "_Tree"])
    own: list[Step] = field(default_factory=list[Step])

    def add(self, path: Path, step: Step) -> None:
        if not path:
            self.own.append(step)
        else:
            self.blocks.setdefault(path[0], _Tree()).add(path[1:], step)

    def signature(self, *, forward: bool) -> list[Hashable]:
        """What the block computes: the work of each step with the types that it reads and makes."""
        found: list[Hashable] = [
            (work_name(s.op), tuple(v.type for v in s.op.operands), tuple(v.type for v in s.op.results))
            for s in self.own
            if s.lane == "forward" or not forward
        ]
        for name, block in self.blocks.items():
            found += [(name, one) for one in block.signature(forward=forward)]
        return found

    def meaning(self) -> tuple[Hashable, ...]:
        """By which blocks are alike: their forward work, all work where they have none."""
        return tuple(self.signature(forward=True) or self.signature(forward=False))


def _fold(tree: _Tree, path: Path, new: Path, renamed: dict[Path, Path], runs: dict[Path, Run]) -> None:
    for names in _runs(tree):
        label = _label(names)
        if len(names) > 1:
            runs[(*new, label)] = Run(len(names), ".".join((*path, names[0])), ".".join((*path, names[-1])))
        for name in names:
            renamed[*path, name] = (*new, label)
            _fold(tree.blocks[name], (*path, name), (*new, label), renamed, runs)


def _runs(tree: _Tree) -> list[list[str]]:
    found: list[list[str]] = []
    before: tuple[object, object] | None = None
    for name, block in tree.blocks.items():
        mark = (_template(name), block.meaning()) if any(c.isdigit() for c in name) else None
        if mark is not None and mark == before:
            found[-1].append(name)
        else:
            found.append([name])
        before = mark
    return found


def _template(name: str) -> str:
    """A name without its last number."""
    before, _, after = _around_number(name)
    return f"{before}*{after}"


def _around_number(name: str) -> tuple[str, str, str]:
    """What stands before the last number of a name, the number, and what stands after it."""
    found = re.fullmatch(r"(.*?)(\d+)(\D*)", name)
    return ("", "", name) if found is None else (found[1], found[2], found[3])


def _label(names: list[str]) -> str:
    """`0-11` for the names 0 to 11, in their order."""
    if len(names) == 1:
        return names[0]
    before, first, after = _around_number(names[0])
    return f"{before}{first}-{_around_number(names[-1])[1]}{after}"
