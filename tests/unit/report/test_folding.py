"""Equal lines of a table as one, with and without blocks."""

import pytest

from npuc.compiler.report.layers import Line, by_layer, folded
from npuc.compiler.report.numbered import follows, name_of_all, template
from npuc.compiler.report.rows import OpRow


def op(index: int, name: str, seconds: float) -> OpRow:
    return OpRow(index=index, name=name, op="npu.contract", loc=None, phase="forward", kind="matrix", seconds=seconds)


def lines(*layers: tuple[str, float]) -> list[Line]:
    return by_layer([op(index, name, seconds) for index, (name, seconds) in enumerate(layers)])


def labels(found: list[Line]) -> list[str]:
    return [line.label for line in found]


def test_equal_neighbours_are_one() -> None:
    found = folded(lines(("stem", 1.0), ("h.0", 2.0), ("h.1", 2.0), ("h.2", 2.0), ("head", 2.0)))
    assert labels(found) == ["stem", "h.0-2 x3", "head"]
    assert [line.seconds for line in found] == [1.0, 6.0, 2.0]


def test_unequal_ones_are_not() -> None:
    assert labels(folded(lines(("h.0", 2.0), ("h.1", 2.5), ("h.2", 2.0)))) == ["h.0", "h.1", "h.2"]


def test_blocks_of_equal_layers_are_one() -> None:
    blocks = [
        (f"h.{n}.{part}", cost) for n in range(12) for part, cost in (("q", 1.0), ("k", 1.0), ("fc", 3.0), ("x", 1))
    ]
    found = folded(lines(*blocks, ("head", 7.0)))
    assert labels(found) == ["h.0-11 x12 (4)", "head"]
    assert found[0].seconds == pytest.approx(12 * 6.0)


def test_equal_layers_without_blocks_are_one_wherever_they_stand() -> None:
    flat = [(f"L{n}_{part}", cost) for n in range(24) for part, cost in (("q", 1.0), ("k", 1.5), ("fc", 3.0))]
    assert labels(folded(lines(*flat))) == ["L0-23_q x24", "L0-23_k x24", "L0-23_fc x24"]


def test_many_unequal_ones_end_in_a_line_for_the_rest() -> None:
    found = folded(lines(*((f"c{n}", float(n)) for n in range(100))))
    assert len(found) == 40
    assert found[-1].label == "(61 others)"
    assert sum(line.seconds or 0.0 for line in found) == sum(range(100))


def test_names() -> None:
    assert template("encoder.11.q2") == "encoder.*.q*"
    assert name_of_all(["h.0.q", "h.1.q", "h.2.q"]) == "h.0-2.q"
    assert name_of_all(["conv1_1", "conv1_2"]) == "conv1_1-2"
    assert name_of_all(["h.0.q", "h.2.q"]) == "h.*.q"
    assert follows(["h.0"], "h.1")
    assert follows(["s.1.0", "s.1.1"], "s.1.2")
    assert not follows(["s.1.0"], "s.2.1")
    assert not follows(["s.0.0", "s.0.1"], "s.1.1")
    assert not follows(["h.0"], "h.2")
    assert not follows(["h.0"], "g.1")
    assert not follows(["h"], "h")
