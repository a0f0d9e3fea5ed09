"""The steps of an iteration: what each reads, writes and computes, and their order."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from xdsl.context import Context

from npuc.backends.roofline.iteration.build import iteration_of
from npuc.backends.roofline.iteration.steps import Conventions, Iteration, IterationStep, least_rows
from npuc.compiler.driver.passes import available_passes, read_pipeline
from npuc.compiler.layers import get_layer
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import training_functions
from npuc.frontends import read_source
from npuc.frontends.source import open_source

THESIS = Conventions(ops_per_mac=1, element_bytes=4, order="listed", backward="table", loss="free", update="none")


def steps_of(body: str, conventions: Conventions = THESIS, passes: str = "") -> Iteration:
    """The iteration of a network of x: f32[2, 3, 4, 4] with this body."""
    text = f"network net(batch=2) {{\n input x: f32[batch, 3, 4, 4]\n input t: f32[batch, 5]\n{body}\n}}"
    return of_text(text, conventions, passes)


def of_text(text: str, conventions: Conventions, passes: str = "", **defines: Any) -> Iteration:
    module = read_source(text, defines=defines, training="loss" in text)
    for step in read_pipeline(passes, available_passes()):
        step.apply(Context(), module)
    return iteration_of(next(iter(training_functions(module))), conventions)


def names(iteration: Iteration, tensors: tuple[int, ...]) -> list[str]:
    prefix = {"gradient": "d", "weight_gradient": "d"}
    return sorted(prefix.get(iteration.tensors[t].kind, "") + iteration.tensors[t].name for t in tensors)


def step(iteration: Iteration, name: str, phase: str) -> IterationStep:
    (found,) = [one for one in iteration.steps if one.name == name and one.phase == phase]
    return found


# What stands in front of the layer gives it an operand `h` with a gradient; e elements of its result.
CONV = " h = conv2d(x, 4, kernel=3, padding=1, bias=false)\n"
END = "\n loss mse(linear(reshape(y, [batch, -1]), 5), t)"
TABLE = {
    # layer: backward reads, backward writes, operations forward and backward over those of the forward
    "conv2d(h, 6, kernel=1, bias=false)": (["dy", "h", "y.weight"], ["dh", "dy.weight"], 4 * 192, 8 * 192),
    "batch_norm(h)": (["dy", "h", "y.weights"], ["dh", "dy.weights"], 4 * 128, 8 * 128),
    "relu(h)": (["dy", "y"], ["dh"], 128, 128),
    "sigmoid(h)": (["dy", "y"], ["dh"], 128, 128),
    "tanh(h)": (["dy", "y"], ["dh"], 128, 128),
    "dropout(h, 0.5)": (["dy", "y"], ["dh"], 128, 128),
    "softmax(h)": (["dy", "y"], ["dh"], 5 * 128, 5 * 128),
    "max_pool(h, kernel=2, stride=2)": (["dy", "h", "y"], ["dh"], 4 * 32, 4 * 32),
    "global_avg_pool(h)": (["dy"], ["dh"], 16 * 8, 16 * 8),
}


@pytest.mark.parametrize("layer", TABLE)
def test_table_of_the_model(layer: str) -> None:
    """Section 2 of the model: what backward reads and writes, operations."""
    reads, writes, forward, backward = TABLE[layer]
    iteration = steps_of(f"{CONV} y = {layer}{END}")
    first, second = step(iteration, "y", "forward"), step(iteration, "y", "dxdw")
    assert "h" in names(iteration, first.reads)
    assert names(iteration, first.writes) == ["y"]
    assert (names(iteration, second.reads), names(iteration, second.writes)) == (reads, writes)
    assert (first.ops, second.ops) == (forward, backward)
    assert second.matrix is layer.startswith("conv2d")


@pytest.mark.parametrize(("symbol", "reads", "steps"), [("*", ["a", "b", "dy"], 2), ("+", ["dy"], 1)])
def test_two_operands(symbol: str, reads: list[str], steps: int) -> None:
    """Products and sums of two tensors write two gradients."""
    iteration = steps_of(f"{CONV} a = relu(h)\n b = tanh(h)\n y = a {symbol} b{END}")
    back = step(iteration, "y", "dxdw")
    assert (names(iteration, back.reads), names(iteration, back.writes)) == (reads, ["da", "db"])
    assert back.ops == steps * 128
    assert step(iteration, "y", "forward").ops == 128


def test_a_layer_of_inputs_has_no_dx() -> None:
    """By the table its backward takes as long and reads W all the same; where needed counts, neither."""
    body = f"{CONV} y = relu(h){END}"
    table, needed = steps_of(body), steps_of(body, replace(THESIS, backward="needed"))
    assert names(table, step(table, "h", "dxdw").reads) == ["dh", "h.weight", "x"]
    assert names(needed, step(needed, "h", "dxdw").reads) == ["dh", "x"]
    assert step(table, "h", "dxdw").macs == 2 * step(table, "h", "forward").macs
    assert step(needed, "h", "dxdw").macs == step(needed, "h", "forward").macs
    for found in (table, needed):
        assert names(found, step(found, "h", "dxdw").writes) == ["dh.weight"]


def test_gradients_accumulate_in_place() -> None:
    """The first consumer in the backward pass writes dh, the second reads and rewrites it; the same for a weight."""
    iteration = steps_of(
        " w = param([48, 5])\n"
        " flat = reshape(x, [batch, 48])\n a = linear(flat, weight=w, bias=false)\n"
        " h = tanh(a)\n p = relu(h)\n q = sigmoid(h)\n"
        " b = linear(flat, weight=w, bias=false)\n loss mse(p * q + b, t)"
    )
    q, p = step(iteration, "q", "dxdw"), step(iteration, "p", "dxdw")
    assert iteration.steps.index(q) < iteration.steps.index(p)
    assert names(iteration, q.reads) == ["dq", "q"]
    assert names(iteration, p.reads) == ["dh", "dp", "p"]
    assert "dw" not in names(iteration, step(iteration, "b", "dxdw").reads)
    assert "dw" in names(iteration, step(iteration, "a", "dxdw").reads)
    assert names(iteration, tuple(iteration.live_out)) == ["dw"]


def test_views_are_parts_of_memory() -> None:
    """Concat, split and reshape are no steps: their readers read the parts, their gradients are those of the parts."""
    iteration = steps_of(
        f"{CONV} a = relu(h)\n b = tanh(h)\n both = concat([a, b], axis=1)\n"
        " halves = split(reshape(both, [batch, 128]), [64, 64], axis=1)\n"
        " y = sigmoid(both)\n loss mse(linear(reshape(y, [batch, -1]), 5), t)"
    )
    assert not [one for one in iteration.steps if one.name in ("both", "halves")]
    assert names(iteration, step(iteration, "y", "forward").reads) == ["a", "b"]
    assert names(iteration, step(iteration, "y", "dxdw").writes) == ["da", "db"]


def test_parts_of_a_tensor_are_tensors() -> None:
    """What is split is written as its parts, and each reader reads its own."""
    iteration = steps_of(
        f"{CONV} halves = split(h, [2, 2], axis=1)\n a = relu(halves[0])\n b = tanh(halves[1])\n y = a * b{END}"
    )
    (read,) = step(iteration, "a", "forward").reads
    assert iteration.tensors[read].bytes == 2 * 2 * 16 * 4
    assert len(step(iteration, "h", "forward").writes) == 2


def test_a_bias_belongs_to_its_weight() -> None:
    """One tensor for both, and no operations for the addition."""
    iteration = steps_of(" y = linear(reshape(x, [batch, 48]), 5)\n loss mse(y, t)")
    (weights,) = [t for t in iteration.tensors if t.kind == "weight"]
    assert (weights.name, weights.bytes) == ("y.weights", (48 * 5 + 5) * 4)
    assert step(iteration, "y", "forward").ops == 2 * 48 * 5


def test_cross_entropy_is_a_softmax() -> None:
    """Its forward leaves probabilities, its backward reads them and no gradient."""
    inputs = "input x: f32[batch, 8]\n labels y: i32[batch]"
    text = f"network n(batch=2) {{\n {inputs}\n z = linear(x, 5)\n loss cross_entropy(z, y)\n}}"
    for loss in ("free", "layer"):
        iteration = of_text(text, replace(THESIS, loss=loss))
        first, second = (step(iteration, "cross_entropy", phase) for phase in ("forward", "dxdw"))
        assert names(iteration, first.reads) == ["z"]
        assert first.writes == second.reads
        assert names(iteration, second.writes) == ["dz"]
        assert (first.ops, second.ops) == (5 * 10, 2 * 10)


def test_a_loss_is_a_layer_or_free() -> None:
    """Free, its operand's gradient is read by nobody; as a layer it reads its operands twice."""
    free = steps_of(f"{CONV} y = relu(h){END}")
    whole = steps_of(f"{CONV} y = relu(h){END}", replace(THESIS, loss="layer"))
    last = next(one for one in free.steps if one.phase == "dxdw")
    assert "dmse.linear" not in names(free, last.reads)
    assert len(whole.steps) == len(free.steps) + 2
    assert names(whole, step(whole, "mse", "dxdw").writes) == names(whole, step(whole, "mse", "dxdw").writes)


def test_depth_first_with_joins() -> None:
    """A layer follows its producer; the join waits for both branches; backward is the exact reverse."""
    body = f"{CONV} a = relu(h)\n b = tanh(h)\n c = sigmoid(a)\n y = b + c{END}"
    listed, dfs = steps_of(body), steps_of(body, replace(THESIS, order="dfs"))
    orders = [[one.name for one in found.steps if one.phase == "forward"][:5] for found in (listed, dfs)]
    assert orders == [["h", "a", "b", "c", "y"], ["h", "a", "c", "b", "y"]]
    forward = [one.name for one in dfs.steps if one.phase == "forward"]
    assert [one.name for one in dfs.steps if one.phase == "dxdw"] == forward[::-1]


def test_updates() -> None:
    """At the end or as soon as they can be; momentum is a state; a wider copy of the weights is one, too."""
    body = f"{CONV} y = relu(h){END}\n optimizer sgd(lr=0.1, momentum=0.9)"
    end, eager = (steps_of(body, replace(THESIS, update=when)) for when in ("end", "eager"))
    assert [one.phase for one in end.steps[-2:]] == ["update", "update"]
    places = [i for i, one in enumerate(eager.steps) if one.phase == "update"]
    assert [eager.steps[i - 1].phase for i in places] == ["dxdw", "dxdw"]
    update = step(end, "h.weight", "update")
    assert names(end, update.reads) == ["dh.weight", "h.weight", "h.weight.state"]
    assert names(end, update.writes) == ["h.weight", "h.weight.state"]
    assert update.ops == 4 * 108
    mixed = steps_of(body, replace(THESIS, update="end", element_bytes=2, master_bytes=4))
    update = step(mixed, "h.weight", "update")
    sizes = {mixed.tensors[t].name: mixed.tensors[t].bytes for t in (*update.reads, *update.writes)}
    assert sizes == {"h.weight": 216, "h.weight.master": 432, "h.weight.state": 432}
    assert names(mixed, update.reads) == ["dh.weight", "h.weight.master", "h.weight.state"]


def test_inference_keeps_its_outputs() -> None:
    """Forward steps only; what the network returns is in memory at the end."""
    text = "network n(batch=2) {\n input x: f32[batch, 8]\n y = relu(linear(x, 5))\n output y\n}"
    iteration = of_text(text, THESIS)
    assert {one.phase for one in iteration.steps} == {"forward"}
    assert names(iteration, tuple(iteration.live_out)) == ["y"]


def test_a_step_that_has_its_backward() -> None:
    """The forward operations of a differentiated program give the same iteration."""
    body = f"{CONV} y = batch_norm(h){END}\n optimizer adam(lr=0.1)"
    for conventions in (THESIS, Conventions()):
        assert steps_of(body, conventions, "autodiff") == steps_of(body, conventions)


def test_recomputed_layers_run_again() -> None:
    """Before the first backward step that reads what they make; the first results are overwritten."""
    body = f"{CONV} a = relu(h)\n b = tanh(a)\n c = sigmoid(b)\n y = tanh(c){END}"
    iteration = steps_of(body, passes="autodiff,recompute{policy=every-k k=2}")
    again = [one for one in iteration.steps if one.recomputed]
    assert again
    for one in again:
        index = iteration.steps.index(one)
        assert any(set(one.writes) & set(later.reads) for later in iteration.steps[index + 1 :])
        assert replace(one, recomputed=False) in iteration.steps[:index]


def test_rows_of_tensors() -> None:
    """A row of an image is a line of it through all channels."""
    iteration = steps_of(f"{CONV} y = relu(h){END}")
    rows = {tensor.name: tensor.row_bytes for tensor in iteration.tensors if tensor.kind != "gradient"}
    assert rows["x"] == 3 * 4 * 4
    assert rows["h"] == 4 * 4 * 4
    assert least_rows(iteration)[0] >= rows["h"]


@pytest.mark.parametrize(
    ("sample", "defines", "layers", "macs", "weights"),
    [
        ("resnet50", {}, 175, 123_455_143_936, 25_557_032),
        ("mobilenet_v2", {}, 152, 9_624_776_704, 3_504_872),
        ("gnmt", {"variant": "prototype"}, 6233, 144_447_897_600, 90_177_536),
        ("transformer", {"variant": "thesis_fit"}, 372, None, 100_724_736),
    ],
)
def test_networks_of_the_study(
    sample: str, defines: dict[str, Any], layers: int, macs: int | None, weights: int
) -> None:
    """Layers, forward MACs and parameters of section 7."""
    source = open_source(f"samples:{sample}")
    iteration = of_text(source.text, replace(THESIS, prototype=sample == "gnmt"), **defines)
    forward = [one for one in iteration.steps if one.phase == "forward"]
    assert len(forward) == layers
    assert len(iteration.steps) == 2 * layers
    assert macs is None or sum(one.macs for one in forward) == macs
    assert sum(tensor.bytes for tensor in iteration.tensors if tensor.kind == "weight") == 4 * weights


@pytest.mark.parametrize("loss", ["layer", "free"])
def test_sums_of_losses(loss: str) -> None:
    """Losses that are added up, or stacked and summed, give their operands gradients as a single one does."""
    conventions = replace(THESIS, loss=loss)
    heads = " a = linear(reshape(x, [batch, 48]), 5)\n b = relu(a)\n"
    for total in ("mse(a, t) + 0.5 * mse(b, t)", "sum(stack([mse(a, t), mse(b, t)]))"):
        iteration = steps_of(f"{heads} loss {total}", conventions)
        backward = [one.name for one in iteration.steps if one.phase == "dxdw" and one.matrix]
        assert backward == ["a"]
        assert names(iteration, step(iteration, "b", "dxdw").writes) == ["da"]
        losses = [one for one in iteration.steps if "t" in names(iteration, one.reads)]
        assert bool(losses) is (loss == "layer")


@pytest.mark.parametrize(
    "sample", ["googlenet", "faster_rcnn", "yolo_v2_tiny", "lstm_lm", "shufflenet_v2", "efficientnet_b0", "dlrm"]
)
def test_products_of_the_backward_pass_are_those_of_autodiff(sample: str) -> None:
    """Where only what is needed counts, each layer has the MACs of the operations that autodiff derives for it."""
    text = open_source(f"samples:{sample}").text
    iteration = of_text(text, Conventions())
    module = read_source(text)
    AutodiffPass().apply(Context(), module)
    derived: Counter[str] = Counter()
    for op in next(iter(training_functions(module))).body.block.ops:
        if isinstance(op, TrainOp) and role_of(op) in (Role.DX, Role.DW):
            derived[layer_of(op)] += get_layer(op).work(op).macs
    ours: Counter[str] = Counter()
    for one in iteration.steps:
        if one.phase == "dxdw":
            ours[one.name] += one.macs
    assert +derived == +ours
