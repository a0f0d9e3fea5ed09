"""`recompute{policy=reversible}`: what is kept of residual pairs, what runs again, and what it refuses."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.compiler.analysis.memory.liveness import memory_of_module
from npuc.compiler.analysis.memory.peak import peak_of_module
from npuc.compiler.analysis.memory.reversible import MOVES, OTHER, WRITTEN, chains_of
from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.stages import remarks_to
from npuc.compiler.driver.check import check_program
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.driver.run import run_file
from npuc.compiler.driver.watch.cost_trace import work_of
from npuc.compiler.interpreter.execute import the_function
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.provenance import Role, is_recomputed, layer_of, role_of
from npuc.dialects.train.arithmetic import SubOp
from npuc.dialects.train.norm import EmaOp
from npuc.frontends.dsl.values import Value
from npuc.frontends.source import text_source
from tests.reversible import PAIRS, step_of

PASS = "recompute{policy=reversible}"
STEP = f"autodiff,{PASS}"
BRANCH = "f = function(x2, layers, norm) if images else dense(x2, layers, norm)"


def again(module: ModuleOp) -> list[str]:
    """The layers that run again or are undone, in order."""
    return [layer_of(op) for op in module.walk() if is_recomputed(op)]


def activations(module: ModuleOp) -> int:
    peak = peak_of_module(module, None)
    assert peak is not None
    return peak.kinds["activations"]


def kept(module: ModuleOp) -> int:
    memory = memory_of_module(module)
    assert memory is not None
    return memory.kept_bytes


# what runs again


def test_a_pair_is_computed_back_from_its_outputs() -> None:
    """F and G run again, the last one first; the inputs of the first block are its split, which nothing else reads."""
    module = step_of(PAIRS, STEP, depth=2, layers=1)
    last = ["1.g.0.h.tanh", "1.g.0.h", "1.y2", "1.f.0.h.tanh", "1.f.0.h", "1.y1"]
    assert list(dict.fromkeys(again(module))) == [*last, "0.g.0.h.tanh", "0.g.0.h", "0.y2", "0.f.0.h.tanh"]
    undone = [op for op in module.walk() if isinstance(op, SubOp)]
    assert [layer_of(op) for op in undone] == ["1.y2", "1.y1", "0.y2"]
    assert all(role_of(op) is Role.FORWARD and is_recomputed(op) for op in undone)


@pytest.mark.parametrize("sizes", [{"swapped": True}, {"joined": True}, {"form": "camel"}, {"images": True}])
def test_pairs_are_one_pattern(sizes: dict[str, Value]) -> None:
    """Whatever the order of operands, with concatenations and splits between the blocks, in CAMEL's form."""
    first, other = (
        step_of(PAIRS, STEP, depth=3, images=bool(sizes.get("images"))),
        step_of(PAIRS, STEP, depth=3, **sizes),
    )
    assert len(again(first)) == len(again(other))
    assert kept(first) == kept(other)


def test_statistics_are_updated_once() -> None:
    sizes: dict[str, Value] = {"images": True, "norm": True, "depth": 2}
    before, after = step_of(PAIRS, "autodiff", **sizes), step_of(PAIRS, STEP, **sizes)
    updates = [[op for op in module.walk() if isinstance(op, EmaOp)] for module in (before, after)]
    assert len(updates[0]) == len(updates[1]) == 2 * 2 * 2 * 2
    assert not any(map(is_recomputed, updates[1]))
    assert any("batch_norm" in layer for layer in again(after))


def test_an_exit_from_within_a_chain_reads_what_is_kept() -> None:
    """What reads a value before it is computed back reads the first one: nothing runs again for it early."""
    text = PAIRS.replace(
        "    x1 = y1\n", "    if i == 1 { out = mse(linear(y1, 3), zeros([batch, 3])) }\n    x1 = y1\n"
    )
    text = text.replace("  loss cross_entropy(logits, y)\n", "  loss cross_entropy(logits, y) + out\n")
    module = step_of(text, STEP, depth=4)
    assert kept(module) - kept(step_of(PAIRS, STEP, depth=4)) < 4 * 4 * 4 * 3
    assert len([op for op in module.walk() if isinstance(op, SubOp)]) == 7


def test_frozen_branches_run_again_for_their_inputs() -> None:
    """A frozen function has a dX, for which its inside values are needed."""
    text = PAIRS.replace(
        "f = function(x2, layers, norm) if images else dense(x2, layers, norm)", "f = frozen dense(x2, layers, norm)"
    )
    module = step_of(text, STEP, depth=3)
    assert not any(op.attributes.get("role") == "dw" and ".f." in layer_of(op) for op in module.walk())
    assert kept(module) == kept(step_of(PAIRS, STEP, depth=3))


# memory and work


def test_memory_does_not_grow_with_depth() -> None:
    """Without the parameters, which do: what the forward pass leaves is equal, and so is the peak of activations."""
    sizes: dict[str, Value] = {"batch": 64, "width": 8, "layers": 2}
    found = [step_of(PAIRS, STEP, depth=depth, **sizes) for depth in (4, 8, 16)]
    assert len({kept(module) for module in found}) == 1
    assert len({activations(module) for module in found}) == 1
    plain = [step_of(PAIRS, "autodiff", depth=depth, **sizes) for depth in (4, 8, 16)]
    assert activations(plain[2]) - activations(plain[1]) == 2 * (activations(plain[1]) - activations(plain[0])) > 0


@pytest.mark.parametrize("depth", [4, 16])
def test_extra_work_is_one_forward_pass_of_the_blocks(depth: int) -> None:
    """But for the last product of the first function, whose result only gives a value that nobody reads."""
    batch, width, layers = 4, 8, 2
    macs = [
        int(work_of(step_of(PAIRS, passes, batch=batch, width=width, layers=layers, depth=depth))["MACs"])
        for passes in ("autodiff", STEP)
    ]
    product = batch * width * width
    assert macs[1] - macs[0] == (2 * layers * depth - 1) * product
    blocks = 3 * 2 * layers * depth * product
    assert (blocks + macs[1] - macs[0]) / blocks == pytest.approx(4 / 3, abs=1 / (3 * 2 * layers * depth))


@pytest.mark.parametrize("backend", ["cycle", "roofline", "maestro"])
def test_every_backend_sees_the_work(backend: str) -> None:
    """Forward products of the blocks are in the report twice."""

    def macs(policy: str, phase: str) -> int:
        machine, last = {"maestro": ("maestro-example", "map{mapping=kcp_ws}")}.get(backend, ("igo-large", "schedule"))
        pipeline = f"autodiff,recompute{{policy={policy}}},lower-to-npu,{last}"
        report = compile_source(PAIRS, "dsl", "net.dsl", backend=backend, pipeline=pipeline, hardware=machine)
        return sum(row.macs or 0 for row in report.ops if row.phase == phase)

    extra = (2 * 2 * 3 - 1) * 4 * 4 * 4
    assert macs("reversible", "forward") - macs("none", "forward") == extra
    assert macs("reversible", "dX") == macs("none", "dX")


def test_gradients_run_together_as_before() -> None:
    """Nothing comes between dX and dW of a layer."""

    def merged(passes: str) -> int:
        module = step_of(PAIRS, f"{passes},lower-to-npu,interleave", depth=3)
        ops = [op for op in module.walk() if isinstance(op, ContractOp | InterleaveOp)]
        return sum(role_of(op) is Role.DXDW for op in ops)

    assert merged(STEP) == merged("autodiff") > 10


def test_check_says_how_near_it_stays() -> None:
    pipeline = f"{STEP},lower-to-npu,interleave{{mode=best}},schedule"
    source = text_source(PAIRS, "dsl", "net.dsl")
    done = check_program(source, {"pipeline": pipeline, "defines": {"images": True, "norm": True}})
    by_name = {one.step: str(one) for one in done}
    assert by_name['recompute{policy="reversible"}'].endswith(": equal to 1e-10")


# refusals and remarks


def test_an_ordinary_residual_network_is_refused() -> None:
    text = PAIRS.replace("x1, x2 = split(h, width, 1)", "x1 = h\n  x2 = h").replace(
        "f = function(x2, layers, norm) if images else dense(x2, layers, norm)", "f = dense(x1, layers, norm)"
    )
    with pytest.raises(
        SourceError, match=r"recompute: '0\.y1' is no residual pair: .* x does not follow from x \+ F"
    ) as caught:
        step_of(text, STEP, form="revnet", depth=1)
    assert caught.value.location is not None
    assert caught.value.location.line == text[: text.index("y1 = f + x1")].count("\n") + 1
    assert "another network" in str(caught.value.hint)


def test_a_network_without_residuals_is_refused() -> None:
    with pytest.raises(SourceError, match=r"found no residual pair y1 = x1 \+ F\(x2\)"):
        step_of(PAIRS, STEP, depth=0)


def test_other_residuals_keep_their_values_and_are_named() -> None:
    text = PAIRS.replace("  last = concat", "  x1 = x1 + tanh(linear(x1, width))\n  last = concat")
    remarks = list[str]()
    with remarks_to(remarks.append):
        module = step_of(text, STEP)
    assert any("'x1_2' is no residual pair and keeps values: the branch reads" in text for text in remarks), remarks
    assert len([op for op in module.walk() if isinstance(op, SubOp)]) == 5


def test_a_branch_that_reads_an_earlier_value_is_no_pair() -> None:
    """The chain falls in two."""
    text = PAIRS.replace("y2 = x2 + g", "y2 = x2 + (g * tanh(h0) if i == 2 else g)").replace(
        "  for i in 0..depth {\n    if joined",
        "  h0 = x1\n  for i in 0..depth {\n    if i == 1 { h0 = x1 }\n    if joined",
    )
    found = chains_of(the_function(step_of(text, "autodiff", depth=5)))
    assert [len(chain.couplings) for chain in found.chains] == [5, 4]
    assert [one.reason for one in found.left] == [OTHER]


def test_only_some_layers_run_again() -> None:
    whole = again(step_of(PAIRS, STEP, depth=4))
    part = again(step_of(PAIRS, 'autodiff,recompute{policy=reversible only="[23].*"}', depth=4))
    assert set(part) < set(whole)
    assert {layer.split(".")[0] for layer in part} == {"2", "3"}


def test_memory_that_is_overwritten_early_is_not_read_again() -> None:
    """An update that comes before the end of the backward pass."""
    module = step_of(PAIRS, "autodiff", depth=2)
    func = the_function(module)
    update = next(
        op for op in func.body.block.ops if layer_of(op).startswith("1.g.0.h.") and role_of(op) is Role.UPDATE
    )
    gradient = update.operands[1].owner
    assert isinstance(gradient, Operation)
    update.detach()
    func.body.block.insert_op_after(update, gradient)
    found = chains_of(func)
    assert [one.reason for one in found.left] == [WRITTEN]


def test_a_branch_that_exchanges_data_is_no_pair() -> None:
    """With sums over devices in the branches, as of a layer that is cut by its inputs."""
    text = PAIRS.replace("f32[batch, 3]", "f32[batch, 4]").replace(
        "linear(flatten(last), 3)", "linear(flatten(last), 4)"
    )
    module = step_of(text, "parallelize{devices=2 strategy=mp},autodiff", depth=2)
    found = chains_of(the_function(module))
    assert {one.reason for one in found.left} == {MOVES}


def test_gradients_are_those_of_stored_activations() -> None:
    """Of the sample, in float64, beside a run that keeps everything."""
    sizes: dict[str, Value] = {"batch": 4, "image": 16, "widths": [4, 4, 8, 14], "depth": 3}
    inputs = {"x": np.random.default_rng(0).standard_normal((4, 3, 16, 16)), "y": np.arange(4)}
    kept, back = (
        run_file("samples:revnet", defines=sizes, inputs=inputs, dtype="float64", pipeline=passes, steps=2)
        for passes in ("autodiff", STEP)
    )
    for name, gradient in kept.gradients.items():
        assert np.abs(back.gradients[name] - gradient).max() <= 1e-10 * np.abs(gradient).max()
    assert kept.losses == pytest.approx(back.losses, rel=1e-10)
