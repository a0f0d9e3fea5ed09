"""From the messages of an ONNX file to `model.py`; field numbers are those of `onnx.proto` of IR version 14."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from npuc.compiler.core.errors import SourceError
from npuc.frontends.onnx.container.external import ExternalFiles
from npuc.frontends.onnx.container.model import (
    AttributeValue,
    Metadata,
    OnnxAttribute,
    OnnxFunction,
    OnnxGraph,
    OnnxModel,
    OnnxNode,
    OnnxType,
    ValueInfo,
)
from npuc.frontends.onnx.container.tensors import (
    MAX_RANK,
    OnnxTensor,
    SparseTensor,
    checked_shape,
    element_type,
    tensor_of_message,
)
from npuc.frontends.onnx.container.wire import Message, WireFile

MAX_NODES = 250_000
"""The most nodes of all graphs and functions of a file."""
_OWN = ("", "ai.onnx")


class Decoder:
    """Reads the messages of one file; `nodes` counts those read so far. Raises `SourceError` with the file's name."""

    def __init__(self, file: WireFile, outside: ExternalFiles):
        self.file = file
        self.outside = outside
        self.nodes = 0
        self._kinds: dict[int, tuple[str, Callable[[Message], AttributeValue]]] = {
            1: ("float", lambda m: m.real(2, "f")),
            2: ("int", lambda m: m.integer(3, "i")),
            3: ("string", lambda m: next(iter(m.contents(4, "s")[-1:]), b"")),
            4: ("tensor", lambda m: self._tensor(self._needed(m, 5, "t"))),
            5: ("graph", lambda m: self.graph(self._needed(m, 6, "g"))),
            6: ("floats", lambda m: m.reals(7, "floats")),
            7: ("ints", lambda m: m.integers(8, "ints")),
            8: ("strings", lambda m: m.contents(9, "strings")),
            9: ("tensors", lambda m: tuple(self._tensor(t) for t in m.messages(10, "tensors"))),
            10: ("graphs", lambda m: tuple(self.graph(g) for g in m.messages(11, "graphs"))),
            11: ("sparse_tensor", lambda m: self._sparse(self._needed(m, 22, "sparse_tensor"))),
            12: ("sparse_tensors", lambda m: tuple(self._sparse(t) for t in m.messages(23, "sparse_tensors"))),
            13: ("type_proto", lambda m: self._type(self._needed(m, 14, "tp"))),
            14: ("type_protos", lambda m: tuple(self._type(t) for t in m.messages(15, "type_protos"))),
        }

    def model(self) -> OnnxModel:
        """The model that the file is."""
        message = self.file.message()
        graph = message.message(7, "graph")
        if graph is None:
            raise self.file.corrupt("found no graph, expected an ONNX model")
        opsets = self._opsets(message.messages(8, "opset_import"), "the model")
        found = [self._function(function) for function in message.messages(25, "functions")]
        functions = {(f.domain, f.name, f.overload): f for f in found}
        if len(functions) < len(found):
            twice = next(f for f in found if functions[f.domain, f.name, f.overload] is not f)
            raise self.file.corrupt(f"function '{twice.name}' is defined twice")
        producer = f"{message.string(2, 'producer_name')} {message.string(3, 'producer_version')}".strip()
        ir_version = message.integer(1, "ir_version")
        read = self.graph(graph)
        return OnnxModel(self.file.filename, read, functions, opsets, ir_version, producer, Metadata(message, 14))

    def _opsets(self, messages: Sequence[Message], title: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for message in messages:
            domain = _domain(message.string(1, "domain"))
            if domain in found:
                raise self.file.corrupt(f"{title} imports two versions of the operators '{domain or 'ai.onnx'}'")
            found[domain] = message.integer(2, "version")
        return found

    def graph(self, message: Message) -> OnnxGraph:
        """A graph. Raises `SourceError` where two of its initial values have one name."""
        initializers: dict[str, OnnxTensor | SparseTensor] = {}
        for each in message.messages(5, "initializer"):
            tensor = self._tensor(each)
            self._add(initializers, tensor.name, tensor)
        for each in message.messages(15, "sparse_initializer"):
            sparse = self._sparse(each)
            self._add(initializers, sparse.values.name, sparse)
        return OnnxGraph(
            message.string(2, "name"),
            self._nodes(message, 1),
            tuple(self._value(value) for value in message.messages(11, "input")),
            tuple(self._value(value) for value in message.messages(12, "output")),
            initializers,
            lambda: self._described(message),
        )

    def _described(self, message: Message) -> Mapping[str, ValueInfo]:
        """What is said of values between nodes, and of outputs."""
        values = [self._value(value) for field in (13, 12) for value in message.messages(field, "value_info")]
        return {value.name: value for value in values}

    def _add(self, into: dict[str, OnnxTensor | SparseTensor], name: str, tensor: OnnxTensor | SparseTensor) -> None:
        if not name or name in into:
            raise self.file.corrupt(f"initializer '{name}' {'is there twice' if name else 'has no name'}")
        into[name] = tensor

    def _function(self, message: Message) -> OnnxFunction:
        name = message.string(1, "name")
        needed: dict[str, OnnxAttribute | None] = dict.fromkeys(message.strings(6, "attribute"))
        given = self._attributes(message.messages(11, "attribute_proto"), f"function '{name}'")
        return OnnxFunction(
            name,
            _domain(message.string(10, "domain")),
            message.string(13, "overload"),
            message.strings(4, "input"),
            message.strings(5, "output"),
            needed | dict(given),
            self._nodes(message, 7),
            self._opsets(message.messages(9, "opset_import"), f"function '{name}'"),
        )

    def _nodes(self, message: Message, field: int) -> tuple[OnnxNode, ...]:
        self.nodes += message.count(field)
        if self.nodes > MAX_NODES:
            raise SourceError(f"{self.file.filename}: found more than {MAX_NODES} nodes, expected a smaller model")
        return tuple(self._node(each, number) for number, each in enumerate(message.messages(field, "node"), 1))

    def _node(self, message: Message, number: int) -> OnnxNode:
        op = message.string(4, "op_type")
        if not op:
            raise self.file.corrupt(f"node {number} names no operator")
        return OnnxNode(
            number,
            op,
            message.strings(1, "input"),
            message.strings(2, "output"),
            self._attributes(message.messages(5, "attribute"), f"node {number} ({op})"),
            message.string(3, "name"),
            _domain(message.string(7, "domain")),
            message.string(8, "overload"),
            Metadata(message, 9) if message.has(9) else _NONE,
        )

    def _attributes(self, messages: Sequence[Message], title: str) -> Mapping[str, OnnxAttribute]:
        found: dict[str, OnnxAttribute] = {}
        for message in messages:
            attribute = self._attribute(message, title)
            if not attribute.name or attribute.name in found:
                raise self.file.corrupt(f"{title} has the attribute '{attribute.name}' twice or without a name")
            found[attribute.name] = attribute
        return found

    def _attribute(self, message: Message, title: str) -> OnnxAttribute:
        name, reference = message.string(1, "name"), message.string(21, "ref_attr_name")
        code = message.integer(20, "type")
        if reference:
            return OnnxAttribute(name, "", None, reference)
        if code == 0:  # files of IR version 1 tell the type by the field alone
            code = next((code for field, code in _BY_FIELD.items() if message.has(field)), 0)
        if code not in self._kinds:
            raise self.file.corrupt(f"{title}: attribute '{name}' has the type {code}, expected 1 to 14")
        kind, read = self._kinds[code]
        return OnnxAttribute(name, kind, read(message))

    def _needed(self, message: Message, field: int, name: str) -> Message:
        found = message.message(field, name)
        if found is None:
            raise self.file.corrupt(f"attribute '{message.string(1, 'name')}' has no '{name}'")
        return found

    def _tensor(self, message: Message) -> OnnxTensor:
        return tensor_of_message(message, self.file, self.outside)

    def _sparse(self, message: Message) -> SparseTensor:
        values, indices = (self._needed(message, n, name) for n, name in ((1, "values"), (2, "indices")))
        shape = checked_shape(self.file, message.integers(3, "dims"), "a sparse tensor")
        return SparseTensor(self._tensor(values), self._tensor(indices), shape)

    def _value(self, message: Message) -> ValueInfo:
        name, type = message.string(1, "name"), message.message(2, "type")
        if not name:
            raise self.file.corrupt("an input or output of a graph has no name")
        metadata = Metadata(message, 4) if message.has(4) else _NONE
        return ValueInfo(name, None if type is None else self._type(type), metadata)

    def _type(self, message: Message) -> OnnxType:
        tensor, sparse = message.message(1, "tensor_type"), message.message(8, "sparse_tensor_type")
        described = tensor if tensor is not None else sparse
        if described is not None:
            element = element_type(self.file, described.integer(1, "elem_type"), "a value")
            kind = "tensor" if tensor is not None else "sparse tensor"
            return OnnxType(kind, element, self._sizes(described.message(2, "shape")))
        for field, kind in ((4, "sequence"), (9, "optional")):
            wrapper = message.message(field, f"{kind}_type")
            if wrapper is not None:
                inner = wrapper.message(1, "elem_type")
                return OnnxType(kind, inner=None if inner is None else self._type(inner))
        return OnnxType("map" if message.has(5) else "opaque" if message.has(7) else "unknown")

    def _sizes(self, message: Message | None) -> tuple[int | str, ...] | None:
        if message is None:
            return None
        sizes = message.messages(1, "dim")
        if len(sizes) > MAX_RANK:
            raise SourceError(f"{self.file.filename}: a value has {len(sizes)} axes, expected at most {MAX_RANK}")
        found = [size.integer(1, "dim_value") if size.has(1) else size.string(2, "dim_param") for size in sizes]
        # some exporters write -1, or 0 in an otherwise known shape, for a size that is not known
        return tuple("" if isinstance(size, int) and size < 0 else size for size in found)


_NONE = Metadata()
_BY_FIELD = {2: 1, 3: 2, 4: 3, 5: 4, 6: 5, 7: 6, 8: 7, 9: 8, 10: 9, 11: 10, 22: 11, 23: 12, 14: 13, 15: 14}
"""The type of an attribute by the field that holds it."""


def _domain(name: str) -> str:
    """A domain by one name: ONNX's own is "" or `ai.onnx`."""
    return "" if name in _OWN else name
