"""Calls in an exported program that have no counterpart here, replaced by what PyTorch makes them of."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

from npuc.frontends.torch.memory.effects import functional

_MOST_ROUNDS = 8


def decompose(torch: Any, program: Any) -> None:
    """
    Replace the calls in an exported program that are not read by what PyTorch decomposes them into.

    All other calls stay as they are. A call that PyTorch does not decompose stays, too; the reader names it.
    """
    decomposer = _Decomposer(torch, program)
    for module in list(program.graph_module.modules()):
        if isinstance(module, torch.fx.GraphModule):
            decomposer.run(module)


def _is_read(operator: object) -> bool:
    return functional(str(operator)) is not None


class _Decomposer:
    """One run over a program."""

    def __init__(self, torch: Any, program: Any):
        self.torch = torch
        self.program = program
        known = import_module("torch._decomp").decomposition_table
        self.table = {operator: rule for operator, rule in known.items() if not _is_read(operator)}

    def run(self, module: Any) -> None:
        """Replace the calls of one graph, and those that they leave, as often as that helps."""
        for _ in range(_MOST_ROUNDS):
            unknown = [node for node in module.graph.nodes if self._is_unknown(node)]
            if not any([self._replace(module, node) for node in unknown]):
                break
        module.graph.lint()
        module.recompile()

    def _is_unknown(self, node: Any) -> bool:
        is_operator = node.op == "call_function" and isinstance(node.target, self.torch._ops.OpOverload)
        return is_operator and not _is_read(node.target)

    def _replace(self, module: Any, node: Any) -> bool:
        """Put what a call is made of into its place. False where PyTorch does not decompose it."""
        traced = self._traced(node)
        if traced is None:
            return False
        values: dict[Any, Any] = dict(zip(traced.find_nodes(op="placeholder"), node.all_input_nodes, strict=True))
        with module.graph.inserting_before(node):
            for inner in traced.nodes:
                if inner.op == "call_function":
                    values[inner] = made = module.graph.node_copy(inner, values.__getitem__)
                    made.meta = {**node.meta, "val": inner.meta.get("val")}
        (results,) = traced.output_node().args
        self._use(node, self.torch.fx.node.map_arg(results, values.__getitem__))
        module.graph.erase_node(node)
        return True

    def _use(self, node: Any, results: Any) -> None:
        """Let all uses of a call be of its replacement, one node or one for each of several results."""
        if not isinstance(results, tuple | list):
            self._rename(node, results)
            return
        several = cast("Sequence[Any]", results)
        for user in list(node.users):
            _, place = user.args
            self._rename(user, several[place])
            user.graph.erase_node(user)

    def _rename(self, old: Any, new: Any) -> None:
        old.replace_all_uses_with(new)
        self.program.graph_signature.replace_all_uses(old.name, new.name)

    def _traced(self, node: Any) -> Any | None:
        """The graph of what a call is made of; None where it is the call alone, or needs constants of its own."""
        arg = self.torch.fx.node.map_arg
        inputs = node.all_input_nodes

        def call(*values: Any) -> Any:
            by_node: dict[Any, Any] = dict(zip(inputs, values, strict=True))
            given, named = (arg(part, by_node.__getitem__) for part in (node.args, node.kwargs))
            return node.target(*given, **named)

        make_fx = import_module("torch.fx.experimental.proxy_tensor").make_fx
        try:
            graph = make_fx(call, decomposition_table=self.table)(*(one.meta["val"] for one in inputs)).graph
        except Exception:  # PyTorch's own, of any kind: then the call stays, and the reader names it
            return None
        calls = [one.target for one in graph.nodes if one.op not in ("placeholder", "output")]
        plain = all(one.op in ("placeholder", "output", "call_function") for one in graph.nodes)
        return graph if plain and node.target not in calls else None
