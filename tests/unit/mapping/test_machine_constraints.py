"""The machines that npuc has constraints of: what they allow, and what not."""

import pytest

from npuc.compiler.analysis.mapping.named.clusters import named_clusters
from npuc.compiler.analysis.mapping.named.templates import template_named
from npuc.dialects.mapping import ClusterLevel, Clusters, TileLoop
from npuc.dialects.provenance import layer_of, role_of
from npuc.hardware import constraint_names, load_constraints
from tests.unit.mapping.constrained import search, tasks
from tests.unit.mapping.texts import clusters_of

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


# Of each machine a mapping that it allows, and changes of it that it does not.
OUTSIDE: dict[str, tuple[tuple[str, dict[str, int], str], str, dict[str, str]]] = {
    "tpu": (
        ("tpu-v1", {}, "a"),
        "256 [o : 64 / 16, i : 32, y : 14, r : 1], 256 [i : 32 / 1, o : 1, y : 1, x : 1, r : 1, s : 1]",
        {"o : 64 / 16": "o : 64 / 32", "i : 32 / 1, o : 1": "i : 1, o : 16 / 1", "[o : 64 / 16, i": "[i"},
    ),
    "nvdla": (
        ("nvdla", {}, "b"),
        "32 [i : 64 / 2, y : 1, x : 1, r : 1, s : 1, b : 1], 64 [i : 2 / 1, y : 1, x : 1, r : 1, s : 1, b : 1]",
        {
            "64 / 2, y : 1, x : 1": "2, y : 1, x : 14 / 1",
            "64 / 2, y : 1": "64 / 2, y : 14",
            "64 [i : 2 / 1": "32 [i : 2 / 1",
        },
    ),
    "shidiannao": (
        ("nvdla", {"maestro.num_pes": 64}, "y"),
        "8 [n : 1, m : 4 / 1, k : 1], 8 [m : 1, n : 1, k : 1]",
        {
            "n : 1, m : 4 / 1": "n : 8 / 1, m : 1",
            "m : 4 / 1, k : 1": "m : 4 / 1, k : 2",
        },
    ),
    "eyeriss": (
        ("nvdla", {"maestro.num_pes": 168, "maestro.l1_size": 1 << 10}, "a"),
        "14 [y : 14 / 1, x : 1, i : 1, o : 16, b : 1], 3 [r : 3 / 1, i : 1, y : 1]",
        {"i : 1, o : 16": "i : 1, o : 32", "y : 14 / 1, x : 1": "y : 1, x : 14 / 1", "r : 3 / 1": "r : 1"},
    ),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_a_machine_does_not_support_is_refused(name: str) -> None:
    (hardware, settings, layer), inside, changes = OUTSIDE[name]
    task, _ = tasks(search(hardware, load_constraints(name), **settings))[layer, "forward"]
    assert task.allows(clusters_of(inside))
    for old, new in changes.items():
        assert inside.count(old) == 1, old
        assert not task.allows(clusters_of(inside.replace(old, new))), new


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
