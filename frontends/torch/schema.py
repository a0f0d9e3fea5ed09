"""
The JSON of an exported program, as PyTorch's schema 8 lays it out: what is read of it, in types that check it.

Fields that PyTorch adds within a major version are skipped. Source: torch/_export/serde/schema.py of PyTorch 2.13,
which writes 8.20. A union is an object of which one field is set.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

MAJOR = 8
"""The major version of the schema that is read."""


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
    arg: ArgumentJson
    kind: int | None = None


class NodeJson(JsonObject):
    """A call of an operator."""

    target: str
    inputs: list[NamedArgumentJson]
    outputs: list[ArgumentJson]
    metadata: dict[str, str] = {}
    name: str | None = None


class GraphJson(JsonObject):
    """A graph: calls in order, and the types of all values."""

    inputs: list[ArgumentJson]
    outputs: list[ArgumentJson]
    nodes: list[NodeJson]
    tensor_values: dict[str, TensorJson]
    sym_int_values: dict[str, SizeJson] = {}
    sym_bool_values: dict[str, SizeJson] = {}
    sym_float_values: dict[str, SizeJson] = {}
    custom_obj_values: dict[str, ObjectJson] = {}


class SubgraphJson(JsonObject):
    """A graph that an operator takes."""

    name: str
    graph: GraphJson


class LiteralJson(JsonObject):
    """The value of an input that is no tensor."""

    as_none: bool | None = None
    as_int: int | None = None
    as_float: float | str | None = None
    as_string: str | None = None
    as_bool: bool | None = None


class UserInputJson(JsonObject):
    """An input of the model."""

    arg: ArgumentJson


class ParameterInputJson(JsonObject):
    """A parameter."""

    arg: NameJson
    parameter_name: str


class BufferInputJson(JsonObject):
    """A buffer."""

    arg: NameJson
    buffer_name: str
    persistent: bool = True


class ConstantInputJson(JsonObject):
    """A tensor that the forward function holds."""

    arg: NameJson
    tensor_constant_name: str


class ObjectInputJson(JsonObject):
    """An object of another class."""

    arg: ObjectJson
    custom_obj_name: str


class TokenInputJson(JsonObject):
    """An order of effects."""

    arg: NameJson


class LiteralInputJson(JsonObject):
    """An input that is no tensor, at the value of the example."""

    name: str
    value: LiteralJson


class InputSpecJson(JsonObject):
    """What an input of the top graph is."""

    user_input: UserInputJson | None = None
    parameter: ParameterInputJson | None = None
    buffer: BufferInputJson | None = None
    tensor_constant: ConstantInputJson | None = None
    custom_obj: ObjectInputJson | None = None
    token: TokenInputJson | None = None
    constant_input: LiteralInputJson | None = None


class UserOutputJson(JsonObject):
    """An output of the model."""

    arg: ArgumentJson


class NamedOutputJson(JsonObject):
    """A tensor that becomes the value of a parameter, buffer or input, its gradient, a loss or a token."""

    arg: NameJson
    buffer_name: str = ""
    parameter_name: str = ""
    user_input_name: str = ""


class OutputSpecJson(JsonObject):
    """What an output of the top graph is."""

    user_output: UserOutputJson | None = None
    loss_output: NamedOutputJson | None = None
    buffer_mutation: NamedOutputJson | None = None
    parameter_mutation: NamedOutputJson | None = None
    user_input_mutation: NamedOutputJson | None = None
    gradient_to_parameter: NamedOutputJson | None = None
    gradient_to_user_input: NamedOutputJson | None = None
    token: NamedOutputJson | None = None


class SignatureJson(JsonObject):
    """What inputs and outputs of the top graph are."""

    input_specs: list[InputSpecJson]
    output_specs: list[OutputSpecJson]


class CallSignatureJson(JsonObject):
    """How a module is called: the structure of its arguments and results, and the names of the arguments."""

    in_spec: str = ""
    out_spec: str = ""
    forward_arg_names: list[str] | None = None


class ModuleCallJson(JsonObject):
    """A call of a module."""

    fqn: str
    signature: CallSignatureJson | None = None


class GraphModuleJson(JsonObject):
    """The top graph, its signature, and the modules that the model calls."""

    graph: GraphJson
    signature: SignatureJson
    module_call_graph: list[ModuleCallJson] = []


class RangeJson(JsonObject):
    """The range of a symbol, both ends included."""

    min_val: int | None = None
    max_val: int | None = None


class VersionJson(JsonObject):
    """A version of the schema."""

    major: int
    minor: int


class ProgramJson(JsonObject):
    """An exported program."""

    graph_module: GraphModuleJson
    schema_version: VersionJson
    opset_version: dict[str, int] = {}
    range_constraints: dict[str, RangeJson] = {}
    torch_version: str = ""
    verifiers: list[str] = []
    guards_code: list[str] = []


class HeadJson(JsonObject):
    """What is read of a program of any version first."""

    schema_version: VersionJson
    graph_module: Raw = Raw()
    torch_version: str = ""


class PayloadJson(JsonObject):
    """Where the value of a parameter, buffer or constant is."""

    path_name: str
    is_param: bool = False
    use_pickle: bool = False
    tensor_meta: TensorJson | None = None


class PayloadsJson(JsonObject):
    """The values of a model by their names."""

    config: dict[str, PayloadJson]


Set = tuple[str, Any]


def set_field(union: JsonObject) -> Set | None:
    """The field of a union that is set, and its value; None where none that npuc knows is."""
    for name in union.__struct_fields__:
        value = getattr(union, name)
        if value is not None:
            return name, value
    return None
