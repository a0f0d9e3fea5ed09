"""Whether two forward graphs are the same program."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.dialects.provenance import SOURCE, layer_of

_PLACES = frozenset({"loc", SOURCE})
_INPUT = "train.input"


def difference(one: ModuleOp, other: ModuleOp) -> str | None:
    """
    The first way in which two forward graphs of one function differ; None if they are the same program.

    Places in the source and the order of arguments do not count, nor do the names of inputs.
    """
    (first,), (second,) = (list(module.body.block.ops) for module in (one, other))
    assert isinstance(first, FuncOp)
    assert isinstance(second, FuncOp)
    values: dict[SSAValue, SSAValue] = {}
    problem = _match_arguments(first, second, values)
    if problem is not None:
        return problem
    if dict(first.attributes) != dict(second.attributes):
        return "the functions have other attributes"
    mine, others = list(first.body.block.ops), list(second.body.block.ops)
    for a, b in zip(mine, others, strict=False):
        if not _is_same(a, b, values):
            return f"found {b.name} of layer '{layer_of(b)}' for {a.name} of layer '{layer_of(a)}'"
        values.update(zip(a.results, b.results, strict=True))
    return None if len(mine) == len(others) else f"found {len(others)} operations for {len(mine)}"


def _match_arguments(one: FuncOp, other: FuncOp, values: dict[SSAValue, SSAValue]) -> str | None:
    mine, others = _arguments(one), _arguments(other)
    if mine.keys() != others.keys():
        odd = sorted(mine.keys() ^ others.keys(), key=str)
        return f"only one has the argument {odd[0][1]}"
    for key, (value, facts) in mine.items():
        found, other_facts = others[key]
        if value.type != found.type or facts != other_facts:
            return f"the argument {key[1]} differs"
        values[value] = found
    return None


def _arguments(function: FuncOp) -> dict[tuple[str, str | int], tuple[SSAValue, object]]:
    """The arguments by their kind and name, inputs by their number, with all else that is said of them."""
    found: dict[tuple[str, str | int], tuple[SSAValue, object]] = {}
    attrs = function.arg_attrs
    assert attrs is not None
    inputs = 0
    for value, facts in zip(function.body.block.args, attrs, strict=True):
        assert isinstance(facts, DictionaryAttr)
        kind, name = next((k, a.data) for k, a in facts.data.items() if isinstance(a, StringAttr))
        rest = {k: a for k, a in facts.data.items() if k != kind and k not in _PLACES}
        if kind == _INPUT:
            found[kind, inputs] = (value, rest)
            inputs += 1
        else:
            found[kind, name] = (value, rest)
    return found


def _is_same(a: Operation, b: Operation, values: Mapping[SSAValue, SSAValue]) -> bool:
    if type(a) is not type(b) or _facts(a) != _facts(b) or a.properties != b.properties:
        return False
    if [values.get(operand) for operand in a.operands] != list(b.operands):
        return False
    return [result.type for result in a.results] == [result.type for result in b.results]


def _facts(op: Operation) -> dict[str, Attribute]:
    return {name: attribute for name, attribute in op.attributes.items() if name not in _PLACES}
