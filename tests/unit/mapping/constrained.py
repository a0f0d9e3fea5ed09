"""Searches under constraints: of a network with a convolution, a depthwise one and a product."""

from collections.abc import Mapping

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.constraints.rules import MapRules, rules_of
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.mapping.result import Settings
from npuc.compiler.explore.mapping.search import Search
from npuc.compiler.explore.mapping.task import ExactTask
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of, role_of
from npuc.frontends.source import text_source
from npuc.hardware import load_hardware

NETWORK = """
network net(batch = 4) {
  input x: f32[batch, 32, 14, 14]
  labels t: i32[batch]
  a = conv2d(x, 64, kernel=3, padding=1)
  b = conv2d(relu(a), 64, kernel=3, padding=1, groups=64)
  y = linear(global_avg_pool(relu(b)), 32)
  loss cross_entropy(y, t)
  optimizer sgd(lr=0.01)
}
"""


def search(hardware: str, found: MapRules, network: str = NETWORK, /, **overrides: object) -> Search:
    """The search of a network on a machine, under rules."""
    options: CompileKeywords = {"hardware": hardware, "overrides": overrides, "mapping": None}
    module, machine = lowered_module(
        text_source(network, "dsl", "net.dsl"), get_backend("maestro"), options, lambda text: None, []
    )
    return Search(module, machine, Settings("time", "genetic", 300, 0, 2, 1, "divisors"), found)


def tasks(found: Search) -> dict[tuple[str, str], tuple[ExactTask, ContractOp]]:
    """The contractions by layer and phase."""
    result: dict[tuple[str, str], tuple[ExactTask, ContractOp]] = {}
    for task, op in found.distinct.values():
        assert isinstance(task, ExactTask)
        result[layer_of(op), role_of(op).value] = task, op
    return result


def rules(*rows: Mapping[str, object]) -> MapRules:
    return rules_of(load_hardware({"constraints.rules": list(rows)}).values, "test", None)
