"""The words of constraints, what they mean for contractions, and the machines that npuc has them of."""

import re
from collections.abc import Mapping

import pytest

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.constraints.limits import WHOLE, TileLimit
from npuc.compiler.analysis.mapping.constraints.resolve import constraints_of, dimensions_of, dimensions_of_layer
from npuc.compiler.analysis.mapping.constraints.rules import MapRules, rules_of
from npuc.compiler.analysis.mapping.constraints.words import WrongWords, read_order, read_tiles
from npuc.compiler.analysis.mapping.named.clusters import named_clusters
from npuc.compiler.analysis.mapping.named.templates import template_named
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.mapping.result import Settings
from npuc.compiler.explore.mapping.search import Search
from npuc.compiler.explore.mapping.task import ExactTask
from npuc.dialects.mapping import ClusterLevel, Clusters, Problem, TileLoop
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of, role_of
from npuc.frontends.source import text_source
from npuc.hardware import constraint_names, load_constraints, load_hardware

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


def search(hardware: str, found: MapRules, **overrides: object) -> Search:
    """The search of the network on a machine, under rules."""
    options: CompileKeywords = {"hardware": hardware, "overrides": overrides, "mapping": None}
    module, machine = lowered_module(
        text_source(NETWORK, "dsl", "net.dsl"), get_backend("maestro"), options, lambda text: None, []
    )
    return Search(module, machine, Settings("time", "genetic", 300, 0, 2, 1, "divisors"), found)


def tasks(found: Search) -> dict[tuple[str, str], tuple[ExactTask, ContractOp]]:
    """The contractions by layer and phase."""
    result: dict[tuple[str, str], tuple[ExactTask, ContractOp]] = {}
    for task, op in found.distinct.values():
        assert isinstance(task, ExactTask)
        result[layer_of(op), role_of(op).value] = task, op
    return result


def test_words() -> None:
    assert read_order("K C * X").names == ("K", "C", "X")
    assert read_order("K C * X").others == 2
    assert [str(tile) for tile in read_tiles("K=16 C<=64 Y=R X>=all m=2")] == ["K=16", "C<=64", "Y=R", "X>=all", "m=2"]
    for read, text, said in (
        (read_order, "K K", "'K K' has K twice"),
        (read_order, "* K *", "expected '*' once, got '* K *'"),
        (read_order, "*", "expected dimensions, got '*'"),
        (read_order, "Q", "expected K, C, R, S, Y, X, N or G, or a contraction's own dimension, got 'Q'"),
        (read_tiles, "K", "expected tiles like K=16, C<=64, Y=R or X=all, got 'K'"),
        (read_tiles, "K<16", "expected tiles like K=16, C<=64, Y=R or X=all, got 'K<16'"),
        (read_tiles, "K=0", "expected a tile from 1 to 1,099,511,627,776, got 'K=0'"),
        (read_tiles, "all=2", "expected K, C, R, S, Y, X, N or G, or a contraction's own dimension, got 'all'"),
    ):
        with pytest.raises(WrongWords, match=f"^{re.escape(said)}$"):
            read(text)


def rules(*rows: Mapping[str, object]) -> MapRules:
    return rules_of(load_hardware({"constraints.rules": list(rows)}).values, "test", None)


def test_roles_are_those_of_each_phase() -> None:
    """K are output channels of the product that runs: those of the input in dX; rows of a product are Y and X."""
    found = tasks(search("nvdla", rules({"spread": "K"})))
    named = {key: dimensions_of(op.nest) for key, (_, op) in found.items()}
    names = {key: [name for name, _ in op.nest.dims] for key, (_, op) in found.items()}

    def of(layer: str, phase: str, role: str) -> list[str]:
        return [names[layer, phase][at] for at in named[layer, phase].places(role)]

    assert [of("a", "forward", role) for role in "KCYXRSN"] == [["o"], ["i"], ["y"], ["x"], ["r"], ["s"], ["b"]]
    assert (of("a", "dw", "K"), of("a", "dw", "C")) == (["o"], ["i"])
    assert (of("b", "dx", "K"), of("b", "dx", "C"), named["b", "dx"].kind) == ([], ["i"], "depthwise")
    assert [of("y", "forward", role) for role in "KCYX"] == [["n"], ["k"], ["m"], ["m"]]
    assert [of("y", "dx", role) for role in "KC"] == [["k"], ["n"]]
    assert {key: one.kind for key, one in named.items()} == {
        **dict.fromkeys([("a", "forward"), ("a", "dw")], "convolution"),
        **dict.fromkeys([("b", phase) for phase in ("forward", "dx", "dw")], "depthwise"),
        **dict.fromkeys([("y", phase) for phase in ("forward", "dx", "dw")], "product"),
    }


def test_tiles_of_dimensions() -> None:
    """A name stands for a size, `all` for what is given; rows of a product are tiles of Y times tiles of X."""
    _, op = tasks(search("nvdla", rules({"spread": "K"})))["y", "forward"]
    dims = dimensions_of(op.nest)
    at = {name: place for place, (name, _) in enumerate(op.nest.dims)}

    def limits(**row: object) -> dict[int, TileLimit]:
        (rule,) = rules(row).rules
        return dict(constraints_of(rule.atoms(), dims, 2, 8, divisors=False).levels[0].tiles)

    assert limits(tiles="K=C C<=all") == {at["n"]: TileLimit((64,)), at["k"]: TileLimit(most=WHOLE)}
    assert limits(tiles="Y=2 X=3") == {at["m"]: TileLimit((6,))}
    assert limits(tiles="Y=R m<=3") == {at["m"]: TileLimit((1,), most=3)}
    assert limits(tiles="R=all", level=2) == {}


def test_all_others_have_their_place_in_an_order() -> None:
    """Without `*` they may be anywhere; with it those before it are outside of them, those behind it inside."""
    _, op = tasks(search("nvdla", rules({"spread": "K"})))["y", "forward"]
    dims = dimensions_of(op.nest)
    at = {place: name for place, (name, _) in enumerate(op.nest.dims)}

    def before(order: str) -> set[str]:
        (rule,) = rules({"order": order}).rules
        pairs = constraints_of(rule.atoms(), dims, 2, 8, divisors=False).levels[1].before
        return {at[outer] + at[inner] for outer, inner in pairs}

    assert before("K C") == {"nk"}
    assert before("K *") == {"nk", "nm"}
    assert before("* K") == {"kn", "mn"}
    assert before("K * C") == {"nk", "nm", "mk"}


def test_of_several_shares_of_elements_the_largest_counts() -> None:
    _, op = tasks(search("nvdla", rules({"spread": "K"})))["y", "forward"]
    for shares in ((0.25, 0.5), (0.5, 0.25)):
        own = rules(*({"utilization": share} for share in shares), *({"utilization": s, "level": 1} for s in shares))
        atoms = [atom for rule in own.rules for atom in rule.atoms()]
        found = constraints_of(atoms, dimensions_of(op.nest), 2, 8, divisors=False)
        assert (found.utilization, [level.utilization for level in found.levels]) == (0.5, [0.5, 0.0])


def test_layers_in_the_terms_of_directives() -> None:
    """The same roles, and own names, of the layer that mode parity searches."""
    conv = dimensions_of_layer(Problem("CONV", (("K", 4), ("C", 2), ("R", 3), ("S", 3), ("Y", 8), ("X", 8))))
    names = Problem("CONV", (("K", 4), ("C", 2), ("R", 3), ("S", 3), ("Y", 8), ("X", 8))).named
    assert [names[conv.places(name)[0]] for name in ("K", "o", "C", "i", "Y", "y")] == ["K", "K", "C", "C", "Y", "Y"]
    assert conv.size("Y") == 6
    gemm = dimensions_of_layer(Problem("GEMM", (("M", 4), ("N", 2), ("K", 3))))
    assert [gemm.size(name) for name in ("K", "n", "C", "k", "Y", "m")] == [2, 2, 3, 3, 4, 4]


CONFLICTS: dict[str, tuple[tuple[Mapping[str, object], ...], list[str]]] = {
    "two tiles": (({"level": 1, "tiles": "K=4"}, {"level": 1, "tiles": "K=2 C=1"}), ["tiles 'K=4'", "tiles 'K=2'"]),
    "a circle": (
        ({"order": "K C"}, {"order": "C Y", "spread": "K"}, {"order": "Y K"}),
        ["order 'K C'", "order 'C Y'", "order 'Y K'"],
    ),
    "whole and spread": (({"level": 1, "must": "K", "tiles": "K=all"},), ["must 'K'", "tiles 'K=all'"]),
    "not allowed": (({"level": 2, "must": "K", "spread": "C"},), ["spread 'C'", "must 'K'"]),
    "no such cluster": (({"level": 2, "fanout": 48},), ["fanout 48"]),
    "idle": (
        ({"level": 1, "spread": "none", "utilization": 0.5, "fanout": 32},),
        ["spread 'none'", "fanout 32", "utilization 0.5"],
    ),
    "of all": (({"spread": "none"}, {"utilization": 0.5}), ["spread 'none'", "utilization 0.5"]),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_a_smallest_conflict_is_named(name: str) -> None:
    rows, wanted = CONFLICTS[name]
    with pytest.raises(CapacityError) as raised:
        assert search("nvdla", rules({"tiles": "S<=7"}, *rows)).distinct
    said = raised.value.message.partition(" meet ")[2]
    assert [re.sub(r" at level \d", "", one) for one in re.split(r", | and ", said)] == wanted


def test_tiles_that_the_buffers_cannot_hold() -> None:
    with pytest.raises(CapacityError, match="no mapping on 2,048 elements can meet tiles 'K=64'") as raised:
        assert search("nvdla", rules({"layers": "a", "tiles": "K=64"})).distinct
    assert raised.value.hint == "the smallest tiles that they leave do not fit into the machine's buffers"


def test_dimensions_that_one_level_cannot_spread() -> None:
    with pytest.raises(CapacityError, match="must 'Y' at level 1 and must 'X' at level 1") as raised:
        assert search("nvdla", rules({"level": 1, "layers": "a", "must": "Y X"})).distinct
    assert raised.value.hint == "--spread 2 or 3, so that a level may spread several dimensions"


def test_levels_that_mappings_have_not() -> None:
    with pytest.raises(UsageError, match="level 3 of mappings that have 2"):
        assert search("nvdla", rules({"level": 3, "spread": "K"})).distinct


# Of each machine the dataflow that was published for it, its elements, and the layers.
PUBLISHED = {
    "nvdla": ("kcp_ws", 2048, (("a", "forward"), ("a", "dw"), ("y", "forward"), ("y", "dx"))),
    "eyeriss": ("rs", 168, (("a", "forward"), ("a", "dw"))),
    "shidiannao": ("yxp_os", 64, (("a", "forward"), ("a", "dw"), ("b", "forward"))),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_dataflows_are_within_their_machines(name: str) -> None:
    dataflow, pes, layers = PUBLISHED[name]
    settings = {"maestro.num_pes": pes, "maestro.l1_size": 1 << 16}
    found = tasks(search("nvdla", load_constraints(name), **settings))
    for layer in layers:
        task, op = found[layer]
        assert task.allows(named_clusters(template_named(dataflow), op.nest, op.nest.statements[0], pes)), layer


def test_the_dataflow_of_a_tpu_is_within_its_machine() -> None:
    """Output channels in tiles of 16 over columns, input channels over rows, one row at a time (GAMMA's example)."""
    task, _ = tasks(search("tpu-v1", load_constraints("tpu")))["a", "forward"]
    outer = ClusterLevel(
        256, (TileLoop("o", 64, 16), TileLoop("i", 32, 32), TileLoop("y", 14, 14), TileLoop("r", 1, 1))
    )
    inner = ClusterLevel(256, tuple(TileLoop(dim, 1, 1) for dim in "oyxrs"))
    spread = ClusterLevel(256, (TileLoop("i", 32, 1), *inner.loops))
    assert task.allows(Clusters((outer, spread)))
    assert not task.allows(Clusters((spread, outer)))


def test_there_are_four_machines() -> None:
    assert constraint_names() == ("eyeriss", "nvdla", "shidiannao", "tpu")


@pytest.mark.parametrize(("name", "hardware"), [(n, "tpu-v1" if n == "tpu" else "eyeriss") for n in constraint_names()])
def test_what_is_found_meets_the_machine(name: str, hardware: str) -> None:
    """Of all layers in all phases, checked by the mapping as it is written."""
    settings = {"maestro.num_pes": 256} if name == "nvdla" else {}
    found = search(hardware, load_constraints(name), **settings)
    known = {key: task for key, (task, _) in tasks(found).items()}
    found.run("net", "net.dsl", lambda count: None)
    for op in found.contracts:
        mapping = op.mapping_attr
        assert mapping is not None
        assert isinstance(mapping.data, Clusters)
        task = known.get((layer_of(op), role_of(op).value))
        assert task is not None
        assert task.allows(mapping.data), f"{layer_of(op)} {role_of(op).value} {mapping.data}"
