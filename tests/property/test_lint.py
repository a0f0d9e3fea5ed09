"""What lint claims holds in every execution: conditions that never hold, values that nothing reads or needs."""

import itertools
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.core.errors import NpucError
from npuc.frontends.dsl.arithmetic import combine
from npuc.frontends.dsl.lint import lint_source
from npuc.frontends.dsl.lint.conditions import never
from npuc.frontends.dsl.syntax import (
    Assignment,
    Definition,
    Expr,
    For,
    If,
    Literal,
    Logical,
    Name,
    Operation,
    Return,
    Statement,
    Unary,
    walk,
)
from npuc.frontends.dsl.syntax.parser import parse
from npuc.frontends.dsl.values import Fault, Value
from npuc.frontends.source_text import Diagnostics, SourceText
from tests.programs import Drawn, layout

SEEDS = st.integers(0, 2**32)
VALUES: tuple[Value, ...] = (0, 1, 2, 3, 0.5, 1.5, "a", "b", True, False, None)


def definition_of(text: str) -> Definition:
    diagnostics = Diagnostics()
    (found,) = parse(SourceText(text, "f"), diagnostics).definitions
    diagnostics.raise_if_any()
    return found


# ---- conditions


def condition(random: Random, depth: int = 3) -> str:
    kind = random.choice(["not", "and", "or", "and", "or"]) if depth and random.random() < 0.7 else "atom"
    match kind:
        case "not":
            return f"not ({condition(random, depth - 1)})"
        case "and" | "or":
            parts = [f"({condition(random, depth - 1)})" for _ in range(random.randint(2, 3))]
            return f" {kind} ".join(parts)
        case _:
            names = ["n", "k"]
            if random.random() < 0.15:
                return random.choice([*names, "true", "false"])
            other = random.choice([*names, "1", "2", "1.5", "1", "2", '"a"', "true", "none"])
            sides = [random.choice(names), other]
            random.shuffle(sides)
            return f" {random.choice(['==', '!=', '<', '<=', '>', '>='])} ".join(sides)


def evaluate(expr: Expr, values: dict[str, Value]) -> Value:
    match expr:
        case Literal():
            return expr.value
        case Name():
            return values[expr.text]
        case Unary(operator="not"):
            return not truth(expr.operand, values)
        case Logical():
            parts = (truth(part, values) for part in expr.parts)
            return any(parts) if expr.word == "or" else all(parts)
        case Operation():
            ((symbol, _, operand),) = expr.rest
            return combine(symbol, evaluate(expr.first, values), evaluate(operand, values))
        case _:
            raise AssertionError(expr)


def truth(expr: Expr, values: dict[str, Value]) -> bool:
    value = evaluate(expr, values)
    if not isinstance(value, bool):
        raise Fault("no condition")
    return value


@given(SEEDS)
@settings(max_examples=400)
def test_conditions_that_never_hold(seed: int) -> None:
    text = condition(Random(seed))
    branch = definition_of(f"block f(n, k) {{ if {text} {{ return n }} return k }}").body[0]
    assert isinstance(branch, If)
    ((expr, _),) = branch.cases
    claims = {holds: never((expr, holds)) for holds in (True, False)}
    for n, k in itertools.product(VALUES, repeat=2):
        try:
            found = truth(expr, {"n": n, "k": k})
        except Fault:
            continue
        assert not claims[found], f"{text} is {found} for {n!r}, {k!r}"


def test_the_conditions_that_are_drawn_decide_something() -> None:
    decided = 0
    for seed in range(300):
        branch = definition_of(f"block f(n, k) {{ if {condition(Random(seed))} {{ return n }} return k }}").body[0]
        assert isinstance(branch, If)
        decided += any(never((branch.cases[0][0], holds)) for holds in (True, False))
    assert 20 < decided < 280


# ---- values


def body(random: Random, depth: int) -> str:
    return "\n".join(statement(random, depth) for _ in range(random.randint(1, 4)))


def statement(random: Random, depth: int) -> str:
    names = ["a", "b", "c", "x"]
    value = " + ".join(random.sample(names, random.randint(1, 2)))
    match random.choice(["=", "=", "=", "two", "if", "else", "for", "return"]) if depth else "=":
        case "two":
            return f"{random.choice(names)}, {random.choice(names)} = [{value}, {random.choice(names)}]"
        case "if":
            return f"if {random.choice(names)} {{\n{body(random, depth - 1)}\n}}"
        case "else":
            return f"if q {{\n{body(random, depth - 1)}\n}} else {{\n{body(random, depth - 1)}\n}}"
        case "for":
            return f"for i in 0..n {{\n{body(random, depth - 1)}\n}}"
        case "return" if random.random() < 0.3:
            return f"return {value}"
        case _:
            return f"{random.choice(names)} = {value}"


class Execution:
    """
    One run of a block with random branches and iterations.

    A value is the set of assignments that it stems from. `read` are the assignments whose values were read, `needed`
    those that a condition or the result stems from.
    """

    def __init__(self, random: Random):
        self.random = random
        self.variables: dict[str, tuple[int, frozenset[int]]] = {}
        self.read: set[int] = set()
        self.needed: set[int] = set()

    def value(self, *nodes: Expr) -> frozenset[int]:
        stems = frozenset[int]()
        for node in walk(*nodes):
            if isinstance(node, Name) and node.text in self.variables:
                maker, before = self.variables[node.text]
                self.read.add(maker)
                stems |= before | {maker}
        return stems

    def run(self, statements: tuple[Statement, ...]) -> bool:
        """Run statements; true if they returned."""
        for one in statements:
            match one:
                case Assignment():
                    stems = self.value(one.value)
                    for target in one.targets:
                        self.variables[target.text] = (id(one), stems)
                case Return():
                    self.needed |= self.value(*one.values)
                    return True
                case If():
                    ((test, chosen),) = one.cases
                    self.needed |= self.value(test)
                    if self.run(chosen if self.random.random() < 0.5 else one.otherwise):
                        return True
                case For():
                    for _ in range(self.random.randint(0, 3)):
                        if self.run(one.body):
                            return True
                case _:
                    raise AssertionError(one)
        return False


@given(SEEDS)
@settings(max_examples=150)
def test_values_that_nothing_reads_or_needs(seed: int) -> None:
    random = Random(seed)
    text = f"block f(x, a, n, q) {{\n{body(random, 3)}\nreturn {random.choice('abx')}\n}}"
    definition = definition_of(text)
    rules = ["unused-value", "overwritten-value", "unneeded-value"]
    found = {(f.location.line, f.location.col): f.rule for f in lint_source(text, "f", rules=rules)}
    claimed = {
        id(node): found.get((node.at.line, node.at.col))
        for node in walk(*definition.body)
        if isinstance(node, Assignment)
    }
    for _ in range(30):
        execution = Execution(random)
        execution.run(definition.body)
        assert {claimed.get(one) for one in execution.read} <= {None, "unneeded-value"}, text
        assert {claimed.get(one) for one in execution.needed} <= {None}, text


def test_the_bodies_that_are_drawn_have_findings() -> None:
    seen: set[str] = set()
    for seed in range(40):
        random = Random(seed)
        text = f"block f(x, a, n, q) {{\n{body(random, 3)}\nreturn {random.choice('abx')}\n}}"
        seen |= {finding.rule for finding in lint_source(text, "f")}
    assert {"unused-value", "overwritten-value", "unneeded-value", "unreachable"} <= seen


@given(SEEDS)
@settings(max_examples=100)
def test_any_program_is_judged_or_refused(seed: int) -> None:
    random = Random(seed)
    text = layout(Drawn(random).program(), random)
    for one in (text, text.replace("network ", "block ")):
        try:
            findings = lint_source(one, "f")
        except NpucError:
            continue
        assert all(finding.render().startswith("f:") for finding in findings)


@pytest.mark.parametrize("text", ["if x { }", "for i in 0..3 { }", "return x"])
def test_bodies_without_statements(text: str) -> None:
    assert [f.rule for f in lint_source(f"block f(x) {{ {text} }}", "f")] == []
