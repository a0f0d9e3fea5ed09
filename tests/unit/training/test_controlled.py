"""What steps cost whose number formats FAST's controller chooses."""

from pathlib import Path

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from npuc.compiler import compile_source, training_file
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import run_options
from npuc.compiler.explore.training.controlled import controlled_price
from npuc.compiler.transforms.quantize.formats import KINDS
from npuc.compiler.transforms.quantize.operands import Kinds
from npuc.dialects.npu import VectorOp
from npuc.frontends.source import text_source

NET = """
network net(batch=32) {
  input x: f32[batch, 64]
  labels y: i32[batch]
  h = relu(linear(x, 96))
  loss cross_entropy(linear(h, 16), y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""
LOW, HIGH = "bfp<2, 16, 3>", "bfp<4, 16, 3>"


@pytest.mark.parametrize("backend", ["cycle", "roofline", "maestro"])
@pytest.mark.parametrize("high", [(), ("weights",), ("activations", "gradients"), ("gradients",)])
def test_a_step_costs_what_a_program_of_the_chosen_formats_costs(backend: str, high: tuple[str, ...]) -> None:
    source = text_source(NET, "dsl", "<string>")
    module = lowered_source(source, run_options({"quantize": "fast", "precision": "f32"}), {}, set())
    kinds = Kinds(next(op for op in module.ops if isinstance(op, FuncOp)))
    chosen: dict[Operation, int] = {
        op: 4 if kinds.of(op.operands[0]) in high else 2
        for op in module.walk()
        if isinstance(op, VectorOp) and op.kind == "fast_quantize"
    }
    price = controlled_price(source, backend, {"quantize": "fast", "hardware": "tpu-v4", "precision": "f32"}, 1)
    formats = "; ".join(f"{kind}:{HIGH if kind in high else LOW}" for kind in KINDS)
    direct = compile_source(NET, backend=backend, quantize=formats, hardware="tpu-v4", precision="f32")
    found = price.of_step(module, chosen)
    assert found.seconds == pytest.approx(direct.totals.seconds, rel=1e-9)
    known = direct.totals.energy_j
    assert found.energy_j == (None if known is None else pytest.approx(known, rel=1e-9))


def test_a_training_is_priced_by_what_its_controller_chose(tmp_path: Path) -> None:
    (tmp_path / "net.dsl").write_text(NET)
    costs: dict[str, float] = {}
    for formats in ("bfp-low", "fast", "bfp-high"):
        file = tmp_path / f"{formats}.toml"
        program = f'[[programs]]\nname = "p"\nquantize = "{formats}"\n'
        file.write_text(f'steps = 12\n{program}[[phases]]\nsteps = 12\nprogram = "p"\n')
        found = training_file(tmp_path / "net.dsl", [file], run=True, seeds=1, hardware="tpu-v4", precision="f32")
        (run,) = found.trainings[0].runs
        assert len(run.losses) == 12
        costs[formats] = run.seconds[-1]
        if formats != "fast":
            assert run.seconds[-1] == pytest.approx(found.trainings[0].seconds, rel=1e-9)
    assert costs["bfp-low"] <= costs["fast"] <= costs["bfp-high"]


def test_conversions_that_layers_share_have_prices_too(tmp_path: Path) -> None:
    attention = """
network net(batch=2) {
  input x: f32[batch, 16, 32]
  labels y: i32[batch]
  h = x + multi_head_attention(x, 4)
  loss cross_entropy(linear(mean(h, [1]), 16), y)
  optimizer sgd(lr=0.1)
}
"""
    (tmp_path / "net.dsl").write_text(attention)
    file = tmp_path / "fast.toml"
    program = '[[programs]]\nname = "p"\nquantize = "fast"\n'
    file.write_text(f'steps = 2\n{program}[[phases]]\nsteps = 2\nprogram = "p"\n')
    found = training_file(tmp_path / "net.dsl", [file], run=True, seeds=1, hardware="igo-small", precision="f32")
    (training,) = found.trainings
    assert 0 < training.runs[0].seconds[-1] <= training.seconds
