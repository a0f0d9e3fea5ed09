"""Which operators of a program have a meaning here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import SourceError, SourceErrors
from npuc.frontends.torch.graphs.control import CONTROL
from npuc.frontends.torch.memory.effects import computes, functional
from npuc.frontends.torch.refused import reason_of

if TYPE_CHECKING:
    from npuc.frontends.torch.program import ExportedProgram, TorchGraph, TorchNode


def check_known(program: ExportedProgram) -> None:
    """Raise an error that names all operators of a program that have no meaning here, with their nodes."""
    unknown: dict[str, list[TorchNode]] = {}
    for node in all_nodes(program.graph):
        if computes(node) and node.operator not in CONTROL and functional(node.operator) is None:
            unknown.setdefault(node.operator, []).append(node)
    problems: list[SourceError] = []
    for name, nodes in unknown.items():
        places = ", ".join(str(node.number) for node in nodes[:8]) + (", …" if len(nodes) > 8 else "")
        where = f" (nodes {places})" if len(nodes) > 1 else ""
        reason = reason_of(name)
        message = f"unsupported operator {name}{where}" + (f": {reason}" if reason else "")
        hint = (
            "npuc list operators shows what is read; a decomposition before the export may avoid it; --opaque prices it"
        )
        problems.append(SourceError(message, location=program.place(nodes[0]), hint=hint))
    if problems:
        raise problems[0] if len(problems) == 1 else SourceErrors(tuple(problems))


def check_priced(program: ExportedProgram) -> None:
    """Raise an error for operators without a meaning that make no tensor: they may write their operands in place."""
    for node in all_nodes(program.graph):
        if not node.outputs and node.operator not in CONTROL and functional(node.operator) is None:
            hint = "--opaque prices operators that return what they compute"
            message = f"unsupported operator {node.operator}: it makes no value, so that it may write in place"
            raise SourceError(message, location=program.place(node), hint=hint)


def all_nodes(graph: TorchGraph) -> Iterator[TorchNode]:
    """The calls of a graph and of the graphs in it."""
    for node in graph.nodes:
        yield node
        for inner in node.subgraphs:
            yield from all_nodes(inner.graph)
