"""What lower-to-npu makes of each kind of operation."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from npuc.compiler.core.builder import Optimizer
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.dialects.npu import Col2ImOp, ContractOp, Im2ColOp, MoveOp, VectorOp, ViewOp
from npuc.dialects.provenance import layer_of, location_text, role_of
from tests.networks import Net, dot_loss


def lower(net: Net, y: SSAValue, *, conv: str = "native", optimizer: Optimizer | None = None) -> list[Operation]:
    module = net.finish(dot_loss(net, y), optimizer)
    return lower_module(module, conv)


def lower_module(module: ModuleOp, conv: str = "native") -> list[Operation]:
    AutodiffPass().apply(Context(), module)
    LowerToNpuPass(conv=conv).apply(Context(), module)
    module.verify()
    return [op for op in module.walk() if op.name.startswith("npu.")]


def contracts(ops: list[Operation]) -> dict[tuple[str, str], ContractOp]:
    return {(layer_of(op), role_of(op).value): op for op in ops if isinstance(op, ContractOp)}


def test_the_three_products_of_a_layer_run_over_the_forward_dimensions() -> None:
    net = Net()
    h = net.call("linear", net.input("x", 6, 5), 8, bias=False, layer="fc1")
    ops = contracts(lower(net, net.call("linear", h, 4, bias=False, layer="fc2")))
    texts = {
        role: (dict(op.nest.dims), [str(t) for t in (*op.nest.ins, *op.nest.outs)], str(op.nest.statements[0]))
        for (layer, role), op in ops.items()
        if layer == "fc2"
    }
    sizes = {"m": 6, "n": 4, "k": 8}
    assert texts == {
        "forward": (sizes, ["X[m, k]", "W[k, n]", "Y[m, n]"], "Y += X * W"),
        "dx": (sizes, ["dY[m, n]", "W[k, n]", "dX[m, k]"], "dX += dY * W"),
        "dw": (sizes, ["X[m, k]", "dY[m, n]", "dW[k, n]"], "dW += X * dY"),
    }


def test_a_bias_becomes_the_start_of_the_sum() -> None:
    net = Net()
    x = net.call("conv2d", net.input("x", 1, 2, 4, 4), 3, 3, layer="conv")
    ops = lower(net, net.call("linear", net.call("flatten", x), 2, layer="fc"))
    starts = {layer: str(op.nest.starts[0]) for (layer, role), op in contracts(ops).items() if role == "forward"}
    assert starts == {"conv": "Y0[o]", "fc": "Y0[n]"}
    assert not [op for op in ops if isinstance(op, VectorOp) and op.kind == "add"]


def test_the_gradients_of_a_shared_weight_add_up_in_one_sum() -> None:
    net = Net()
    w = net.param("w", 4, 4)
    h = net.call("linear", net.input("x", 3, 4), weight=w, bias=False, layer="first")
    ops = contracts(lower(net, net.call("linear", h, weight=w, bias=False, layer="second")))
    assert ops["second", "dw"].nest.starts == (None,)
    assert str(ops["first", "dw"].nest.starts[0]) == "dW0[k, n]"
    assert ops["first", "dw"].operands[2] is ops["second", "dw"].results[0]


def test_an_addition_of_another_layer_stays_vector_work() -> None:
    net = Net()
    x = net.input("x", 3, 4)
    y = net.call("linear", x, 4, bias=False, layer="fc")
    ops = lower(net, net.call("add", y, x, layer="residual"))
    assert next(op.kind for op in ops if isinstance(op, VectorOp)) == "add"
    assert contracts(ops)["fc", "forward"].nest.starts == (None,)


def test_a_product_that_is_used_twice_keeps_its_value() -> None:
    net = Net()
    x = net.input("x", 3, 4)
    with net.b.at("one", None):
        h = net.call("linear", x, 4, bias=False, layer="one")
        from npuc.dialects.train.arithmetic import AddOp

        y = net.b.emit(AddOp(h, h)).out
    ops = lower(net, y)
    assert contracts(ops)["one", "forward"].nest.starts == (None,)


def test_a_strided_padded_convolution_is_a_nest_over_seven_dimensions() -> None:
    net = Net()
    x = net.call("relu", net.call("conv2d", net.input("x", 2, 3, 8, 8), 3, 1, bias=False))
    ops = contracts(lower(net, net.call("conv2d", x, 8, 3, stride=2, padding=1, bias=False, layer="c")))
    nest = ops["c", "dx"].nest
    assert dict(nest.dims) == {"b": 2, "o": 8, "i": 3, "y": 4, "x": 4, "r": 3, "s": 3}
    assert str(nest.outs[0]) == "dX[b, i, y * 2 + r - 1, x * 2 + s - 1]"


@pytest.mark.parametrize(
    ("channels", "out", "groups", "weight"),
    [(4, 4, 4, "W[i, 0, r, s]"), (4, 8, 4, "W[i * 2 + o, 0, r, s]"), (4, 6, 2, "W[g * 3 + o, i, r, s]")],
)
def test_groups_are_a_dimension(channels: int, out: int, groups: int, weight: str) -> None:
    net = Net()
    y = net.call("conv2d", net.input("x", 2, channels, 6, 6), out, 3, groups=groups, bias=False, layer="c")
    nest = contracts(lower(net, y))["c", "forward"].nest
    assert str(nest.ins[1]) == weight
    assert nest.points == 2 * out * 4 * 4 * 3 * 3 * (channels // groups)


def test_im2col_makes_the_matrix_of_windows_explicit() -> None:
    net = Net()
    x = net.call("conv2d", net.input("x", 2, 3, 8, 8), 4, 1, bias=False, layer="point")
    ops = lower(net, net.call("conv2d", x, 8, 3, padding=1, bias=False, layer="c"), conv="im2col")
    kinds = [type(op) for op in ops if layer_of(op) == "c" and not isinstance(op, ViewOp)]
    assert kinds == [Im2ColOp, ContractOp, ContractOp, Col2ImOp, Im2ColOp, ContractOp]
    nest = contracts(ops)["c", "forward"].nest
    assert dict(nest.dims) == {"b": 2, "m": 64, "n": 8, "k": 36}


def test_what_computes_nothing_is_a_move_or_a_view() -> None:
    net = Net()
    ids = net.labels("ids", 3)
    x = net.call("embedding", ids, 10, 4, dtype="f64")
    y = net.call("transpose", net.call("reshape", x, [3, 2, 2]), [2, 0, 1])
    ops = lower(net, y)
    (lookup, swap) = [op for op in ops if isinstance(op, MoveOp)][:2]
    assert (lookup.kind, lookup.reads, lookup.writes) == ("embedding", (3, 12), (12,))
    assert (swap.kind, swap.reads) == ("transpose", None)
    assert isinstance(ops[1], ViewOp)


def test_an_unknown_way_to_lower_convolutions_is_refused() -> None:
    net = Net()
    with pytest.raises(ValueError, match="conv is 'winograd', expected native or im2col"):
        lower(net, net.call("relu", net.input("x", 3)), conv="winograd")


def test_the_merged_product_keeps_the_place_of_the_layer() -> None:
    net = Net()
    net.input("unused", 1)
    ops = lower(net, net.call("linear", net.input("x", 3, 4), 2, layer="fc"))
    assert location_text(contracts(ops)["fc", "forward"]) == "net.dsl:1:1"


def test_batch_norm_s_dx_takes_the_sums_of_its_dw_where_they_are_computed() -> None:
    """dW first, and its results among the operands of dX; without parameters with a gradient dX reads twice."""

    def backward(affine: bool) -> list[VectorOp]:
        net = Net()
        y = net.call("batch_norm", net.call("relu", net.param("w", 4, 3, 5, 5)), affine=affine)
        ops = lower(net, y)
        return [op for op in ops if isinstance(op, VectorOp) and op.kind.startswith("batch_norm_d")]

    dw, dx = backward(affine=True)
    assert (dw.kind, dx.kind) == ("batch_norm_dw", "batch_norm_dx_from_sums")
    assert list(dx.operands)[5:] == list(dw.results)
    assert dw.reread is None
    assert dx.reread is None
    (alone,) = backward(affine=False)
    assert alone.kind == "batch_norm_dx"
    assert str(alone.reread) == "again [0, 1] groups 1 beside [2, 3]"
