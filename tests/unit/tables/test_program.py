"""The programs of layer tables: their rows in reports, their gradients, what runs of them compute."""

import numpy as np
import pytest

from npuc.compiler import NpucError, SourceError, UsageError, compile_source, describe_source, run_source
from npuc.compiler.driver.check import check_program
from npuc.frontends.source import text_source

PRODUCTS = "net,layer,M,N,K,count,has_dX\na,fc1,6,5,4,1,0\na,fc2,7,3,8,12,1\n"
GEMM = "Layer, M, N, K,\nfc1,6,5,4,\nfc2,7,3,8,\n"
CONV = "Layer, H, W, R, S, C, F, Strides,\nc1,8,9,3,2,4,5,2,\nc2,6,6,1,1,3,2,3x1,\n"


def test_rows_of_a_table_with_gradients() -> None:
    report = compile_source(PRODUCTS, "csv", "nets/small.csv", opt_level=0)
    assert [(r.name, r.phase, r.repeat, r.loc) for r in report.ops] == [
        ("a/fc1", "forward", 1, "nets/small.csv:2:1"),
        ("a/fc1", "dw", 1, "nets/small.csv:2:1"),
        ("a/fc2", "forward", 12, "nets/small.csv:3:1"),
        ("a/fc2", "dx", 12, "nets/small.csv:3:1"),
        ("a/fc2", "dw", 12, "nets/small.csv:3:1"),
    ]
    assert {(r.batch, r.m, r.n, r.k) for r in report.ops[2:]} == {(1, 7, 3, 8)}
    assert report.totals.macs == 2 * 6 * 5 * 4 + 3 * 12 * 7 * 3 * 8
    assert report.network == "small"
    assert report.pipeline == 'set-precision{to="bf16"},lower-to-npu,schedule'
    assert report.warnings == []


def test_gradients_of_a_table_run_together_by_default() -> None:
    """Both gradients of a layer that has both, as often as the layer; forward products and a lone dW stay."""
    report = compile_source(PRODUCTS, "csv")
    assert [(r.name, r.phase, r.repeat, r.loc) for r in report.ops] == [
        ("a/fc1", "forward", 1, "<string>:2:1"),
        ("a/fc1", "dw", 1, "<string>:2:1"),
        ("a/fc2", "forward", 12, "<string>:3:1"),
        ("a/fc2", "dxdw", 12, "<string>:3:1"),
    ]
    assert report.totals.macs == 2 * 6 * 5 * 4 + 3 * 12 * 7 * 3 * 8
    assert report.pipeline == 'set-precision{to="bf16"},lower-to-npu,interleave{mode="best"},schedule'
    assert report.warnings == []


@pytest.mark.parametrize("text", [GEMM, CONV])
def test_topologies_are_forward_and_training_adds_both_gradients(text: str) -> None:
    assert [r.phase for r in compile_source(text, "csv").ops] == ["forward"] * 2
    report = compile_source(text, "csv", inference=False, opt_level=0)
    assert [r.phase for r in report.ops] == ["forward", "dx", "dw"] * 2
    assert [r.phase for r in compile_source(PRODUCTS, "csv", inference=True).ops] == ["forward"] * 2


def test_sizes_of_a_convolution_are_those_of_its_product() -> None:
    first, second = compile_source(CONV, "csv").ops
    assert (first.m, first.n, first.k) == (4 * 5, 5, 3 * 2 * 4)
    assert (second.m, second.n, second.k) == (3 * 6, 2, 3)


def test_layers_of_one_name_are_all_there() -> None:
    report = compile_source("layer,M,N,K\na,2,3,4\na,5,6,7\na,8,9,1\n", "csv", inference=False, opt_level=0)
    assert [(r.name, r.m) for r in report.ops[::3]] == [("a", 2), ("a", 5), ("a", 8)]
    assert [r.m for r in compile_source("layer,M,N,K\na,2,3,4\na,5,6,7\n", "csv", only="#1").ops] == [5]


@pytest.mark.parametrize(("only", "names"), [("#1", ["b"]), (2, ["c1"]), (["c*", "0"], ["a", "c1"])])
def test_layers_that_are_left_out_cannot_fail(only: str | int | list[str], names: list[str]) -> None:
    text = "layer,M,N,K\na,2,3,4\nb,5,6,7\nc1,1,1,1\nd,no,0,-1\n"
    assert [r.name for r in compile_source(text, "csv", only=only).ops] == names
    with pytest.raises(SourceError):
        compile_source(text, "csv", only="#3")


@pytest.mark.parametrize("only", ["#4", "x", "#99999999999999999999", "no*"])
def test_only_that_means_no_layer(only: str) -> None:
    with pytest.raises(UsageError, match="--only"):
        compile_source("layer,M,N,K\na,2,3,4\nb,5,6,7\n", "csv", only=only)


def test_a_table_has_no_parameters() -> None:
    with pytest.raises(UsageError, match="batch"):
        compile_source(GEMM, "csv", defines={"batch": 8})


def test_more_operations_than_allowed() -> None:
    with pytest.raises(SourceError, match="more than 3 operations") as caught:
        compile_source(GEMM, "csv", "t.csv", inference=False, max_ops=3)
    assert str(caught.value.location) == "t.csv:3:1"


def test_a_layer_that_no_tensor_can_hold() -> None:
    with pytest.raises(NpucError) as caught:
        compile_source("layer,M,N,K\nhuge,2000000000,2000000000,2\n", "csv", "t.csv")
    assert str(caught.value.location) == "t.csv:2:1"


@pytest.mark.parametrize("text", [PRODUCTS, GEMM, CONV])
def test_every_pass_keeps_what_a_table_computes(text: str) -> None:
    source = text_source(text, "csv", "t.csv")
    assert all(step.comparison.exact for step in check_program(source, {"inference": False, "level": "tiles"}))


def test_a_run_computes_products_and_their_gradients() -> None:
    random = np.random.default_rng(0)
    x, w, dy = (random.normal(size=s) for s in ((7, 8), (8, 3), (7, 3)))
    run = run_source(
        "layer,M,N,K\nfc,7,3,8\n",
        "csv",
        inputs={"fc.x": x, "fc.weight": w, "fc.dy": dy},
        dtype="float64",
        inference=False,
    )
    assert run.loss is None
    np.testing.assert_allclose(run.outputs["fc"], x @ w)
    np.testing.assert_allclose(run.outputs["fc.dx"], dy @ w.T)
    np.testing.assert_allclose(run.gradients["fc.weight"], x.T @ dy)


def test_windows_that_hang_over_read_zeros() -> None:
    x, w = np.arange(1.0, 5.0).reshape(1, 1, 1, 4), np.ones((1, 1, 1, 3))
    text = "name,H,W,R,S,C,F,Strides\nc,1,4,1,3,1,1,2\n"
    run = run_source(text, "csv", inputs={"c.x": x, "c.weight": w})
    assert run.outputs["c"].ravel().tolist() == [6.0, 7.0]


def test_arguments_of_layers_of_one_name() -> None:
    info = describe_source("layer,M,N,K\na,2,3,4\na,5,6,7\n", "csv")
    assert list(info["inputs"]) == ["a.x", "a.x_2"]
    assert list(info["params"]) == ["a.weight", "a.weight_2"]
    assert list(info["outputs"]) == ["a", "a_2"]


def test_the_program_of_a_table_keeps_counts_through_files() -> None:
    from npuc.compiler.driver.compile import compile_program

    source = text_source(PRODUCTS, "csv", "t.csv")
    made = compile_program(source, ["cycle"], {})
    again = compile_source(str(made.modules[0]), "mlir")
    assert [(r.name, r.phase, r.repeat, r.cycles) for r in again.ops] == [
        (r.name, r.phase, r.repeat, r.cycles) for r in made.reports[0].ops
    ]
