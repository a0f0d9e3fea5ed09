"""The study of flexibility: rows that follow from its networks, more choice that is never slower, wrong usage."""

import csv
import io
import json
from pathlib import Path

import pytest

from npuc.compiler.core.errors import CapacityError, NpucError, SourceError, UsageError
from npuc.studies.base import Asked
from npuc.studies.flexion.design import best_machine, wired_cycles
from npuc.studies.flexion.entry import STUDY
from npuc.studies.flexion.networks import MappedNetwork, mapped_network
from npuc.studies.flexion.settings import ALL, FIXED, MACHINES, NETWORKS
from npuc.studies.flexion.study import MEAN, FlexionResults, geometric_mean, plan_study, run_study, totals
from npuc.studies.flexion.view import to_csv, to_json

NET = """\
network net(batch=8) {
  input x: f32[batch, 12, 9, 9]
  labels y: i32[batch]
  h = relu(conv2d(x, 12, 3, groups=12))
  logits = linear(flatten(h), 10)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
FEW = 24


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("flexion") / "net.dsl"
    path.write_text(NET, encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def study(net: str) -> FlexionResults:
    return run_study(plan_study("inference", ["ncf", net], evaluations=FEW))


def test_more_choice_is_never_slower(study: FlexionResults) -> None:
    for machine in study.machines:
        for name, _ in (*machine.networks, (MEAN, "later")):
            cycles = {row.free: row.over_bound for row in machine.rows if row.network == name}
            assert list(cycles) == ["0000", "1000", "0100", "0010", "0001", "1111"]
            assert all(cycles["1111"] <= cycles[one] <= cycles["0000"] for one in cycles)
            assert 1 <= cycles["1111"]
        for name, _ in machine.networks:
            assert 1 <= machine.refitted[name] <= machine.gain(name, ("any", "any", "any", "any"))


def test_a_gain_is_of_cycles_and_a_mean_of_the_later_networks(study: FlexionResults, net: str) -> None:
    for machine in study.machines:
        assert [name for name, _ in machine.networks] == ["alexnet", "googlenet", "vgg16", "ncf", Path(net).name]
        first: dict[str, float] = {}
        for row in machine.rows:
            if row.cycles is not None:
                first.setdefault(row.network, row.cycles)
                assert row.gain == pytest.approx(first[row.network] / row.cycles, rel=1e-12)
                assert row.published is None
            else:
                later = [one.gain for one in machine.rows if (one.age, one.free) == ("later", row.free) and one.cycles]
                assert len(later) == 2
                assert row.gain == pytest.approx((later[0] * later[1]) ** 0.5)
                assert (row.published == 11.8) == (row.free == "1111")
    assert geometric_mean([2, 8]) == pytest.approx(4)


def test_the_machine_as_designed_takes_what_its_one_mapping_costs(study: FlexionResults) -> None:
    """The design prices all contractions at once; the rows price each by itself."""
    for hardware, machine in zip(MACHINES, study.machines, strict=True):
        old = [mapped_network(one, "inference", hardware, {}) for one in NETWORKS if one.age == "2014"]
        found = best_machine(old, 4 * FEW)
        assert found.mapping == machine.mapping
        cycles = [next(row.cycles for row in machine.rows if row.network == one.name) for one in old]
        assert cycles == pytest.approx([wired_cycles(one, found.wired)[0] for one in old])
        assert found.cycles == pytest.approx(geometric_mean([one for one in cycles if one is not None]))
        assert best_machine(old, 8 * FEW).cycles <= found.cycles
        for one, total in zip(old, cycles, strict=True):
            alone = wired_cycles(one, best_machine([one], 4 * FEW).wired)[0]
            assert total is not None
            assert machine.refitted[one.name] == pytest.approx(total / min(total, alone))


def test_training_has_all_three_products(net: str) -> None:
    inference, training = (mapped_network(net, preset, MACHINES[0], {}) for preset in ("inference", "training"))
    assert sum(count for _, count in inference.contractions) == 2
    assert sum(count for _, count in training.contractions) == 5  # the input has no gradient


def test_json_and_csv_have_all_rows(study: FlexionResults) -> None:
    found = json.loads(to_json(study))
    assert (found["schema"], found["study"], found["preset"]) == ("npuc.study/1", "flexion", "inference")
    rows = list(csv.DictReader(io.StringIO(to_csv(study))))
    assert len(rows) == len(found["rows"]) == 2 * (5 + 1) * 6
    assert [float(row["gain"]) for row in rows] == [row["gain"] for row in found["rows"]]
    assert [one["machine"] for one in found["machines"]] == ["small", "large"]
    assert found["machines"][0]["machines_tried"] == 4 * FEW


def test_another_machine_takes_the_place_of_both(net: str) -> None:
    found = run_study(plan_study("inference", [net], "eyeriss", evaluations=8))
    assert [(one.name, one.elements) for one in found.machines] == [("eyeriss", 168)]


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        (Asked("inference", ["nothing.dsl"], evaluations=1), NpucError, "nothing.dsl"),
        (Asked("inference", ["alexnet", "samples:vgg16"], evaluations=1), UsageError, "expected a later network than"),
        (Asked("inference", ["ncf"], hardware="rtx2080ti", evaluations=1), UsageError, "maestro.num_pes"),
        (
            Asked("inference", ["ncf"], settings={"maestro.l1_size": 1}, evaluations=1),
            CapacityError,
            "can be wired into small",
        ),
        (
            Asked("inference", ["ncf"], settings={"maestro.mode": "parity"}, evaluations=1),
            UsageError,
            "compared by exact",
        ),
    ],
)
def test_wrong_usage(asked: Asked, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        STUDY.plan(asked).run(lambda name, count: None)


@pytest.mark.parametrize(
    "rules", ['[[constraints.rules]]\nlevel = 1\nspread = "K"\n', "[constraints]\ndivisors = true\n"]
)
def test_what_has_no_effect_is_said(tmp_path: Path, rules: str) -> None:
    path = tmp_path / "bound.toml"
    text = 'name = "bound"\n[memory]\nelement_bytes = 2\n[maestro]\nnum_pes = 16\n' + rules
    path.write_text(text, encoding="utf-8")
    found = STUDY.plan(
        Asked("inference", ["ncf"], {}, {"roofline.policy": "optimal"}, hardware=str(path), evaluations=1)
    )
    warnings = found.run(lambda name, count: None).warnings
    assert any("constraints of bound do not restrict" in one for one in warnings)
    assert any("roofline.policy" in one for one in warnings)
    assert len(set(warnings)) == len(warnings)


def test_a_network_without_a_contraction(tmp_path: Path) -> None:
    path = tmp_path / "none.dsl"
    path.write_text("network n(b=2) {\n  input x: f32[b, 4]\n  output y = relu(x)\n}\n", encoding="utf-8")
    with pytest.raises(SourceError, match="no contraction"):
        mapped_network(str(path), "inference", MACHINES[0], {})


def product(m: int, repeat: int) -> str:
    return (
        f"  %y{m}_{repeat} = npu.contract (m = {m}, n = 16, k = 24) ins(X = %x{m}[m, k], W = %w[k, n]) outs(Y[m, n]) "
        f"do(Y += X * W) {{repeat = {repeat} : i64}} : (tensor<{m}x24xf32>, tensor<24x16xf32>) -> tensor<{m}x16xf32>\n"
    )


REPEATED = (
    "func.func @f(%x40: tensor<40x24xf32>, %x9: tensor<9x24xf32>, %w: tensor<24x16xf32>)\n"
    "    -> (tensor<40x16xf32>, tensor<40x16xf32>, tensor<9x16xf32>) {\n"
    f"{product(40, 3)}{product(40, 2)}{product(9, 1)}"
    "  func.return %y40_3, %y40_2, %y9_1 : tensor<40x16xf32>, tensor<40x16xf32>, tensor<9x16xf32>\n}\n"
)


@pytest.fixture
def repeated(tmp_path: Path) -> MappedNetwork:
    path = tmp_path / "repeated.mlir"
    path.write_text(REPEATED, encoding="utf-8")
    return mapped_network(str(path), "inference", MACHINES[0], {})


def test_a_contraction_weighs_what_all_its_runs_do(repeated: MappedNetwork) -> None:
    assert [(dict(task.space.dims)["m"], count) for task, count in repeated.contractions] == [(40, 5), (9, 1)]


def test_the_machine_of_the_network_alone_is_a_choice_of_all_axes(repeated: MappedNetwork) -> None:
    """Beside a machine that is worse, and where nothing else is tried."""
    good = best_machine([repeated], 400)
    bad = best_machine([repeated], 1)
    alone, wired = (float(wired_cycles(repeated, one.wired)[0]) for one in (good, bad))
    assert alone < wired
    cycles, fixed = totals(repeated, bad, good, 1)
    assert (cycles[FIXED], fixed) == (wired, alone)
    assert cycles[ALL] <= alone < min(total for supports, total in cycles.items() if supports != ALL)
    assert totals(repeated, good, bad, 1)[1] == alone
