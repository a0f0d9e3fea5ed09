"""The JSON of an exported program around its graphs."""

from __future__ import annotations

from msgspec import Raw, field

from npuc.frontends.torch.schema.signature import SignatureJson
from npuc.frontends.torch.schema.values import GraphJson, JsonObject, TensorJson

MAJOR = 8
"""The major version of the schema that is read."""


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
    module_call_graph: list[ModuleCallJson] = field(default_factory=list[ModuleCallJson])


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
    opset_version: dict[str, int] = field(default_factory=dict[str, int])
    range_constraints: dict[str, RangeJson] = field(default_factory=dict[str, RangeJson])
    torch_version: str = ""
    verifiers: list[str] = field(default_factory=list[str])
    guards_code: list[str] = field(default_factory=list[str])


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
