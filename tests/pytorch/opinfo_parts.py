"""An exported program of several calls that share nothing, as one file for each of them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, cast


class Parts:
    """The calls of a file as `torch.export.save` writes it: each is what depends on some of its inputs or outputs."""

    def __init__(self, data: bytes, owners: Mapping[str, int]):
        """`owners` tells the number of the call that each parameter, input and output belongs to, by name."""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self._files = {name: archive.read(name) for name in archive.namelist()}
        self._model = next(name for name in self._files if "/models/" in name)
        self._program = json.loads(self._files[self._model])
        module = self._program["graph_module"]
        self._graph, self._signature = module["graph"], module["signature"]
        (self._call,) = (one["signature"] for one in module["module_call_graph"] if not one["fqn"])
        spec = json.loads(self._call["out_spec"])
        self._outputs: list[str] = json.loads(spec[1]["context"])
        self._spec = spec
        self._groups = self._grouped()
        self._owners = self._owned(owners)

    def _grouped(self) -> dict[str, str]:
        """Of each value the name of one that stands for all that it is computed with."""
        above: dict[str, str] = {}

        def root(name: str) -> str:
            while (higher := above.setdefault(name, name)) != name:
                name = higher
            return name

        for node in self._graph["nodes"]:
            first, *rest = [*_names(node)] or [""]
            for other in rest:
                above[root(other)] = root(first)
        return {name: root(name) for name in [*above]}

    def _owned(self, owners: Mapping[str, int]) -> dict[str, int]:
        """The number of the call that each group of values belongs to."""
        found: dict[str, int] = {}
        for entry in self._signature["input_specs"]:
            kind, given = next(iter(entry.items()))
            name = next(iter(_names(given["arg"])), "")
            owner = owners.get(given.get("parameter_name", name))
            if kind in ("parameter", "user_input") and owner is not None:
                found[self._groups.get(name, name)] = owner
        for entry, output in zip(self._graph["outputs"][-len(self._outputs) :], self._outputs, strict=True):
            for name in _names(entry):
                found[self._groups.get(name, name)] = owners[output]
        return found

    def _is_of(self, number: int, entry: Any) -> bool:
        return any(self._owners.get(self._groups.get(name, name)) == number for name in _names(entry))

    def of(self, number: int) -> bytes:
        """The file of one call."""
        graph, signature = self._graph, self._signature
        kept = [place for place, entry in enumerate(graph["outputs"]) if self._is_of(number, entry)]
        first = len(graph["outputs"]) - len(self._outputs)
        names = [self._outputs[place - first] for place in kept if place >= first]
        spec = [self._spec[0], {**self._spec[1], "context": json.dumps(names)}]
        spec[1]["children_spec"] = self._spec[1]["children_spec"][: len(names)]
        nodes, last = [], False
        for node in graph["nodes"]:
            last = self._is_of(number, node) or (last and not [*_names(node)])
            nodes += [node] * last
        written = {
            **self._program["graph_module"],
            "graph": {
                **graph,
                "inputs": [one for one in graph["inputs"] if self._is_of(number, one)],
                "outputs": [graph["outputs"][place] for place in kept],
                "nodes": nodes,
            },
            "signature": {
                **signature,
                "input_specs": [one for one in signature["input_specs"] if self._is_of(number, one)],
                "output_specs": [signature["output_specs"][place] for place in kept],
            },
            "module_call_graph": [{"fqn": "", "signature": {**self._call, "out_spec": json.dumps(spec)}}],
        }
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, content in self._files.items():
                program = {**self._program, "graph_module": written}
                archive.writestr(name, json.dumps(program).encode() if name == self._model else content)
        return out.getvalue()


def _names(node: object) -> Iterator[str]:
    """The names of the values in an argument, a call or an entry of the signature."""
    if isinstance(node, dict):
        entry = cast("dict[str, Any]", node)
        if "target" in entry and "inputs" in entry:
            yield from (name for given in entry["inputs"] for name in _names(given["arg"]))
            yield from _names(entry["outputs"])
            return
        for key, value in entry.items():
            if key in ("name", "as_name") and isinstance(value, str):
                yield value
            elif key != "as_graph":
                yield from _names(value)
    elif isinstance(node, list):
        for value in cast("list[Any]", node):
            yield from _names(value)
