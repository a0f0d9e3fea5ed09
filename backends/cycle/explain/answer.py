"""The answer of the backend to `npuc explain LAYER`: the operations of a layer, and the cost of other programs."""

from __future__ import annotations

from npuc.backends.base import Answer, Question
from npuc.backends.cycle.compat import is_compat
from npuc.backends.cycle.costed import costed_operations
from npuc.backends.cycle.explain.certified import certified_pair
from npuc.backends.cycle.explain.programs import BACKWARD, Candidate, backward_products, compare
from npuc.backends.cycle.explain.svg import to_svg
from npuc.backends.cycle.explain.text import to_text
from npuc.backends.cycle.explain.words import Explanation, explain
from npuc.compiler.analysis.machine.facts import machine_of

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
    return Answer(
        text=lambda width: "\n".join(to_text(explanation, width) for explanation in explanations),
        picture=lambda: to_svg(explanations),
    )


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
