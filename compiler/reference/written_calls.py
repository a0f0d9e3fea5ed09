"""
Which functions of the language the meaning of an operator writes, found in its source.

A meaning writes `c.call("relu", x)` or `c.let(…)`. Names that are no literal are followed: through parameters of
helpers, what a closure or `partial` holds, branches, loops over literals, and f-strings.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import product
from typing import Any

from npuc.compiler.layers import get_functions
from npuc.frontends.dsl.blocks import library_names

_WRITES = {"call": 0, "let": 0, "several": 1}
"""The methods that write a call, and which argument names the function."""
_UNKNOWN = object()
_MOST = 64
"""The most values that a name is followed through."""
Values = tuple[Any, ...]
Names = dict[str, Values]


@cache
def known_functions() -> frozenset[str]:
    """The functions and library blocks of the language."""
    return frozenset({*get_functions(), *library_names()})


def written_functions(meaning: Callable[..., Any]) -> list[str]:
    """The functions that a meaning writes in some case, in the order of its source."""
    found: dict[str, None] = {}
    _Walk(found, set()).function(meaning, {})
    return list(found)


@cache
def _definitions(file: str) -> Mapping[int, ast.FunctionDef]:
    """The functions of a file by their first lines, which may be those of decorators."""
    with open(file, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {min([node.lineno, *(one.lineno for one in node.decorator_list)]): node for node in functions}


def _tree(function: Callable[..., Any]) -> ast.FunctionDef | None:
    code = function.__code__
    if code.co_filename.startswith("<"):  # methods that a decorator made
        return None
    return _definitions(code.co_filename).get(code.co_firstlineno)


class _Walk:
    """One walk over a meaning and the helpers that it calls."""

    def __init__(self, found: dict[str, None], seen: set[tuple[object, ...]]):
        self.found = found
        self.seen = seen

    def function(self, function: Callable[..., Any], given: Names) -> None:
        """A function, with what is known of its parameters."""
        if isinstance(function, partial):
            bound = dict(zip(inspect.signature(function.func).parameters, function.args, strict=False))
            known = {name: (value,) for name, value in {**bound, **function.keywords}.items()}
            self.function(function.func, {**known, **given})
            return
        if isinstance(function, type):  # a helper with methods, of which any may write
            for method in vars(function).values():
                if inspect.isfunction(method):
                    self.function(method, {})
            return
        if not inspect.isfunction(function):
            return
        key = (function, tuple(sorted((name, repr(values)) for name, values in given.items())))
        if key in self.seen or not function.__module__.startswith("npuc.frontends"):
            return
        tree = _tree(function)
        if tree is None:
            return
        self.seen.add(key)
        defaults = {
            name: (one.default,)
            for name, one in inspect.signature(function).parameters.items()
            if _is_literal(one.default)
        }
        outer = {name: (value,) for name, value in inspect.getclosurevars(function).nonlocals.items()}
        self.body(tree, {**outer, **defaults, **given}, function.__globals__, _varied(tree))

    def body(self, tree: ast.AST, names: Names, scope: Mapping[str, Any], varied: Mapping[str, list[ast.expr]]) -> None:
        for name, values in varied.items():
            found = [one for value in values for one in self.values(value, names, scope)]
            names[name] = tuple([*names.get(name, ()), *found][:_MOST])
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self.call(node, names, scope)

    def call(self, node: ast.Call, names: Names, scope: Mapping[str, Any]) -> None:
        """A call of a method that writes, or of a helper."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in _WRITES:
            place = _WRITES[node.func.attr]
            if place < len(node.args):
                for value in self.values(node.args[place], names, scope):
                    if isinstance(value, str) and value in known_functions():
                        self.found[value] = None
        elif isinstance(node.func, ast.Name):
            for helper in self.values(node.func, names, scope):
                if callable(helper) and getattr(helper, "__module__", "").startswith("npuc.frontends"):
                    self.helper(helper, node, names, scope)

    def helper(self, helper: Callable[..., Any], node: ast.Call, names: Names, scope: Mapping[str, Any]) -> None:
        try:
            parameters = list(inspect.signature(helper).parameters)
        except (TypeError, ValueError):
            return
        pairs = [*zip(parameters, node.args, strict=False), *((word.arg, word.value) for word in node.keywords)]
        given: Names = {}
        for name, value in pairs:
            found = tuple(one for one in self.values(value, names, scope) if _is_literal(one))
            if name is not None and found:
                given[name] = found
        self.function(helper, given)

    def values(self, node: ast.expr, names: Names, scope: Mapping[str, Any]) -> Iterator[Any]:
        """What an expression may be, as far as it is made of literals."""
        match node:
            case ast.Constant():
                yield node.value
            case ast.Name():
                yield from names[node.id] if node.id in names else (scope[node.id],) if node.id in scope else ()
            case ast.IfExp():
                yield from self.values(node.body, names, scope)
                yield from self.values(node.orelse, names, scope)
            case ast.Tuple() | ast.List():
                parts = [list(self.values(one, names, scope)) or [_UNKNOWN] for one in node.elts]
                yield from (tuple(one) for one, _ in zip(product(*parts), range(_MOST), strict=False))
            case ast.JoinedStr():
                parts = [list(self.values(one, names, scope)) for one in node.values]
                yield from ("".join(map(str, one)) for one, _ in zip(product(*parts), range(_MOST), strict=False))
            case ast.FormattedValue():  # what is not known is a number of axes
                yield from list(self.values(node.value, names, scope)) or (1, 2, 3)
            case ast.Subscript():
                for whole in self.values(node.value, names, scope):
                    keys = list(self.values(node.slice, names, scope))
                    if isinstance(whole, Mapping):
                        yield from [whole[key] for key in keys if key in whole] or whole.values()
                    elif isinstance(whole, tuple):
                        yield from whole
            case _:
                return


def _is_literal(value: object) -> bool:
    return isinstance(value, str | int | float | tuple)


def _varied(tree: ast.AST) -> dict[str, list[ast.expr]]:
    """The names that statements and comprehensions give values, each with the expressions of these."""
    found: dict[str, list[ast.expr]] = {}

    def give(target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            found.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple):
            for branch in _branches(value):
                if isinstance(branch, ast.Tuple) and len(branch.elts) == len(target.elts):
                    for one, part in zip(target.elts, branch.elts, strict=True):
                        give(one, part)

    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                give(target, node.value)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Tuple | ast.List):
            for item in node.iter.elts:
                give(node.target, item)
    return found


def _branches(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.IfExp):
        yield from _branches(node.body)
        yield from _branches(node.orelse)
    else:
        yield node
