"""
The JSON of graphs in an exported program: values, types, calls.

What calls repeat (arguments, types, traces) stays as it is written, `Raw`: equal texts are read once.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct, field


class JsonObject(Struct):
    """An object of the JSON."""


class NameJson(JsonObject):
    """A tensor or token."""

    name: str


class HintJson(JsonObject):
    """The value that an expression had in the example."""

    as_int: int | None = None
    as_bool: bool | None = None
    as_float: float | str | None = None


class ExpressionJson(JsonObject):
    """An expression as text."""

    expr_str: str
    hint: HintJson | None = None


class SizeJson(JsonObject):
    """A whole number, float or truth value, or an expression for one."""

    as_int: int | None = None
    as_expr: ExpressionJson | None = None
    as_bool: bool | None = None
    as_float: float | str | None = None


class ScalarJson(JsonObject):
    """A number, or the name of one that is computed."""

    as_name: str | None = None
    as_int: int | None = None
    as_bool: bool | None = None
    as_float: float | str | None = None


class OptionalTensorJson(JsonObject):
    """A tensor, or none."""

    as_tensor: NameJson | None = None
    as_none: bool | None = None


class DeviceJson(JsonObject):
    """A device."""

    type: str
    index: int | None = None


class ObjectJson(JsonObject):
    """An object of a class that PyTorch does not define."""

    name: str
    class_fqn: str = ""


class ComplexJson(JsonObject):
    """A complex number."""

    real: float | str
    imag: float | str


class TensorJson(JsonObject):
    """The type of a tensor."""

    dtype: int
    sizes: list[SizeJson]
    strides: list[SizeJson]
    storage_offset: SizeJson
    layout: int = 7
    requires_grad: bool = False
    device: DeviceJson | None = None


class ArgumentJson(JsonObject):
    """A value of any kind."""

    as_tensor: NameJson | None = None
    as_int: int | None = None
    as_none: bool | None = None
    as_ints: list[int] | None = None
    as_float: float | str | None = None
    as_bool: bool | None = None
    as_tensors: list[NameJson] | None = None
    as_scalar_type: int | None = None
    as_device: DeviceJson | None = None
    as_sym_int: ScalarJson | None = None
    as_sym_ints: list[ScalarJson] | None = None
    as_string: str | None = None
    as_layout: int | None = None
    as_memory_format: int | None = None
    as_optional_tensors: list[OptionalTensorJson] | None = None
    as_optional_tensor: OptionalTensorJson | None = None
    as_floats: list[float | str] | None = None
    as_bools: list[bool] | None = None
    as_strings: list[str] | None = None
    as_sym_float: ScalarJson | None = None
    as_sym_floats: list[ScalarJson] | None = None
    as_sym_bool: ScalarJson | None = None
    as_sym_bools: list[ScalarJson] | None = None
    as_graph: SubgraphJson | None = None
    as_custom_obj: ObjectJson | None = None
    as_operator: str | None = None
    as_complex: ComplexJson | None = None
    as_nested_tensors: list[list[NameJson]] | None = None
    as_int_lists: list[list[int]] | None = None
    as_float_lists: list[list[float | str]] | None = None
    as_string_to_argument: dict[str, ArgumentJson] | None = None


class NamedArgumentJson(JsonObject):
    """An argument of a call."""

    name: str
    arg: Raw
    kind: int | None = None


class MetadataJson(JsonObject):
    """Where a call comes from: texts of the modules around it, and of the lines of source."""

    nn_module_stack: Raw = Raw()
    stack_trace: Raw = Raw()


class NodeJson(JsonObject):
    """A call of an operator; inputs are named arguments, outputs `ArgumentJson`."""

    target: str
    inputs: list[NamedArgumentJson]
    outputs: list[Raw]
    metadata: MetadataJson = field(default_factory=MetadataJson)
    name: str | None = None


class GraphJson(JsonObject):
    """A graph: calls in order, and the types of all values; inputs and outputs are `ArgumentJson`."""

    inputs: list[Raw]
    outputs: list[Raw]
    nodes: list[NodeJson]
    tensor_values: dict[str, Raw]
    sym_int_values: dict[str, SizeJson] = field(default_factory=dict[str, SizeJson])
    sym_bool_values: dict[str, SizeJson] = field(default_factory=dict[str, SizeJson])
    sym_float_values: dict[str, SizeJson] = field(default_factory=dict[str, SizeJson])
    custom_obj_values: dict[str, ObjectJson] = field(default_factory=dict[str, ObjectJson])


class SubgraphJson(JsonObject):
    """A graph that an operator takes."""

    name: str
    graph: GraphJson


Set = tuple[str, Any]


def set_field(union: JsonObject) -> Set | None:
    """The field of a union that is set, and its value; None where none that npuc knows is."""
    for name in union.__struct_fields__:
        value = getattr(union, name)
        if value is not None:
            return name, value
    return None
