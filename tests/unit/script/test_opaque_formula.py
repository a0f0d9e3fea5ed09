"""Formulas of opaque costs against Python's own arithmetic, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.frontends.script.opaque.formula import (
    MAX_BITS,
    MAX_DEPTH,
    MAX_EXPONENT,
    MAX_LENGTH,
    FormulaError,
    parse_formula,
)

SIZES: Mapping[str, int] = {"b": 3, "heads": 4, "m_2": 7, "_x": 1}


def _whole(rounded: Callable[[Fraction], int]) -> Callable[[Fraction], Fraction]:
    return lambda x: Fraction(rounded(x))


def _power(x: Fraction, n: int) -> Fraction:
    return Fraction(x**n)


OWN: Mapping[str, object] = {
    **{name: Fraction(size) for name, size in SIZES.items()},
    "max": max,
    "min": min,
    "ceil": _whole(ceil),
    "floor": _whole(floor),
    "pow": _power,
}
"""What Python has for the names of a formula; numbers are fractions, so that `/` is exact."""


def _listed(name: str, parts: Sequence[str]) -> str:
    return f"{name}({', '.join(parts)})"


def expressions() -> st.SearchStrategy[tuple[str, str]]:
    """A formula, and the same for Python, whose numbers are fractions."""
    numbers = st.integers(0, 99).map(lambda n: (str(n), f"F({n})"))
    decimals = st.tuples(st.integers(0, 9), st.integers(0, 99)).map(lambda p: f"{p[0]}.{p[1]}")
    leaves = numbers | decimals.map(lambda t: (t, f"F('{t}')")) | st.sampled_from([*SIZES]).map(lambda n: (n, n))

    def extend(inner: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
        joined = st.tuples(inner, st.sampled_from(["+", " - ", "*", " / ", "//"]), inner)
        calls = st.tuples(st.sampled_from(["max", "min"]), st.lists(inner, min_size=2, max_size=3))
        ones = st.tuples(st.sampled_from(["ceil", "floor"]), inner)
        return (
            joined.map(lambda p: (f"{p[0][0]}{p[1]}{p[2][0]}", f"{p[0][1]}{p[1]}{p[2][1]}"))
            | inner.map(lambda p: (f"( {p[0]} )", f"({p[1]})"))
            | inner.map(lambda p: (f"-({p[0]})", f"-({p[1]})"))
            | calls.map(lambda p: (_listed(p[0], [a for a, _ in p[1]]), _listed(p[0], [b for _, b in p[1]])))
            | ones.map(lambda p: (f"{p[0]}({p[1][0]})", f"{p[0]}({p[1][1]})"))
            | st.tuples(inner, st.integers(0, 3)).map(lambda p: (f"pow({p[0][0]}, {p[1]})", f"pow({p[0][1]}, {p[1]})"))
        )

    return st.recursive(leaves, extend, max_leaves=8)


@given(pair=expressions())
def test_a_formula_is_what_python_computes(pair: tuple[str, str]) -> None:
    text, python = pair
    try:
        expected = Fraction(eval(python, {"__builtins__": {}, "F": Fraction, **OWN}))
    except ZeroDivisionError:
        with pytest.raises(FormulaError, match="divides by 0"):
            parse_formula(text).value(SIZES)
        return
    found = _value_or_error(text)
    if isinstance(found, FormulaError):
        assert f"more than {MAX_BITS} binary digits" in found.message
    else:
        assert found == expected


def _value_or_error(text: str) -> Fraction | FormulaError:
    try:
        return parse_formula(text).value(SIZES)
    except FormulaError as error:
        return error


@given(text=st.text("ab1290.+-*/(), _maxpowceil\n\"'[]{}:;=!é", max_size=60))
def test_any_text_is_a_formula_or_refused_with_a_place(text: str) -> None:
    found = _value_or_error(text)
    assert not isinstance(found, FormulaError) or 0 <= found.at <= len(text)


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ("", "found the end, expected a number, a name or '('", 0),
        ("b * ", "found the end, expected a number", 3),
        ("b heads", "found heads, expected an operator or the end", 2),
        ("b ** 2", "found **, expected an operator", 2),
        ("(b", "found the end, expected ')'", 2),
        ("sin(b)", "found the function 'sin', expected one of max, min, ceil, floor, pow", 0),
        ("pow(b)", "pow takes 2 arguments, found 1", 0),
        ("ceil(b, 2)", "ceil takes 1 argument, found 2", 0),
        ("b; b", "found ';', expected a number, a name or an operator", 1),
        ("__import__('os')", 'found "\'", expected', 11),
        ("b.heads", "found '.', expected", 1),
        ("1" * (MAX_LENGTH + 1), "characters, expected at most", 0),
        ("(" * (MAX_DEPTH + 1) + "b" + ")" * (MAX_DEPTH + 1), "nested deeper than", MAX_DEPTH),
        ("-" * (MAX_DEPTH + 1) + "b", "nested deeper than", MAX_DEPTH),
        ("9" * 100, "binary digits", 0),
    ],
)
def test_what_is_no_formula_is_refused_at_its_place(text: str, message: str, at: int) -> None:
    with pytest.raises(FormulaError) as caught:
        parse_formula(text)
    assert message in caught.value.message
    assert caught.value.at == at


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b * headz", "unknown name 'headz'"),
        ("b / (heads - 4)", "divides by 0"),
        ("b // 0", "divides by 0"),
        (f"pow(b, {MAX_EXPONENT + 1})", "expected a whole number from 0"),
        ("pow(b, 1/2)", "found the exponent 1/2"),
        ("pow(pow(b, 32), 32)", "binary digits"),
        ("*".join(["pow(m_2, 32)"] * 90), "binary digits"),
    ],
)
def test_a_formula_without_a_value_says_why(text: str, message: str) -> None:
    with pytest.raises(FormulaError, match=message.replace("(", r"\(").replace("*", r"\*")):
        parse_formula(text).value(SIZES)


def test_a_long_sum_is_no_deep_one() -> None:
    assert parse_formula("+".join(["1"] * 900)).value({}) == 900
    assert parse_formula("b*heads + b").names == ("b", "heads")
