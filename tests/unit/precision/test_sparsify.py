"""The pass `sparsify` and `--density`: which operands become sparse, in what, and what the program then computes."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler import compile_file, compile_source, run_source
from npuc.compiler.cli import main
from npuc.compiler.core.errors import NpucError, UsageError
from npuc.compiler.core.options import Options
from npuc.compiler.core.stages import remarks_to
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.check import check_program
from npuc.compiler.driver.levels.asked import density_text
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline
from npuc.compiler.driver.read import read_program
from npuc.compiler.explore.sweep import sweep_source
from npuc.compiler.layers.pruning import magnitude_mask, structured_mask, uniform_mask
from npuc.compiler.transforms.sparsify.rules import Rule, blocks_of, parse_rules
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.provenance import layer_of, role_of
from npuc.dialects.sparse import SparseType
from npuc.dialects.sparse_formats import Blocks
from npuc.dialects.tensors import tensor_type
from npuc.frontends.mlir import make_context
from npuc.frontends.source import text_source

NET = """
network net(batch=4, width=32) {
  input x: f32[batch, width]
  labels y: i32[batch]
  h = relu(linear(x, 48))
  g = linear(h, 16)
  loss cross_entropy(g, y)
  optimizer sgd(lr=0.1)
}
"""
LOWERED = "autodiff,lower-to-npu"


def read(text: str, passes: str) -> ModuleOp:
    source = text_source(text, "dsl", "<string>")
    sources = SourceTexts({source.filename: source.text})
    module = read_program(source, Options(), sources)
    run_pipeline(module, read_pipeline(passes, available_passes()), make_context(), sources)
    module.verify()
    return module


def sparsified(rules: str, text: str = NET) -> ModuleOp:
    return read(text, f'{LOWERED},sparsify{{rules="{rules}"}}')


def sparse_operands(module: ModuleOp) -> dict[tuple[str, str], list[str]]:
    """What is sparse of the operands of each product, by layer and phase."""
    found: dict[tuple[str, str], list[str]] = {}
    for op in module.walk():
        if isinstance(op, ContractOp):
            types = [tensor_type(value).element_type for value in op.operands]
            key = layer_of(op), role_of(op).value
            found[key] = [f"{one.density} {one.format}" for one in types if isinstance(one, SparseType)]
    return found


def made(module: ModuleOp) -> list[str]:
    return [op.kind for op in module.walk() if isinstance(op, VectorOp) and op.kind in ("prune", "compress")]


def test_weights_are_pruned_once_for_the_products_that_read_them() -> None:
    module = sparsified("weights=0.1")
    found = sparse_operands(module)
    assert made(module) == ["prune", "prune"]
    assert found["h.linear", "forward"] == found["g", "forward"] == found["g", "dx"] == ["1/10 bitmap"]
    assert found["g", "dw"] == found["h.linear", "dw"] == []


def test_densities_of_activations_and_gradients_are_statements() -> None:
    module = sparsified("activations=0.5 csr; gradients=1/4 rle<3>")
    found = sparse_operands(module)
    assert set(made(module)) == {"compress"}
    assert found["g", "forward"] == ["1/2 csr<48>"]
    assert found["g", "dw"] == ["1/2 csr<48>", "1/4 rle<3>"]
    assert found["g", "dx"] == ["1/4 rle<3>"]


def test_globs_win_over_kinds_and_those_over_what_the_program_says() -> None:
    stated = NET.replace("linear(h, 16)", "linear(h, 16, density=0.3)")
    own = sparse_operands(read(stated, f"{LOWERED},sparsify"))
    assert own["g", "forward"] == ["3/10 bitmap"]
    assert own["h.linear", "forward"] == []
    assert sparse_operands(sparsified("weights=0.1", stated))["g", "forward"] == ["1/10 bitmap"]
    both = sparse_operands(sparsified("*.weight=1/5; g.weight=2:4; weights=0.1", stated))
    assert both["g", "forward"] == ["1/2 nm<2, 4, 0>"]
    assert both["h.linear", "forward"] == ["1/5 bitmap"]
    dense = sparse_operands(sparsified("g=1; weights=0.1", stated))
    assert dense["g", "forward"] == []


def test_what_the_program_says_holds_without_options() -> None:
    stated = NET.replace("linear(h, 16)", 'linear(h, 16, density="2:4")')
    assert "sparsify" in (compile_source(stated).pipeline or "")
    assert "sparsify" not in (compile_source(NET).pipeline or "")
    # a backend of layers scores the lowered program, where its products are
    assert "sparsify" in (compile_source(stated, backend="roofline").pipeline or "")


def test_products_are_those_of_pruned_weights() -> None:
    r = np.random.default_rng(3)
    data = {"x": r.normal(size=(4, 32)).astype(np.float32), "y": np.array([1, 2, 3, 4], np.int32)}
    weights = {"h.linear.weight": r.normal(size=(32, 48)), "g.weight": r.normal(size=(48, 16))}
    biases = {"h.linear.bias": np.zeros(48), "g.bias": np.zeros(16)}
    masks = {
        "weights=0.1": [magnitude_mask(w, Fraction(1, 10)) for w in weights.values()],
        "weights=2:4": [structured_mask(w, 2, 4, 0) for w in weights.values()],
        "weights=0.5 uniform": [uniform_mask(w.shape, Fraction(1, 2), n) for n, w in enumerate(weights.values())],
        "activations=0.7": [np.ones(w.shape, np.bool_) for w in weights.values()],
    }
    given = data | {name: value.astype(np.float32) for name, value in (weights | biases).items()}
    for density, (first, second) in masks.items():
        ran = run_source(NET, steps=1, density=density, opt_level=0, inputs=given)
        w, v = weights["h.linear.weight"] * first, weights["g.weight"] * second
        expected = np.maximum(data["x"] @ w.astype(np.float32), 0) @ v.astype(np.float32)
        assert np.allclose(ran.outputs["g"], expected, rtol=1e-4, atol=1e-4), density


def test_gradients_pass_to_all_of_a_weight() -> None:
    first, second = (run_source(NET, steps=n, opt_level=0, density="g.weight=0.05") for n in (1, 2))
    before, after = first.updated["g.weight"], second.updated["g.weight"]
    mask = magnitude_mask(before, Fraction(1, 20))
    assert np.count_nonzero((after - before)[~mask]) > 0.4 * mask.size  # dead units have no gradient


def test_a_density_of_one_changes_nothing() -> None:
    plain, dense = compile_source(NET), compile_source(NET, density={"weights": 1, "activations": 1.0})
    assert plain.totals.seconds == dense.totals.seconds
    assert [row.dram_read_bytes for row in plain.ops] == [row.dram_read_bytes for row in dense.ops]


def test_so_much_less_moves_of_a_weight() -> None:
    wide, moved = NET.replace("width=32", "width=512"), list[int]()
    for density in ("1/2", "1/4", "1/16"):
        report = compile_source(wide, density={"weights": density}, opt_level=0)
        (row,) = (one for one in report.ops if (one.kind, one.name, one.phase) == ("matrix", "h.linear", "forward"))
        moved.append(row.dram_read_bytes or 0)
    # bf16 on this machine, and as many bits of the mask each time
    assert moved[0] - moved[1] == 512 * 48 * 2 // 4
    assert moved[1] - moved[2] == 512 * 48 * 2 * 3 // 16


def test_formats_come_before_what_is_stored_in_them() -> None:
    module = read(NET, f'{LOWERED},quantize{{to=bfp-high rounding=nearest}},sparsify{{rules="weights=2:4"}}')
    (found,) = {
        str(tensor_type(op.operands[1]).element_type)
        for op in module.walk()
        if isinstance(op, ContractOp) and layer_of(op) == "h.linear" and role_of(op).value == "forward"
    }
    assert found == "!npu.sparse<!npu.bfp<4, 16, 3>, 1/2, nm<2, 4, 0>>"
    report = compile_source(NET, quantize="bfp-high", density="weights=2:4")
    assert (report.pipeline or "").index("quantize") < (report.pipeline or "").index("sparsify")


def test_the_passes_after_it_change_nothing() -> None:
    done = check_program(
        text_source(NET, "dsl", "<string>"), {"density": "weights=0.25; activations=0.9", "pipeline": LOWERED}
    )
    assert any("sparsify" in one.step for one in done)


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [((64, 32, 3, 3), (3, 3)), ((64, 32, 1, 1), (16, 1, 1)), ((64, 8, 1, 1), (8, 1, 1)), ((32, 10), (10,))],
)
def test_blocks_are_kernels_where_there_are_some(shape: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    assert blocks_of(shape) == Blocks(sizes)


def remarks(rules: str, text: str = NET) -> Sequence[str]:
    told: list[str] = []
    with remarks_to(told.append):
        sparsified(rules, text)
    return told


def test_what_a_reader_must_know_is_said() -> None:
    assert remarks("weights=0.5 blocks") == []
    (turned,) = remarks("weights=0.5 csr")
    assert "csr: products read some along another axis than they are stored in, first in 'g'" in turned
    short = remarks("weights=2:5")
    assert "groups do not divide the axis in 'h.linear' (32 by 5) and 1 more layers: the last is padded" in short[0]
    told: list[str] = []
    with remarks_to(told.append):
        read(NET, 'lower-to-npu,sparsify{rules="gradients=0.5"}')
    assert "gradients have no effect: no product has such an operand" in told[0]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("weights=0", "the density is 0, expected above 0 and at most 1"),
        ("weights=1.5", r"the density is 1\.5, expected above 0 and at most 1"),
        ("weights=-1", "the density is '-1', expected a number"),
        ("weights=1/0", "the density is '1/0', expected a number"),
        ("weights=few", "the density is 'few', expected a number"),
        ("weights", "'weights' says no density"),
        ("=0.1", "'=0.1' says no density"),
        ("weights=4:2", "'4:2' is no N:M: expected 1 to M of M, which is 2 to 64"),
        ("weights=1:99", "'1:99' is no N:M"),
        ("weights=0.1; weights=0.2", "'weights' is named twice"),
        ("weights=0.1 csr bitmap", "names two formats, csr and bitmap"),
        ("weights=0.1 coo", "'coo' is no format or pattern; known: bitmap, csr, csc, rle, nm, blocks, magnitude"),
        ("weights=0.1 csr<8>", "'csr<8>' has parameters that are not its own; the lengths follow"),
        ("weights=0.1 rle<99>", "is 1 to 12, got 99"),
        ("weights=2:4 nm<3>", "'nm<3>' has parameters that are not its own"),
        ("weights=0.5 nm", "nm stores N:M, the density of 'weights' is 1/2: write it as N:M"),
        ("weights=2:4 uniform", "N:M keeps the largest magnitudes of each group, 'uniform' does not apply"),
        ("weights=0.5 blockwise", "'blockwise' keeps whole blocks, expected the format blocks, got bitmap"),
        ("activations=2:4", "activations are not pruned: state their density as a number"),
        ("gradients=0.5 uniform", "gradients are not pruned"),
    ],
)
def test_what_is_no_density_is_refused_before_anything_runs(rules: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_rules(rules)
    with pytest.raises(UsageError, match=message):
        compile_source("no network at all", density=rules)


def test_rules_are_read_with_their_words_in_any_order() -> None:
    assert parse_rules("weights=0.25 blocks< 3, 3 > blockwise; a.*=2:4 nm<indices>") == (
        Rule("weights", Fraction(1, 4), None, "blocks", " 3, 3 ", "blockwise"),
        Rule("a.*", Fraction(1, 2), (2, 4), "nm", "indices"),
    )


def test_densities_are_given_by_key_or_as_texts() -> None:
    assert density_text({"weights": 0.1, "fc*": "2:4"}) == density_text(["weights=0.1", "fc*=2:4"])
    assert density_text(None) is None
    assert density_text({}) is None


@pytest.mark.parametrize(
    ("density", "message"),
    [
        ("h*.wait=0.5", r"density h\*\.wait=1/2: no layer with products and no parameter is named so"),
        ("g=0.5 blocks<2,2,2>", "g=1/2: blocks<2, 2, 2> has blocks of 3 axes, the tensor has 2"),
    ],
)
def test_what_does_not_fit_the_program_is_refused(density: str, message: str) -> None:
    with pytest.raises(NpucError, match=message):
        compile_source(NET, density=density)


def test_a_pass_and_an_option_do_not_say_the_same() -> None:
    with pytest.raises(UsageError, match="--density and the pass sparsify of -p say the same"):
        compile_source(NET, density="weights=0.1", pipeline=f"{LOWERED},sparsify")
    with pytest.raises(UsageError, match=r"--density weights=0\.1: no pass lower-to-npu runs"):
        compile_source(NET, density="weights=0.1", pipeline="autodiff")


def test_densities_of_a_program_that_no_pass_applies_are_said(tmp_path: Path) -> None:
    """A pipeline by hand without lower-to-npu leaves them, and says so; once products are sparse it does not."""
    stated = NET.replace("linear(h, 16)", "linear(h, 16, density=0.3)")
    told: list[str] = []
    with remarks_to(told.append):
        run_source(stated, steps=1, pipeline="autodiff")
    assert [one for one in told if "have no effect: no pass of -p applies them; lower-to-npu,sparsify would" in one]
    told.clear()
    with remarks_to(told.append):
        run_source(NET, steps=1, pipeline="autodiff")
        run_source(stated, steps=1, pipeline=LOWERED)
        run_source(stated, steps=1, pipeline=f"{LOWERED},sparsify")
    assert not [one for one in told if "have no effect" in one]
    lowered, sparse = (tmp_path / name for name in ("lowered.mlir", "sparse.mlir"))
    lowered.write_text(str(read(stated, LOWERED)))
    sparse.write_text(str(read(stated, f"{LOWERED},sparsify")))
    for path, times in ((lowered, 1), (sparse, 0)):
        told.clear()
        with remarks_to(told.append):
            compile_file(path, hardware="igo-small", pipeline="schedule", precision="f32")
        assert len([one for one in told if one.endswith("no pass of -p applies them; sparsify would")]) == times


@pytest.mark.parametrize("rules", ["", " ", [""], ["weights=0.5", ""], "*"])
def test_no_rule_is_no_density(rules: str | list[str]) -> None:
    with pytest.raises(UsageError, match="says no density, expected weights, activations, gradients or a glob"):
        compile_source(NET, density=rules)


def test_densities_may_be_varied() -> None:
    values = ["weights=1", "weights=0.5; activations=0.3", "weights=2:4"]
    hardware = "tensordash"
    points = list(sweep_source(NET, vary={"density": values}, backend="cycle", hardware=hardware, opt_level=0))
    assert [point.values["density"] for point in points] == values
    for point, value in zip(points, values, strict=True):
        own = compile_source(NET, backend="cycle", hardware=hardware, opt_level=0, density=value)
        assert point.totals is not None
        assert point.totals.cycles == own.totals.cycles
    with pytest.raises(UsageError, match="--vary density: --density weights=7: the density is 7"):
        list(sweep_source(NET, vary={"density": ["weights=7"]}, backend="cycle", hardware=hardware))


def test_a_program_that_says_densities_is_shown_without_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.dsl"
    path.write_text(NET.replace("linear(h, 16)", "linear(h, 16, density=0.3)"))
    with pytest.raises(SystemExit, match="0"):
        main(["opt", str(path)])
    assert 'train.density = "0.3"' in capsys.readouterr().out


@pytest.mark.parametrize("said", ["0", '"2:1"', '"0.1 coo"'])
def test_a_density_of_a_layer_is_one(said: str) -> None:
    with pytest.raises(NpucError, match="density"):
        compile_source(NET.replace("linear(h, 16)", f"linear(h, 16, density={said})"))


def test_what_is_there_is_counted_beside_what_is_stated() -> None:
    told: list[str] = []
    with remarks_to(told.append):
        run = run_source(NET, steps=2, opt_level=0, density="weights=0.1; activations=0.2")
    assert len(run.densities) == 2
    for step in run.densities:
        found = {str(layer_of(op)): one for op, one in step.items() if isinstance(op, VectorOp) and op.kind == "prune"}
        assert (found["h.linear"].kept, found["h.linear"].size) == (154, 32 * 48)
        assert found["g"].kept == found["g"].stated == 77
    (x,) = (
        one for op, one in run.densities[0].items() if isinstance(op, VectorOp) and op.results[0].name_hint == "x_s"
    )
    assert (x.kept, x.stated, x.is_above) == (4 * 32, 26, True)
    assert any("the density of an operand of 'h.linear' (forward) is 1 where 0.203 is stated" in text for text in told)


def test_a_statement_that_holds_is_no_warning() -> None:
    told: list[str] = []
    with remarks_to(told.append):
        run_source(NET, opt_level=0, density="weights=2:4; g=0.3 blocks blockwise")
    assert not any("is stated" in text for text in told)
