"""The JSON of what the inputs and outputs of an exported program are."""

from __future__ import annotations

from npuc.frontends.torch.schema.values import ArgumentJson, JsonObject, NameJson, ObjectJson


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
