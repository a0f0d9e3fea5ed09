"""From the JSON of an exported program to frozen data: names resolved, unions opened, nothing believed unchecked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuc.frontends.torch.arguments_json import ValueReader
from npuc.frontends.torch.program import (
    ExportedProgram,
    GraphInput,
    GraphOutput,
    Scalar,
    ScalarName,
    Subgraph,
    SymbolRange,
    TensorName,
    TorchGraph,
    TorchNode,
    TorchValue,
    tensors_in,
)
from npuc.frontends.torch.schema.program import ProgramJson
from npuc.frontends.torch.schema.signature import InputSpecJson, OutputSpecJson
from npuc.frontends.torch.schema.values import GraphJson, NodeJson, SubgraphJson, set_field
from npuc.frontends.torch.structure import paths_of
from npuc.frontends.torch.weights import Weights

if TYPE_CHECKING:
    from npuc.frontends.torch.archive import Archive

MAX_NODES = 200_000
"""The most calls of a graph, those of inner graphs included."""
MAX_NESTING = 16
"""How deep graphs may lie in graphs."""


def program_of(archive: Archive, name: str, json: ProgramJson, weights: Weights) -> ExportedProgram:
    """The program that an archive's JSON describes. Raises `SourceError` for what contradicts itself."""
    return _Converter(archive).program(name, json, weights)


class _Converter:
    """One run over a JSON."""

    def __init__(self, archive: Archive):
        self.archive = archive
        self.values = ValueReader(archive, self.subgraph)
        self.nodes = 0
        self.number = 0
        self.depth = 0

    def program(self, name: str, json: ProgramJson, weights: Weights) -> ExportedProgram:
        module = json.graph_module
        graph = self.graph(module.graph, None)
        specs = module.signature.input_specs
        if len(specs) != len(module.graph.inputs) or len(module.signature.output_specs) != len(module.graph.outputs):
            raise self.archive.corrupt("the signature has other inputs or outputs than the graph")
        user = next((call.signature for call in module.module_call_graph if not call.fqn), None)
        ranges = {symbol: SymbolRange(r.min_val, r.max_val) for symbol, r in json.range_constraints.items()}
        return ExportedProgram(
            filename=self.archive.filename,
            name=name,
            graph=graph,
            inputs=tuple(self.input(spec, value) for spec, value in zip(specs, graph.inputs, strict=True)),
            outputs=self.outputs(module.signature.output_specs, user.out_spec if user is not None else ""),
            ranges=ranges,
            hints=self.values.hints,
            modules=tuple(call.fqn for call in module.module_call_graph),
            opsets=json.opset_version,
            schema_version=(json.schema_version.major, json.schema_version.minor),
            torch_version=json.torch_version,
            is_training_ir="TRAINING" in json.verifiers,
            guards=tuple(json.guards_code),
            weights=weights,
        )

    # graphs

    def graph(self, json: GraphJson, outer: int | None) -> TorchGraph:
        if self.depth > MAX_NESTING:
            raise self.archive.error(f"graphs are nested deeper than {MAX_NESTING}")
        self.nodes += len(json.nodes)
        if self.nodes > MAX_NODES:
            raise self.archive.error(f"found more than {MAX_NODES:,} calls, expected at most as many")
        read = self.values
        scalars: dict[str, Scalar] = {}
        for values in (json.sym_int_values, json.sym_bool_values, json.sym_float_values):
            scalars |= {name: read.size(value) for name, value in values.items()}
        tensors = {name: read.type(text) for name, text in json.tensor_values.items()}
        nodes = tuple(self.node(node, number if outer is None else outer) for number, node in enumerate(json.nodes, 1))
        graph = TorchGraph(read.arguments(json.inputs), read.arguments(json.outputs), nodes, tensors, scalars)
        self.check(graph)
        return graph

    def subgraph(self, json: SubgraphJson) -> Subgraph:
        self.depth += 1
        graph = self.graph(json.graph, self.number)
        self.depth -= 1
        return Subgraph(json.name, graph)

    def node(self, json: NodeJson, number: int) -> TorchNode:
        self.number = number
        read = self.values
        arguments = tuple(map(read.named, json.inputs))
        outputs = read.arguments(json.outputs)
        modules, line = read.origin(json.metadata)
        return TorchNode(number, json.name or f"node{number}", json.target, arguments, outputs, modules, line)

    def check(self, graph: TorchGraph) -> None:
        """Raise an error for a value that no earlier call makes, or whose type the file does not tell."""
        known = set(tensors_in(graph.inputs))
        for node in graph.nodes:
            for name in (*node.reads, *node.makes):
                if name not in graph.tensors:
                    raise self.archive.corrupt(f"the graph has no type of '{name}'")
            for name in node.scalars if self.values.has_scalars else ():
                if name not in graph.scalars:
                    raise self.archive.corrupt(f"the graph has no value of '{name}'")
            for name in node.reads:
                if name not in known:
                    raise self.archive.corrupt(f"node {node.number} uses '{name}' before it is made")
            known.update(node.makes)
        for name in tensors_in(graph.outputs):
            if name not in known or name not in graph.tensors:
                raise self.archive.corrupt(f"no call makes the output '{name}'")

    # the signature

    def input(self, spec: InputSpecJson, value: TorchValue) -> GraphInput:
        if (one := spec.parameter) is not None:
            return GraphInput("parameter", one.arg.name, value, one.parameter_name)
        if (one := spec.buffer) is not None:
            return GraphInput("buffer", one.arg.name, value, one.buffer_name, one.persistent)
        if (one := spec.tensor_constant) is not None:
            return GraphInput("constant", one.arg.name, value, one.tensor_constant_name)
        if (one := spec.constant_input) is not None:
            found = set_field(one.value)
            literal = found[1] if found is not None and found[0] != "as_none" else None
            return GraphInput("literal", one.name, literal)
        if (one := spec.custom_obj) is not None:
            return GraphInput("object", one.arg.name, value, one.custom_obj_name)
        if (one := spec.token) is not None:
            return GraphInput("token", one.arg.name, value)
        name = value.name if isinstance(value, TensorName | ScalarName) else "input"
        return GraphInput("user", name, value)

    def outputs(self, specs: Sequence[OutputSpecJson], structure: str) -> tuple[GraphOutput, ...]:
        users = [spec.user_output for spec in specs if spec.user_output is not None]
        names = iter(output_names(structure, len(users)))
        found: list[GraphOutput] = []
        for spec in specs:
            if spec.user_output is not None:
                found.append(GraphOutput("user", self.values.value(spec.user_output.arg), next(names)))
                continue
            field = set_field(spec)
            if field is None:
                raise self.archive.error("found an output of a kind that schema 8.20 does not have")
            kind, one = field
            target = one.buffer_name or one.parameter_name or one.user_input_name
            found.append(GraphOutput(kind.removesuffix("_output"), TensorName(one.arg.name), target=target))
        return tuple(found)


def output_names(structure: str, count: int) -> list[str]:
    """
    The names of a model's results by the structure that they stand in: the keys of dictionaries, places of lists.

    One result alone is `output`; where the structure is not known, they are `output0`, ….
    """
    paths = paths_of(structure)
    if paths is not None and len(paths) == count:
        return ["output" if not path else path if not path[0].isdigit() else f"output{path}" for path in paths]
    return ["output"] if count == 1 else [f"output{number}" for number in range(count)]
