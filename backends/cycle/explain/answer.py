"""The answer of the backend to `npuc explain LAYER`: the operations of a layer, and the cost of other programs."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.backends.base import Answer, Question
from npuc.backends.cycle.compat import is_compat
from npuc.backends.cycle.costed import costed_operations
from npuc.backends.cycle.explain.array_picture import draw_array
from npuc.backends.cycle.explain.certified import certified_pair
from npuc.backends.cycle.explain.explanation import Explanation
from npuc.backends.cycle.explain.filling import Filling
from npuc.backends.cycle.explain.fillings import fillings
from npuc.backends.cycle.explain.picture import draw
from npuc.backends.cycle.explain.programs import BACKWARD, Candidate, backward_products, compare
from npuc.backends.cycle.explain.text import to_text
from npuc.backends.cycle.explain.words import explain
from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.core.drawing.palette import PHASE_NAMES

PROGRAMS = (
    ("one after another", ""),
    ("in turn", "interleave{mode=zip objective=OBJECTIVE},"),
    ("one nest, published order", "interleave{mode=fused},rearrange{rule=published objective=OBJECTIVE},"),
    ("one nest, best order", "interleave{mode=fused objective=OBJECTIVE},"),
)
"""Alternative programs of a backward pass: a name, and the passes between lowering and scheduling."""


def answer(question: Question) -> Answer:
    """Text and picture of the operations that were asked for."""
    explanations = _explanations(question)

    def drawn(kind: str, view: str) -> bytes:
        machine = f"{question.report.source} on {question.hardware.name}, backend cycle"
        if view == "array":
            which = question.layer if question.phase is None else f"{question.layer} in phase {question.phase}"
            return draw_array(_fillings(question), kind, f"How {question.layer} fills the array", machine, which)
        return draw(explanations, kind, _title(question.layer, explanations), machine)

    return Answer(
        text=lambda width: "\n".join(to_text(explanation, width) for explanation in explanations),
        picture=drawn,
    )


def _title(layer: str, explanations: Sequence[Explanation]) -> str:
    """How long the operations take that are explained, and which of them most."""
    rows = [one.row for one in explanations if one.row is not None]
    cycles = sum(int(row.cycles or 0) * row.repeat for row in rows)
    most = max(rows, key=lambda row: int(row.cycles or 0) * row.repeat, default=None)
    if most is None or not cycles or len(rows) == 1:
        return f"Where {cycles:,} cycles of {layer} go"
    share = int(most.cycles or 0) * most.repeat / cycles
    return f"Where {cycles:,} cycles of {layer} go, {share:.0%} in {PHASE_NAMES[most.phase]}"


def _fillings(question: Question) -> list[tuple[str, Filling]]:
    """What the array does first in each operation, with the name of its phase."""
    machine = None if is_compat(question.hardware) else machine_of(question.module)
    ops = costed_operations(question.module)
    return [
        (PHASE_NAMES[row.phase], filling)
        for row in question.rows
        if question.phase in (None, row.phase)
        for filling in fillings(ops[row.index], row, machine, question.hardware)
    ]


def _explanations(question: Question) -> list[Explanation]:
    """The explanation of each operation; of a backward pass first how its programs compare."""
    machine = None if is_compat(question.hardware) else machine_of(question.module)
    ops = costed_operations(question.module)
    found = [explain(ops[row.index], row, machine) for row in question.rows if question.phase in (None, row.phase)]
    products = backward_products(question.rows)
    if machine is None or question.others is None or not products or question.phase not in (None, *BACKWARD):
        return found
    taken = Candidate("as compiled", products)
    others: list[Candidate] = []
    tolerance = question.report.tolerance
    goal = f"objective={question.objective}" + ("" if tolerance is None else f" tolerance={tolerance!r}")
    for name, passes in PROGRAMS:
        text = f"autodiff,lower-to-npu,{passes}schedule{{objective=OBJECTIVE}}"
        report = question.others(text.replace("objective=OBJECTIVE", goal))
        others.append(Candidate(name, backward_products(report.ops)))
    certified = certified_pair(question.report, products, machine)
    return [compare(question.layer, taken, others, question.objective, certified), *found]
