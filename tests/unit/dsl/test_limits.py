"""Programs that would not end, or not soon, are refused with the line of the loop that is to blame."""

import pytest

from npuc.compiler.core.errors import NpucError
from npuc.compiler.core.options import MAX_OPS
from npuc.frontends import read_source
from npuc.frontends.dsl import budget

FEW = 100
HINT = "--max-ops raises the limit"


def refusal(body: str, blocks: str = "", max_ops: int = FEW) -> str:
    """`LINE: message` of the one error of a network whose statements begin in line 1, after that of its blocks."""
    text = f"network n() {{ input x: f32[2, 8]; h = x; \n{body}\nloss dot_loss(h, h) }}\n{blocks}"
    with pytest.raises(NpucError) as caught:
        read_source(text, filename="f", max_ops=max_ops)
    error = caught.value
    assert error.location is not None
    hint = "" if error.hint in (None, HINT) else f" | {error.hint}"
    return f"{error.location.line - 1}: {error.message}{hint}"


def too_many(line: int, trips: int | None) -> str:
    loop = "" if trips is None else f" (this loop has {trips:,} iterations)"
    return f"{line}: the network has more than {FEW} operations{loop}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for i in 0..10 ** 15 { h = relu(h) }", too_many(1, 10**15)),
        ("for i in 0..10 {\nfor j in 0..1000 {\nfor k in 0..20 { h = relu(h) } } }", too_many(2, 1000)),
        ("for i in 0..10 {\nfor j in 0..10 {\nfor k in 0..10 { h = relu(h) } } }", too_many(1, 10)),
        ("a = [1, 2, 3]\nfor i in a { for j in a { for k in a { for l in a { for m in a { h = h * m } } } } }",
            too_many(2, 3)),
        ("for i in 0..10 ** 9 { if i % 2 == 0 { h = relu(h) } else { h = h + 1 } }", too_many(1, 10**9)),
        ("for i in 0..10 ** 9 { g = relu(h) }", too_many(1, 10**9)),
        ("for i in 0..10 ** 9 {\nloss dot_loss(h, h) }", too_many(1, 10**9)),
        ("for i in 0..10 ** 9 { w = param([8]); v = w }", too_many(1, 10**9)),
        ("for i in 0..10 ** 9 { h = linear(h, 8) }", too_many(1, 10**9)),
        ("a = relu(x)\n" + "; ".join(["h = relu(h)"] * FEW), too_many(2, None)),
    ],
)  # fmt: skip
def test_operations(body: str, expected: str) -> None:
    assert refusal(body) == expected


@pytest.mark.parametrize(
    ("body", "blocks", "expected"),
    [
        ("h = f(h)", "block f(x) { for i in 0..10 ** 9 { x = relu(x) }; return x }", too_many(3, 10**9)),
        ("for i in 0..10 ** 9 { h = f(h) }", "block f(x) { for i in 0..7 { x = relu(x) }; return x }",
            too_many(1, 10**9)),
        ("h = g(h)", "block f(x) { for i in 0..20 { x = relu(x) }; return x }\n"
            "block g(x) { for i in 0..30 { x = f(x) }; return x }", too_many(4, 30)),
        ("h = gru(expand(unsqueeze(x, 1), [2, 1000, 8]), 4)", "", too_many(1, None)),
    ],
)  # fmt: skip
def test_operations_of_blocks(body: str, blocks: str, expected: str) -> None:
    assert refusal(body, blocks) == expected


def test_blocks_that_double() -> None:
    doubling = (f"block f{n}(x) {{ return f{n - 1}(f{n - 1}(x)) }}" for n in range(1, 20))
    assert refusal("h = f19(h)", "block f0(x) { return relu(x) }\n" + "\n".join(doubling)) == too_many(3, None)


@pytest.mark.parametrize("call", ["unbind(y)", "split(y, 2, axis=0)"])
def test_parts_of_a_tensor_count_before_they_are_made(call: str) -> None:
    text = f"network n() {{ input y: f32[1000000000, 4]; h = {call}; loss dot_loss(h[0], h[1]) }}"
    with pytest.raises(NpucError, match="the network has more than 200,000 operations"):
        read_source(text, filename="f")


@pytest.mark.parametrize(
    ("body", "line", "trips"),
    [
        ("for i in 0..10 ** 15 { }", 1, 10**15),
        ("for i in 0 - 2 ** 62..2 ** 62 { }", 1, 2**63),
        ("for i in 0..100 {\nfor j in 0..1000 {\nfor k in 0..100 { } } }", 2, 1000),
        ("for i in 0..10 ** 12 {\nfor j in 0..10 ** 15 { } }", 2, 10**15),
        ("n = 0\nfor i in 0..10 ** 15 { n = n + max(1, 2) }", 2, 10**15),
        ("for i in 0..1000 { n = " + "1 + " * 400 + "1 }", 1, 1000),
        ("a = [1, 2, 3, 4, 5, 6, 7, 8]\nfor i in a { for j in a { for k in a { for l in a { for m in a { for n in a { }"
            " } } } } }", 2, 8),
    ],
)  # fmt: skip
def test_steps(monkeypatch: pytest.MonkeyPatch, body: str, line: int, trips: int) -> None:
    monkeypatch.setattr(budget, "STEPS_PER_OP", 1)
    message = f"the program takes more than 200,000 steps to build (this loop has {trips:,} iterations)"
    assert refusal(body) == f"{line}: {message}"


def test_more_operations_may_take_more_steps() -> None:
    assert budget.max_steps(FEW) == budget.max_steps(MAX_OPS) == 25 * MAX_OPS
    assert budget.max_steps(10 * MAX_OPS) == 10 * budget.max_steps(MAX_OPS)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = [1]\nfor i in 0..10 ** 6 { a = a + a }", "2: found a list of 16,384 values, the limit is 10,000"),
        ("a = [1]\nfor i in 0..10 ** 6 { a = a + [i] }", "2: found a list of 10,001 values, the limit is 10,000"),
        ("a = [1]\nfor i in 0..10 ** 6 { a = [a, a] }", "2: found a list of 12,286 values, the limit is 10,000"),
        ("a = [1]\nfor i in 0..10 ** 6 { a = [a] }", "2: found lists in lists more than 32 deep"),
        ("a = [1]\nfor i in 0..10 ** 6 { a = a + [a] }", "2: found a list of 16,383 values, the limit is 10,000"),
    ],
)
def test_lists(body: str, expected: str) -> None:
    assert refusal(body) == expected


def test_what_stays_in_the_limits() -> None:
    body = "for i in 0..98 { h = relu(h) }"
    text = f"network n() {{ input x: f32[2]; h = x; {body}; a = x * 2; loss dot_loss(h, a) }}"
    read_source(text, max_ops=FEW)
    with pytest.raises(NpucError):
        read_source(text, max_ops=FEW - 1)
