"""
Calls that take graphs: blocks under a mode, branches and loops of exported programs.

Blocks are written where they stand. Of a branch that a constant chooses only that one is written; a loop whose length
is constant is written iteration by iteration. Branches and lengths that depend on data are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.script.weights import FLOATS, Empty, Refused, Uniform, Weight
from npuc.frontends.torch.program import Subgraph, TensorName, TorchGraph, TorchNode, TorchValue

if TYPE_CHECKING:
    from npuc.frontends.script.writer import CallWriter

MAX_TRIPS = 10_000
"""The most iterations of a loop."""


class Caller(Protocol):
    """What writes a graph at the place of the call that takes it."""

    @property
    def writer(self) -> CallWriter:
        """What is written beside the results."""
        ...

    def block(
        self, graph: TorchGraph, operands: Sequence[object], *, mode: Mode = ..., writes: bool = ...
    ) -> list[Any]:
        """
        The results of a graph for some operands.

        Where `writes`, what it writes into its operands is written to those of the call; else that is refused.
        """
        ...


class Mode:
    """
    Under which mode a block stands.

    `gradients`: whether its results depend on parameters; `autocast`: whether operators choose their own precision;
    None: as around it.
    """

    def __init__(self, *, gradients: bool = True, autocast: bool | None = None):
        self.gradients = gradients
        self.autocast = autocast


Control = Callable[[Caller, Sequence[Any]], list[Any]]
"""Writes a call of its positional arguments, of which tensors are values and graphs `Subgraph`s; its results."""


# which values a graph gets


def operands_of(node: TorchNode) -> list[TorchValue]:
    """The values that a call hands to its graphs, in the order of their inputs."""
    given = [argument.value for argument in node.arguments if not argument.is_keyword]
    last = max((place for place, value in enumerate(given) if isinstance(value, Subgraph)), default=len(given))
    return list(flat(given[last + 1 :]))


def flat(values: Sequence[Any]) -> Iterator[Any]:
    """Values, those of lists included; texts and mappings are no operands."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from flat(cast("Sequence[Any]", value))
        elif not isinstance(value, str | Mapping):
            yield value


def uses_of(graph: TorchGraph) -> Counter[str]:
    """How often calls take each tensor of a graph, those in the graphs that calls take included."""
    found: Counter[str] = Counter()
    for node in graph.nodes:
        if not node.subgraphs:
            found.update(node.reads)
            continue
        inside: Counter[int] = Counter()
        for subgraph in node.subgraphs:
            inner = uses_of(subgraph.graph)
            for place, value in enumerate(subgraph.graph.inputs):
                inside[place] += inner[value.name] if isinstance(value, TensorName) else 0
        times = 2 if node.operator in _LOOPS else 1
        found.update(
            value.name for value in flat([a.value for a in node.arguments[:1]]) if isinstance(value, TensorName)
        )
        for place, value in enumerate(operands_of(node)):
            if isinstance(value, TensorName):
                found[value.name] += max(1, inside[place] * times)
    return found


# what the operators mean


def _block(mode: Callable[[Sequence[Any]], Mode]) -> Control:
    """An operator that is its one graph under a mode."""

    def write(run: Caller, values: Sequence[Any]) -> list[Any]:
        (place,) = (place for place, value in enumerate(values) if isinstance(value, Subgraph))
        operands = list(flat(values[place + 1 :]))
        return run.block(values[place].graph, operands, mode=mode(values), writes=True)

    return write


def _cond(run: Caller, values: Sequence[Any]) -> list[Any]:
    predicate, chosen, other, *operands = values
    known = _truth(run, predicate)
    if known is None:
        raise Refused(
            "found a branch that depends on data, expected a constant predicate",
            "torch.where computes both, or export the branch that is trained",
        )
    return run.block(_graph(chosen if known else other), list(flat(operands)))


def _while_loop(run: Caller, values: Sequence[Any]) -> list[Any]:
    condition, body, carried, *more = values
    state, more = list(flat([carried])), list(flat(more))
    for _ in range(MAX_TRIPS + 1):
        (goes_on,) = run.block(_graph(condition), [*state, *more])
        known = _truth(run, goes_on)
        if known is None:
            raise Refused(
                "found a loop whose length depends on data, expected a constant one", "export a loop of fixed length"
            )
        if not known:
            return state
        state = run.block(_graph(body), [*state, *more])
    raise Refused(f"found a loop of more than {MAX_TRIPS:,} iterations")


def _scan(run: Caller, values: Sequence[Any]) -> list[Any]:
    combine, start, over, *more = values
    carried, parts = list(flat([start])), list(flat([over]))
    rows: list[list[Any]] = []
    for each in _slices(run, parts):
        results = run.block(_graph(combine), [*carried, *each, *flat(more)])
        carried, own = results[: len(carried)], results[len(carried) :]
        rows.append(own)
    return [*carried, *_stacked(run, rows)]


def _map(run: Caller, values: Sequence[Any]) -> list[Any]:
    body, over, *more = values
    parts = list(flat([over]))
    return _stacked(run, [run.block(_graph(body), [*each, *flat(more)]) for each in _slices(run, parts)])


def _slices(run: Caller, parts: Sequence[Any]) -> Iterator[list[Any]]:
    """The slices of tensors along their first axis, one after another."""
    c = run.writer
    if not all(isinstance(part, Name | Weight | Empty | Uniform) for part in parts):
        raise Refused("found a loop over what is no tensor")
    lengths = {c.shape(part)[0] for part in parts}
    if len(lengths) != 1 or 0 in lengths or max(lengths) > MAX_TRIPS:
        raise Refused(f"found a loop over {sorted(lengths)} slices, expected 1 to {MAX_TRIPS:,}")
    for place in range(*lengths):
        yield [c.let("squeeze", c.let("slice", part, 0, place, place + 1), 0) for part in parts]


def _stacked(run: Caller, rows: Sequence[Sequence[Any]]) -> list[Any]:
    """The results of iterations as one tensor each, along a new first axis."""
    return [run.writer.let("stack", list(column), 0) for column in zip(*rows, strict=True)]


def _graph(value: object) -> TorchGraph:
    if not isinstance(value, Subgraph):
        raise Refused("found no graph where one is called")
    return value.graph


def _truth(run: Caller, value: Any) -> bool | None:
    """The truth of a predicate; None where it depends on data."""
    if isinstance(value, bool | int):
        return bool(value)
    if isinstance(value, Weight) and value.element not in FLOATS and value.read is not None:
        return bool(value.read().all())
    known = run.writer.numbers(value) if isinstance(value, Name) else None
    return None if known is None else bool(known.all())


def _plain(values: Sequence[Any]) -> Mode:
    return Mode()


CONTROL: Mapping[str, Control] = {
    "higher_order.wrap_with_set_grad_enabled": _block(lambda values: Mode(gradients=values[0])),
    "higher_order.wrap_with_autocast": _block(lambda values: Mode(autocast=values[2])),
    "higher_order.invoke_subgraph": _block(_plain),
    "higher_order.hints_wrapper": _block(_plain),
    "higher_order.strict_mode": _block(_plain),
    "higher_order.tag_activation_checkpoint": _block(_plain),
    "higher_order.wrap": _block(_plain),
    "higher_order.wrap_activation_checkpoint": _block(_plain),
    "higher_order.cond": _cond,
    "higher_order.while_loop": _while_loop,
    "higher_order.scan": _scan,
    "higher_order.map_impl": _map,
}
"""The operators that take graphs, by their names."""
_LOOPS = frozenset(("higher_order.while_loop", "higher_order.scan", "higher_order.map_impl"))
