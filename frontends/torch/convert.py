"""From the JSON of an exported program to frozen data: names resolved, unions opened, nothing believed unchecked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuc.frontends.torch.expressions import ExpressionError, SizeExpression
from npuc.frontends.torch.program import (
    ExportedProgram,
    GraphInput,
    GraphOutput,
    Keyword,
    Scalar,
    ScalarName,
    Size,
    Subgraph,
    SymbolRange,
    TensorName,
    TensorType,
    TorchArgument,
    TorchGraph,
    TorchNode,
    TorchValue,
)
from npuc.frontends.torch.schema import ProgramJson
from npuc.frontends.torch.schema_signature import InputSpecJson, OutputSpecJson
from npuc.frontends.torch.schema_values import (
    ArgumentJson,
    GraphJson,
    NodeJson,
    ScalarJson,
    SizeJson,
    TensorJson,
    set_field,
)
from npuc.frontends.torch.structure import paths_of
from npuc.frontends.torch.weights import DTYPES, Weights

if TYPE_CHECKING:
    from npuc.frontends.torch.archive import Archive

MAX_NODES = 200_000
"""The most calls of a graph, those of inner graphs included."""
MAX_NESTING = 16
"""How deep graphs may lie in graphs."""
_LAYOUTS = {7: "strided"}
_FORMATS = {1: "contiguous", 2: "channels_last", 3: "channels_last_3d", 4: "preserve"}


def program_of(archive: Archive, name: str, json: ProgramJson, weights: Weights) -> ExportedProgram:
    """The program that an archive's JSON describes. Raises `SourceError` for what contradicts itself."""
    return _Converter(archive).program(name, json, weights)


class _Converter:
    """One run over a JSON."""

    def __init__(self, archive: Archive):
        self.archive = archive
        self.hints: dict[SizeExpression, int | float | bool] = {}
        self.expressions: dict[str, SizeExpression] = {}
        self.nodes = 0
        self.number = 0

    def program(self, name: str, json: ProgramJson, weights: Weights) -> ExportedProgram:
        module = json.graph_module
        graph = self.graph(module.graph, None, 0)
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
            hints=self.hints,
            modules=tuple(call.fqn for call in module.module_call_graph),
            opsets=json.opset_version,
            schema_version=(json.schema_version.major, json.schema_version.minor),
            torch_version=json.torch_version,
            is_training_ir="TRAINING" in json.verifiers,
            guards=tuple(json.guards_code),
            weights=weights,
        )

    # graphs

    def graph(self, json: GraphJson, outer: int | None, depth: int) -> TorchGraph:
        if depth > MAX_NESTING:
            raise self.archive.error(f"graphs are nested deeper than {MAX_NESTING}")
        self.nodes += len(json.nodes)
        if self.nodes > MAX_NODES:
            raise self.archive.error(f"found more than {MAX_NODES:,} calls, expected at most as many")
        scalars: dict[str, Scalar] = {}
        for values in (json.sym_int_values, json.sym_bool_values, json.sym_float_values):
            scalars |= {name: self.size(value) for name, value in values.items()}
        tensors = {name: self.tensor(value) for name, value in json.tensor_values.items()}
        nodes = tuple(
            self.node(node, number if outer is None else outer, depth) for number, node in enumerate(json.nodes, 1)
        )
        graph = TorchGraph(self.values(json.inputs, depth), self.values(json.outputs, depth), nodes, tensors, scalars)
        self.check(graph)
        return graph

    def node(self, json: NodeJson, number: int, depth: int) -> TorchNode:
        self.number = number
        arguments = tuple(TorchArgument(a.name, self.value(a.arg, depth), a.kind == 2) for a in json.inputs)
        outputs = self.values(json.outputs, depth)
        return TorchNode(number, json.name or f"node{number}", json.target, arguments, outputs, json.metadata)

    def check(self, graph: TorchGraph) -> None:
        """Raise an error for a value that no earlier call makes, or whose type the file does not tell."""
        known = {one.name for one in _names(graph.inputs)}
        for node in graph.nodes:
            used = [one for argument in node.arguments for one in _names(argument.value)]
            for one in (*used, *_names(node.outputs)):
                if isinstance(one, TensorName) and one.name not in graph.tensors:
                    raise self.archive.corrupt(f"the graph has no type of '{one.name}'")
                if isinstance(one, ScalarName) and one.name not in graph.scalars:
                    raise self.archive.corrupt(f"the graph has no value of '{one.name}'")
            for one in used:
                if isinstance(one, TensorName) and one.name not in known:
                    raise self.archive.corrupt(f"node {node.number} uses '{one.name}' before it is made")
            known |= {one.name for one in _names(node.outputs)}
        for one in _names(graph.outputs):
            if isinstance(one, TensorName) and (one.name not in known or one.name not in graph.tensors):
                raise self.archive.corrupt(f"no call makes the output '{one.name}'")

    def values(self, json: Sequence[ArgumentJson], depth: int) -> tuple[TorchValue, ...]:
        return tuple(self.value(one, depth) for one in json)

    def value(self, json: ArgumentJson, depth: int) -> TorchValue:
        found = set_field(json)
        if found is None:
            raise self.archive.error("found an argument of a kind that schema 8.20 does not have")
        kind, value = found
        match kind:
            case "as_none":
                return None
            case "as_int" | "as_bool" | "as_string":
                return value
            case "as_float":
                return self.real(value)
            case "as_tensor":
                return TensorName(value.name)
            case "as_tensors":
                return tuple(TensorName(one.name) for one in value)
            case "as_nested_tensors":
                return tuple(tuple(TensorName(one.name) for one in row) for row in value)
            case "as_optional_tensor":
                return None if value.as_tensor is None else TensorName(value.as_tensor.name)
            case "as_optional_tensors":
                return tuple(None if one.as_tensor is None else TensorName(one.as_tensor.name) for one in value)
            case "as_ints" | "as_bools" | "as_strings":
                return tuple(value)
            case "as_floats":
                return tuple(map(self.real, value))
            case "as_int_lists":
                return tuple(map(tuple, value))
            case "as_float_lists":
                return tuple(tuple(map(self.real, row)) for row in value)
            case "as_sym_int" | "as_sym_bool" | "as_sym_float":
                return self.scalar(value)
            case "as_sym_ints" | "as_sym_bools" | "as_sym_floats":
                return tuple(map(self.scalar, value))
            case "as_complex":
                return complex(self.real(value.real), self.real(value.imag))
            case "as_graph":
                return Subgraph(value.name, self.graph(value.graph, self.number, depth + 1))
            case "as_string_to_argument":
                return {name: self.value(one, depth) for name, one in value.items()}
            case _:
                return _keyword(kind, value)

    def scalar(self, json: ScalarJson) -> TorchValue:
        if json.as_name is not None:
            return ScalarName(json.as_name)
        if json.as_float is not None:
            return self.real(json.as_float)
        return json.as_int if json.as_int is not None else json.as_bool

    def real(self, value: float | str) -> float:
        """A float, which the JSON writes as a text where it is infinite or no number."""
        try:
            return float(value)
        except ValueError:
            raise self.archive.corrupt(
                f"found '{value[:20] if isinstance(value, str) else value}' as a float"
            ) from None

    # types

    def tensor(self, json: TensorJson) -> TensorType:
        sizes = tuple(map(self.whole, json.sizes))
        strides = tuple(map(self.whole, json.strides))
        dtype = DTYPES.get(json.dtype, f"type {json.dtype}")
        layout = _LAYOUTS.get(json.layout, "sparse")
        device = json.device.type if json.device is not None else ""
        return TensorType(dtype, sizes, strides, self.whole(json.storage_offset), layout, device, json.requires_grad)

    def whole(self, json: SizeJson) -> Size:
        value = self.size(json)
        if isinstance(value, SizeExpression) or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
            return value
        raise self.archive.corrupt(f"found the size {value}, expected a whole number")

    def size(self, json: SizeJson) -> Scalar:
        if json.as_int is not None:
            return json.as_int
        if json.as_expr is None:
            if json.as_bool is not None:
                return json.as_bool
            return self.real(json.as_float if json.as_float is not None else "missing")
        text = json.as_expr.expr_str
        try:
            expression = self.expressions.get(text) or SizeExpression.parse(text)
        except ExpressionError as error:
            raise self.archive.error(str(error)) from None
        self.expressions[text] = expression
        hint = json.as_expr.hint
        if hint is not None:
            for value in (hint.as_int, hint.as_bool):
                if value is not None:
                    self.hints[expression] = value
            if hint.as_float is not None:
                self.hints[expression] = self.real(hint.as_float)
        return expression

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
                found.append(GraphOutput("user", self.value(spec.user_output.arg, 0), next(names)))
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


def _names(value: TorchValue | Sequence[TorchValue]) -> list[TensorName | ScalarName]:
    if isinstance(value, TensorName | ScalarName):
        return [value]
    if isinstance(value, tuple | list):
        return [one for part in value for one in _names(part)]
    return [one for part in value.values() for one in _names(part)] if isinstance(value, dict) else []


def _keyword(kind: str, value: object) -> Keyword:
    """A value that PyTorch names."""
    match kind:
        case "as_scalar_type":
            return Keyword("dtype", DTYPES.get(value, f"type {value}") if isinstance(value, int) else str(value))
        case "as_layout":
            return Keyword("layout", _LAYOUTS.get(value, "sparse") if isinstance(value, int) else str(value))
        case "as_memory_format":
            return Keyword("memory_format", _FORMATS.get(value, "unknown") if isinstance(value, int) else str(value))
        case "as_device":
            return Keyword("device", str(getattr(value, "type", "")))
        case "as_operator":
            return Keyword("operator", str(value))
        case _:
            return Keyword(str(getattr(value, "class_fqn", "") or "object"), str(getattr(value, "name", "")))
