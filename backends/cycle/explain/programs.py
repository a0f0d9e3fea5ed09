"""The cost of a layer's backward pass as other programs, and why one of them was chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from npuc.backends.cycle.explain.certified import HEADING
from npuc.backends.cycle.explain.explanation import Explanation, ProgramCost
from npuc.backends.cycle.facts import InterleavedFacts
from npuc.compiler.report import OpRow

BACKWARD = ("dx", "dw", "dxdw")
MEASURES = {"time": "cycles", "traffic": "bytes", "energy": "joules", "edp": "joule cycles"}


@dataclass(frozen=True)
class Candidate:
    """A program of the products: its name, and the rows of the products in it."""

    name: str
    rows: tuple[OpRow, ...]

    @property
    def cycles(self) -> int:
        """The time of all its products."""
        return int(sum(row.cycles or 0 for row in self.rows))

    @property
    def compute(self) -> int:
        """Cycles in which the array works."""
        return int(sum(row.compute_cycles or 0 for row in self.rows))

    @property
    def moved(self) -> int:
        """Bytes between DRAM and scratchpad."""
        return sum((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0) for row in self.rows)

    @property
    def shared(self) -> int:
        """Bytes read of dY, which both products use."""
        return sum(t.read_bytes for row in self.rows for name, t in row.tensors.items() if name.startswith("dY"))

    def score(self, objective: str) -> float:
        """The value of the objective."""
        if objective == "traffic":
            return self.moved
        joules = sum(row.energy_j or 0.0 for row in self.rows)
        return joules if objective == "energy" else self.cycles * joules if objective == "edp" else self.cycles

    @property
    def orders(self) -> str:
        """The order of the loops of each nest."""
        found: list[str] = []
        for row in self.rows:
            several = InterleavedFacts.found_in(row)
            if several is not None:
                found += [" ".join(re.findall(r"(\w+) :", text)) for text in several.schedules]
            elif row.schedule is not None:
                found.append(" ".join(row.schedule.order))
        return "; ".join(order or "-" for order in found)


def backward_products(rows: Sequence[OpRow]) -> tuple[OpRow, ...]:
    """The rows of dX and dW of a layer if it has both, else none."""
    found = tuple(row for row in rows if row.kind == "matrix" and row.phase in BACKWARD)
    phases = {row.phase for row in found}
    return found if "dxdw" in phases or {"dx", "dw"} <= phases else ()


def compare(
    layer: str, taken: Candidate, others: Sequence[Candidate], objective: str, certified: str | None = None
) -> Explanation:
    """The candidates side by side; `taken` is the compiled program, `certified` its certificate in words."""
    known = [c for c in others if (c.cycles, c.moved) == (taken.cycles, taken.moved)]
    programs = [*others] if known else [*others, taken]
    mark = known[0] if known else taken
    table: list[tuple[str, ...]] = [("program", "cycles", "of them array", "DRAM bytes", "of dY", "orders")]
    for program in programs:
        name = f"{'>' if program is mark else ' '} {program.name}"
        numbers = (program.cycles, program.compute, program.moved, program.shared)
        table.append((name, *(f"{n:,}" for n in numbers), program.orders))
    facts = [("taken", f"{mark.name}: {_why(mark, programs, objective)}")]
    if certified is not None:
        facts.append((HEADING, certified))
    costs = tuple(ProgramCost(one.name, one.cycles, one.compute, one.moved, one is mark) for one in programs)
    return Explanation(f"{layer}: programs of dX and dW", tuple(facts), tuple(table), None, programs=costs)


def _why(mark: Candidate, programs: Sequence[Candidate], objective: str) -> str:
    """How the chosen program compares in the objective, and the advantage of the others."""
    own, others = mark.score(objective), [p for p in programs if p is not mark]
    best = min(others, key=lambda p: p.score(objective))
    measure = MEASURES.get(objective, "cycles")
    if own > best.score(objective):
        return f"{own / best.score(objective):.3f}x the {measure} of {best.name}, which -O3 would take"
    text = f"least {measure}"
    if best.score(objective) > own:
        text += f", {1 - own / best.score(objective):.1%} fewer than {best.name}"
    else:
        text += f", as many as {best.name}"
    leaner = min(programs, key=lambda p: p.moved)
    if leaner.moved < mark.moved and objective != "traffic":
        slower = "its array works longer" if leaner.compute > mark.compute else "it waits longer for data"
        text += f"; {leaner.name} moves {1 - leaner.moved / mark.moved:.1%} fewer bytes, but {slower}"
    return text
