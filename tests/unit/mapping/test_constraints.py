"""The words of constraints, what they mean for contractions, and what is said where nothing meets them."""

import re
from collections.abc import Mapping

import pytest

from npuc.compiler.analysis.mapping.constraints.limits import WHOLE, LevelConstraint, TileLimit
from npuc.compiler.analysis.mapping.constraints.resolve import (
    Dimensions,
    constraints_of,
    dimensions_of,
    dimensions_of_layer,
)
from npuc.compiler.analysis.mapping.constraints.rules import NO_RULES
from npuc.compiler.analysis.mapping.constraints.words import WrongWords, read_order, read_tiles
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.explore.mapping.mapper import ALGORITHMS
from npuc.compiler.explore.mapping.result import Settings
from npuc.compiler.explore.mapping.searcher import key_of
from npuc.dialects.mapping import Clusters, Problem
from npuc.dialects.provenance import layer_of, role_of
from npuc.hardware import load_constraints
from tests.unit.mapping.constrained import NETWORK, rules, search, tasks
from tests.unit.mapping.texts import clusters_of


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
    assert limits(tiles="R=all", level=2) == {}


def test_what_a_contraction_lacks_plays_no_part() -> None:
    """Neither in its own place nor as a size; a bound of a size that there is not leaves the others."""
    _, op = tasks(search("nvdla", rules({"spread": "K"})))["y", "forward"]
    dims = dimensions_of(op.nest)
    (rows,) = dims.places("Y")
    for tiles, limit in (
        ("Y<=R", None),
        ("Y=R m<=3", TileLimit(most=3)),
        ("Y=2 X=R", TileLimit((2,))),
        ("Y=o R=2", None),
        ("Y<=K", TileLimit(most=32)),
    ):
        (rule,) = rules({"tiles": tiles, "level": 1}).rules
        found = constraints_of(rule.atoms(), dims, 2, 8, divisors=False).levels[0]
        assert found.limit(rows) == limit, tiles
    (rule,) = rules({"spread": "R", "must": "R", "order": "R S", "level": 1}).rules
    found = constraints_of(rule.atoms(), dims, 2, 8, divisors=False).levels[0]
    assert (found.may, found.must, found.before) == ((), (), ())


def test_rows_of_a_product_multiply_within_a_rule() -> None:
    """In two rules each is a tile of the rows by itself: no rule changes what another one means."""
    _, op = tasks(search("nvdla", rules({"spread": "K"})))["y", "forward"]
    dims = dimensions_of(op.nest)
    (rows,) = dims.places("Y")

    def limit(*tiles: str) -> TileLimit | None:
        own = rules(*({"tiles": one, "level": 1} for one in tiles)).rules
        atoms = [atom for rule in own for atom in rule.atoms()]
        return constraints_of(atoms, dims, 2, 8, divisors=False).levels[0].limit(rows)

    assert limit("Y=4 X=2") == TileLimit((8,))
    assert limit("Y=4", "X=2") == TileLimit((2, 4))
    with pytest.raises(CapacityError, match="tiles 'Y=4' at level 1 and tiles 'X=2' at level 1"):
        assert search("nvdla", rules(*({"tiles": one, "level": 1, "layers": "y"} for one in ("Y=4", "X=2")))).distinct


def test_of_several_dimensions_of_a_role_the_innermost_comes_first() -> None:
    """Of a tile it takes what it has, the next one the rest; of those with several elements it must be spread."""
    dims = Dimensions((4, 6, 1, 8), {"K": (0, 1, 2), "C": (3,)}, "product")

    def level(**row: object) -> LevelConstraint:
        (rule,) = rules({**row, "level": 1}).rules
        return constraints_of(rule.atoms(), dims, 2, 8, divisors=False).levels[0]

    assert level(must="K").must == (1,)
    assert level(must="K C").must == (1, 3)
    assert level(spread="K").may == (0, 1, 2)
    assert dict(level(tiles="K=12").tiles) == {0: TileLimit((2,)), 1: TileLimit((12,)), 2: TileLimit((12,))}
    assert dict(level(tiles="K<=3").tiles) == {0: TileLimit(most=1), 1: TileLimit(most=3), 2: TileLimit(most=3)}
    assert dict(level(tiles="K>=all").tiles) == {at: TileLimit(least=WHOLE) for at in range(3)}


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
    with pytest.raises(CapacityError) as raised:
        assert search("nvdla", rules({"layers": "a", "tiles": "K=64"})).distinct
    assert raised.value.message == (
        "test: a (forward): a buffer of 6 elements (maestro.l1_size) is too small for tiles 'K=64', whose smallest "
        "tiles take 258"
    )
    assert raised.value.hint == "a larger maestro.l1_size"
    small = {"maestro.l1_size": 1 << 16, "maestro.l2_size": 100}
    with pytest.raises(CapacityError) as raised:
        assert search("nvdla", rules({"layers": "a", "tiles": "C=32"}), **small).distinct
    assert "a buffer of 100 elements (maestro.l2_size) is too small for tiles 'C=32', whose" in raised.value.message
    assert raised.value.hint == "a larger maestro.l2_size"


def test_equal_demands_of_two_levels_are_one_of_both() -> None:
    """Of a conflict with the buffers, which no one would read as one of a demand with itself."""
    with pytest.raises(CapacityError) as raised:
        assert search("nvdla", load_constraints("eyeriss")).distinct
    assert raised.value.message == (
        "a (forward): a buffer of 6 elements (maestro.l1_size) is too small for tiles 'S=all' at level 1 and at level "
        "2 (line 18), whose smallest tiles take 14"
    )


def test_equal_layers_of_which_one_is_constrained() -> None:
    """Each is searched by itself, and only the one that the rule is for meets it."""
    network = NETWORK.replace(
        "  y = linear(global_avg_pool(relu(b)), 32)",
        "  c = conv2d(relu(b), 64, kernel=1)\n  d = conv2d(relu(c), 64, kernel=1)\n"
        "  y = linear(global_avg_pool(relu(d)), 32)",
    )
    found = search("nvdla", rules({"level": 1, "layers": "d", "spread": "Y", "must": "Y"}), network)
    found.run("net", "net.dsl", lambda count: None)
    own = {(layer_of(op), role_of(op).value): op for op in found.contracts}
    free, bound = own["c", "forward"], own["d", "forward"]
    assert free.nest.dims == bound.nest.dims
    names = [name for name, _ in bound.nest.dims]
    spread = [
        {loop.dim for loop in op.mapping_attr.data.levels[0].loops if loop.spatial < loop.temporal}
        for op in (free, bound)
        if op.mapping_attr is not None and isinstance(op.mapping_attr.data, Clusters)
    ]
    assert "y" in names
    assert spread[1] == {"y"} != spread[0]
    assert len(found.distinct) == len(search("nvdla", rules({"spread": "K"}), network).distinct) + 3


def test_mappings_of_fewer_levels_have_nothing_inside() -> None:
    """What they give an element is its tile at every level inside; those of more levels meet no constraints."""
    one = clusters_of("4 [o : 64 / 16, i : 1, y : 1, x : 1, r : 1, s : 1, b : 1]")
    two = Clusters((*one.levels, *clusters_of("2 [o : 16 / 8]").levels))
    three = Clusters((*two.levels, *two.levels))

    def allows(mapping: Clusters, *rows: Mapping[str, object]) -> bool:
        task, _ = tasks(search("nvdla", rules(*rows)))["a", "forward"]
        return task.allows(mapping)

    outside: Mapping[str, object] = {"level": 1, "spread": "K", "tiles": "K<=16"}
    assert allows(one, outside, {"level": 2, "tiles": "K=all C=1", "fanout": 1})
    assert not allows(one, outside, {"level": 2, "must": "K"})
    assert not allows(one, outside, {"level": 2, "tiles": "K<=8", "layers": "a"})
    assert not allows(one, {"level": 1, "spread": "C"})
    assert allows(two, outside, {"level": 2, "must": "K", "tiles": "K<=8"})
    assert not allows(three, outside)
    free, _ = tasks(search("nvdla", NO_RULES))["a", "forward"]
    assert all(map(free.allows, (one, two, three)))


def test_a_record_is_that_of_a_version_of_its_mapper(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else an algorithm's proposals depend on is part of the key under which costs are kept."""
    task, _ = tasks(search("nvdla", NO_RULES))["a", "forward"]
    settings = Settings("time", "random", 300, 0, 2, 1, "divisors")
    before = key_of(task, settings)
    assert key_of(task, settings) == before
    monkeypatch.setattr(type(ALGORITHMS.get("random")), "version", property(lambda self: "another"))
    assert key_of(task, settings) != before


def test_dimensions_that_one_level_cannot_spread() -> None:
    with pytest.raises(CapacityError, match="must 'Y' at level 1 and must 'X' at level 1") as raised:
        assert search("nvdla", rules({"level": 1, "layers": "a", "must": "Y X"})).distinct
    assert raised.value.hint == "--spread 2 or 3, so that a level may spread several dimensions"


def test_levels_that_mappings_have_not() -> None:
    with pytest.raises(UsageError, match="level 3 of mappings that have 2"):
        assert search("nvdla", rules({"level": 3, "spread": "K"})).distinct
