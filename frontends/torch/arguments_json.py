"""
From the JSON of arguments, types and traces to frozen data, unions opened, nothing believed unchecked.

Calls of equal modules repeat most of them, so that each text is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from npuc.compiler.core.errors import SourceError
from npuc.frontends.torch.expressions import ExpressionError, SizeExpression
from npuc.frontends.torch.program import (
    Keyword,
    Scalar,
    ScalarName,
    Size,
    Subgraph,
    TensorName,
    TensorType,
    TorchArgument,
    TorchValue,
)
from npuc.frontends.torch.schema.values import (
    ArgumentJson,
    MetadataJson,
    NamedArgumentJson,
    ScalarJson,
    SizeJson,
    SubgraphJson,
    TensorJson,
    set_field,
)
from npuc.frontends.torch.traces import line_of, modules_of
from npuc.frontends.torch.weights import DTYPES

if TYPE_CHECKING:
    from npuc.frontends.torch.archive import Archive

T = TypeVar("T")
_LAYOUTS = {7: "strided"}
_FORMATS = {1: "contiguous", 2: "channels_last", 3: "channels_last_3d", 4: "preserve"}


def unreadable(archive: Archive, error: Exception) -> SourceError:
    """The error of a JSON that is none, or has other types than the schema."""
    why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
    return archive.corrupt(f"cannot read the exported program: {why}")


class ValueReader:
    """
    What the values of a program say.

    `hints` are the values of size expressions in the example, `has_scalars` tells whether an argument was a number that
    the graph computes; `subgraph` reads a graph that a call takes.
    """

    def __init__(self, archive: Archive, subgraph: Callable[[SubgraphJson], Subgraph]):
        self.archive = archive
        self.hints: dict[SizeExpression, int | float | bool] = {}
        self.has_scalars = False
        self._subgraph = subgraph
        self._expressions: dict[str, SizeExpression] = {}
        self._arguments: dict[bytes, TorchValue] = {}
        self._named: dict[tuple[str, bytes, int | None], TorchArgument] = {}
        self._types: dict[bytes, TensorType] = {}
        self._modules: dict[bytes, tuple[tuple[str, str], ...]] = {b"": ()}
        self._lines: dict[bytes, str | None] = {b"": None}

    # texts

    def arguments(self, texts: Iterable[msgspec.Raw]) -> tuple[TorchValue, ...]:
        """The values of arguments."""
        return tuple(map(self.argument, texts))

    def argument(self, text: msgspec.Raw) -> TorchValue:
        """The value of an argument."""
        key = bytes(text)
        if key in self._arguments:
            return self._arguments[key]
        value = self.value(self._decoded(key, ArgumentJson))
        if not isinstance(value, Subgraph | dict):  # graphs count each time they are met
            self._arguments[key] = value
        return value

    def named(self, json: NamedArgumentJson) -> TorchArgument:
        """An argument of a call."""
        key = (json.name, bytes(json.arg), json.kind)
        if key not in self._named:
            argument = TorchArgument(json.name, self.argument(json.arg), json.kind == 2)
            if isinstance(argument.value, Subgraph | dict):
                return argument
            self._named[key] = argument
        return self._named[key]

    def type(self, text: msgspec.Raw) -> TensorType:
        """The type of a tensor."""
        key = bytes(text)
        if key not in self._types:
            self._types[key] = self._tensor(self._decoded(key, TensorJson))
        return self._types[key]

    def origin(self, metadata: MetadataJson) -> tuple[tuple[tuple[str, str], ...], str | None]:
        """The modules around a call, and its line of source."""
        stack, trace = bytes(metadata.nn_module_stack), bytes(metadata.stack_trace)
        if stack not in self._modules:
            self._modules[stack] = modules_of(self._decoded(stack, str))
        if trace not in self._lines:
            self._lines[trace] = line_of(self._decoded(trace, str))
        return self._modules[stack], self._lines[trace]

    def _decoded(self, text: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(text, type=kind)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise unreadable(self.archive, error) from None

    # values

    def value(self, json: ArgumentJson) -> TorchValue:
        """The value of the field of a union that is set."""
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
                return self._real(value)
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
                return tuple(map(self._real, value))
            case "as_int_lists":
                return tuple(map(tuple, value))
            case "as_float_lists":
                return tuple(tuple(map(self._real, row)) for row in value)
            case "as_sym_int" | "as_sym_bool" | "as_sym_float":
                return self._scalar(value)
            case "as_sym_ints" | "as_sym_bools" | "as_sym_floats":
                return tuple(map(self._scalar, value))
            case "as_complex":
                return complex(self._real(value.real), self._real(value.imag))
            case "as_graph":
                return self._subgraph(value)
            case "as_string_to_argument":
                return {name: self.value(one) for name, one in value.items()}
            case _:
                return _keyword(kind, value)

    def _scalar(self, json: ScalarJson) -> TorchValue:
        if json.as_name is not None:
            self.has_scalars = True
            return ScalarName(json.as_name)
        if json.as_float is not None:
            return self._real(json.as_float)
        return json.as_int if json.as_int is not None else json.as_bool

    def _real(self, value: float | str) -> float:
        """A float, which the JSON writes as a text where it is infinite or no number."""
        try:
            return float(value)
        except ValueError:
            raise self.archive.corrupt(
                f"found '{value[:20] if isinstance(value, str) else value}' as a float"
            ) from None

    # types

    def _tensor(self, json: TensorJson) -> TensorType:
        sizes = tuple(map(self._whole, json.sizes))
        strides = tuple(map(self._whole, json.strides))
        dtype = DTYPES.get(json.dtype, f"type {json.dtype}")
        layout = _LAYOUTS.get(json.layout, "sparse")
        device = json.device.type if json.device is not None else ""
        return TensorType(dtype, sizes, strides, self._whole(json.storage_offset), layout, device, json.requires_grad)

    def _whole(self, json: SizeJson) -> Size:
        value = self.size(json)
        if isinstance(value, SizeExpression) or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
            return value
        raise self.archive.corrupt(f"found the size {value}, expected a whole number")

    def size(self, json: SizeJson) -> Scalar:
        """A number, or the expression of one."""
        if json.as_int is not None:
            return json.as_int
        if json.as_expr is None:
            if json.as_bool is not None:
                return json.as_bool
            return self._real(json.as_float if json.as_float is not None else "missing")
        text = json.as_expr.expr_str
        try:
            expression = self._expressions.get(text) or SizeExpression.parse(text)
        except ExpressionError as error:
            raise self.archive.error(str(error)) from None
        self._expressions[text] = expression
        hint = json.as_expr.hint
        if hint is not None:
            for value in (hint.as_int, hint.as_bool):
                if value is not None:
                    self.hints[expression] = value
            if hint.as_float is not None:
                self.hints[expression] = self._real(hint.as_float)
        return expression


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
