"""The rules that a mapping breaks, one by one, are those without which it would meet them all."""

from random import Random

import pytest

from npuc.compiler.analysis.mapping.constraints.broken import Constrained, broken, meets_all
from npuc.compiler.analysis.mapping.constraints.resolve import constraints_of
from npuc.compiler.analysis.mapping.constraints.rules import MapRule, MapRules, RulePlace
from npuc.compiler.explore.mapping.capacity import BufferCapacity
from npuc.compiler.explore.mapping.mappers.random import RandomMapper
from npuc.compiler.explore.mapping.space import MapSpace, fanouts_of
from npuc.dialects.mapping import ClusterLevel, Clusters, Problem, TileLoop

CONV = Problem("CONV", (("K", 8), ("C", 6), ("R", 3), ("S", 3), ("Y", 8), ("X", 10), ("N", 4)))
GEMM = Problem("GEMM", (("M", 12), ("N", 8), ("K", 18)))
LEVELS, ELEMENTS = 2, 32


def rule_of(r: Random, number: int) -> MapRule:
    """A random rule; letters that the contraction does not have, too."""
    row: dict[str, str | int | float] = {"level": r.randint(1, LEVELS)} if r.random() < 0.8 else {}
    names = list("KCYXNG")
    if r.random() < 0.4:
        row["order"] = " ".join(r.sample([*names, "*"], r.randint(2, 4))) + " R"
    if r.random() < 0.4:
        row["spread"] = " ".join(r.sample(names, r.randint(1, 4)))
    if r.random() < 0.2:
        row["must"] = r.choice(names)
    if r.random() < 0.6:
        words = [f"{name}{r.choice(['=', '<=', '>='])}{r.choice([1, 2, 4, 'all', 'R'])}" for name in r.sample(names, 2)]
        row["tiles"] = " ".join(words)
    if r.random() < 0.2 and "level" in row:
        row["fanout"] = r.choice([2, 4, 8])
    if r.random() < 0.2:
        row["utilization"] = r.choice([0.25, 0.5])
    return MapRule(row, RulePlace("test", None, number))


def mappings(r: Random, problem: Problem, count: int) -> list[Clusters]:
    own = Constrained.of_layer(problem)
    space = MapSpace(own.work.dims, fanouts_of(ELEMENTS, LEVELS), r.choice([1, 2]), r.random() < 0.5)
    found = RandomMapper(space, r.randrange(1000), BufferCapacity((own.work,))).propose(count)
    return [found.mapping(number, space.dims) for number in range(len(found))]


@pytest.mark.parametrize("problem", [CONV, GEMM], ids=["conv", "gemm"])
@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_broken_where_all_rules_are_met_together(problem: Problem, seed: int) -> None:
    r = Random(seed)
    own = Constrained.of_layer(problem)
    rules = MapRules(tuple(rule_of(r, number) for number in range(r.randint(1, 2))), r.random() < 0.3)
    atoms = rules.atoms("a", own.dims.kind, "forward")
    together = constraints_of(atoms, own.dims, LEVELS, ELEMENTS, divisors=rules.divisors)
    seen = set[bool]()
    for mapping in mappings(r, problem, 60):
        told = broken(rules, own, mapping, ELEMENTS, "a", "forward")
        fine = meets_all(together, own.work, mapping, divides=True)
        assert (not told) == fine, (told, mapping)
        assert all(told)
        seen.add(fine)
    assert seen


def test_tiles_of_rows_in_one_rule_are_one_tile() -> None:
    """4 x 3 rows of a product; by itself neither number is the tile's."""
    rule = MapRule({"level": 1, "tiles": "Y=4 X=3"}, RulePlace("test", None, 0))
    own = Constrained.of_layer(GEMM)
    found = {
        number: broken(MapRules((rule,)), own, mapping, ELEMENTS, "a", "forward")
        for number in (12, 4)
        for mapping in mappings_with_rows(number)
    }
    assert found == {12: [], 4: ["tiles 'Y=4 X=3' at level 1 (rule 1)"]}


def mappings_with_rows(number: int) -> list[Clusters]:
    return [Clusters((ClusterLevel(4, (TileLoop("M", number, number),)), ClusterLevel(8, ())))]


def test_orders_of_two_rules_are_one() -> None:
    """K outside of C, C outside of Y: a loop of K inside that of Y is none, whether C has several steps or not."""
    texts = ("K C", "C Y")
    rules = MapRules(
        tuple(MapRule({"level": 1, "order": text}, RulePlace("t", None, at)) for at, text in enumerate(texts))
    )
    loops = (TileLoop("M", 4, 4), TileLoop("N", 4, 4))  # of a product K is N, Y is M
    mapping = Clusters((ClusterLevel(1, loops),))
    told = broken(rules, Constrained.of_layer(GEMM), mapping, 1, "a", "forward")
    assert told == ["order 'K C' at level 1 (rule 1) and order 'C Y' at level 1 (rule 2)"]
    other = Clusters((ClusterLevel(1, loops[::-1]),))
    assert broken(rules, Constrained.of_layer(GEMM), other, 1, "a", "forward") == []
