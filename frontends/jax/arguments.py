"""What the arguments and results of a function are: inputs, parameters, states of an optimizer, the loss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from npuc.frontends.jax.program import HloFunction, HloType
from npuc.frontends.jax.values import FlatOp, FlatProgram, HloValue, Operand, made_of
from npuc.frontends.script.weights import FLOATS

_KEY = re.compile(r"\[\'([^\']*)\'\]|\[\"([^\"]*)\"\]|\[(\d+)\]|\.?([A-Za-z_]\w*)")
PARAMETERS = ("params", "param", "weights", "variables", "model", "p")
"""Roots that name parameters, whatever else there is."""
COUNT = "step"
"""The count of steps, which random draws depend on."""


def keys_of(path: str) -> tuple[str, ...]:
    """The keys of a path as JAX writes it: `params['w1'][0].mu` is params, w1, 0, mu."""
    return tuple(next(filter(None, match.groups()), "") for match in _KEY.finditer(path))


@dataclass
class StepSignature:
    """The arguments by what they are, and of each result the argument whose new value it is."""

    names: list[str]
    kinds: list[str]
    """`input`, `param` or `state`."""
    updates: dict[int, int] = field(default_factory=dict[int, int])
    loss: int | None = None

    @property
    def is_step(self) -> bool:
        """Whether the function gives new values of parameters."""
        return any(self.kinds[argument] == "param" for argument in self.updates.values())


def signature_of(function: HloFunction, flat: FlatProgram) -> StepSignature:
    """What arguments and results are, by their names and by what is computed."""
    types = [made.type for made in flat.arguments]
    given = [keys_of(name) for name in function.argument_names]
    results = [keys_of(name) for name in function.result_names] or [()] * len(flat.results)
    results += [()] * (len(flat.results) - len(results))
    own = _own_updates(function)
    updates = own or _updates(flat, given, types, results)
    loss = _loss(flat, updates)
    if loss is None and _scalar_floats(flat, updates):
        loss = _scalar_floats(flat, updates)[0]
    read = _read_by(flat, loss) if updates and loss is not None else None
    kinds = _kinds(given, types, set(updates.values()), read)
    taken = (COUNT,) if any(op.kind in ("bernoulli", "dropout") for op in flat.ops) else ()
    names = list(function.argument_names) if own else _names(given, kinds, taken)
    signature = StepSignature(names, kinds, updates, loss)
    if not signature.is_step:
        signature = StepSignature(_names(given, fixed := _forward_kinds(given, types), taken), fixed)
    return signature


def _own_updates(function: HloFunction) -> dict[int, int]:
    """Of each result of a step that npuc wrote the argument that it is the new value of: `new NAME`."""
    places = {f"new {name}": number for number, name in enumerate(function.argument_names)}
    names = function.result_names
    return {number: places[name] for number, name in enumerate(names) if name in places}


def _updates(
    flat: FlatProgram, given: Sequence[tuple[str, ...]], types: Sequence[HloType], results: Sequence[tuple[str, ...]]
) -> dict[int, int]:
    """Of each result the argument that it is the new value of: one of its type whose path ends alike."""
    found: dict[int, int] = {}
    taken: set[int] = set()
    for number, (keys, value) in enumerate(zip(results, flat.results, strict=True)):
        if isinstance(value, HloValue) and value.op is None:
            continue
        best, most = None, 0
        for argument, (path, type) in enumerate(zip(given, types, strict=True)):
            alike = _alike(path, keys)
            if type == value.type and argument not in taken and alike > most:
                best, most = argument, alike
        if best is not None:
            found[number] = best
            taken.add(best)
    if not found and not any(given):
        return _by_order(flat, types)
    return found


def _alike(path: tuple[str, ...], result: tuple[str, ...]) -> int:
    """How many keys two paths end alike in, `result` and the root of the argument left out."""
    count = 0
    for one, other in zip(reversed(path[1:]), reversed(result[1:]), strict=False):
        if one != other:
            break
        count += 1
    return count if count == len(path) - 1 else 0


def _by_order(flat: FlatProgram, types: Sequence[HloType]) -> dict[int, int]:
    """Without names: results in a row that have the types of arguments in a row, from the first on."""
    found: dict[int, int] = {}
    place = 0
    for number, value in enumerate(flat.results):
        if place < len(types) and value.type == types[place] and value.type.element in FLOATS and value.type.shape:
            found[number] = place
            place += 1
    return found


def _scalar_floats(flat: FlatProgram, updates: dict[int, int]) -> list[int]:
    return [
        number
        for number, value in enumerate(flat.results)
        if number not in updates and value.type.shape == () and value.type.element in FLOATS
    ]


def _loss(flat: FlatProgram, updates: dict[int, int]) -> int | None:
    """The only result that is a scalar, and no argument's new value."""
    found = _scalar_floats(flat, updates)
    return found[0] if len(found) == 1 else None


def ancestors(values: Sequence[Operand]) -> set[HloValue]:
    """What some values are computed from, themselves included."""
    wanted = [made for value in values for made in made_of(value)]
    seen: set[HloValue] = set()
    while wanted:
        made = wanted.pop()
        if made not in seen:
            seen.add(made)
            if made.op is not None:
                wanted += [one for operand in made.op.operands for one in made_of(operand)]
    return seen


def _read_by(flat: FlatProgram, loss: int) -> set[int]:
    """The arguments that the loss depends on."""
    seen = ancestors([flat.results[loss]])
    return {number for number, made in enumerate(flat.arguments) if made in seen}


def _kinds(
    given: Sequence[tuple[str, ...]], types: Sequence[HloType], updated: set[int], read: set[int] | None
) -> list[str]:
    """Of a step: what is updated and read by the loss is a parameter, what is updated alone a state."""
    kinds: list[str] = []
    for number, type in enumerate(types):
        if number not in updated:
            kinds.append("input")
        elif type.element in FLOATS and (read is None or number in read):
            kinds.append("param")
        else:
            kinds.append("state")
    return kinds


def _forward_kinds(given: Sequence[tuple[str, ...]], types: Sequence[HloType]) -> list[str]:
    """Of a forward function: floats of an argument that is a tree are parameters, by its name or as the first one."""
    trees = dict.fromkeys(path[0] for path in given if len(path) > 1)
    named = [root for root in trees if root in PARAMETERS]
    chosen = set(named or list(trees)[:1])
    return [
        "param" if path and len(path) > 1 and path[0] in chosen and type.element in FLOATS else "input"
        for path, type in zip(given, types, strict=True)
    ]


def _names(given: Sequence[tuple[str, ...]], kinds: Sequence[str], reserved: Sequence[str]) -> list[str]:
    """Names as the language has them: a parameter by its path without the root, others by the whole path."""
    names: list[str] = []
    for number, (path, kind) in enumerate(zip(given, kinds, strict=True)):
        own = path[1:] if kind == "param" and len(path) > 1 else path
        text = ".".join(re.sub(r"\W", "_", key) for key in own) or f"arg{number}"
        text = f"{kind}.{text}" if text[0].isdigit() else text
        taken, candidate = 2, text
        while candidate in names or candidate in reserved:
            candidate, taken = f"{text}_{taken}", taken + 1
        names.append(candidate)
    return names


__all__ = ["FlatOp", "StepSignature", "ancestors", "keys_of", "signature_of"]
