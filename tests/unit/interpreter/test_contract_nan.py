"""A contraction whose sums are no numbers runs without a warning, on whole tensors and on tiles."""

import warnings

import numpy as np

from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.check import run_results
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline
from npuc.compiler.interpreter.compare import compare
from npuc.frontends.mlir import make_context, read_mlir

TEXT = """
func.func @product(%x: tensor<4x6xf32> {npuc.name = "x"}, %w: tensor<6x2xf32> {npuc.name = "w"})
    -> (tensor<4x2xf32> {npuc.name = "y"}) {
  %y = npu.contract (m = 4, k = 6, n = 2) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 2, n : 2, k : 3] {layer = "fc", role = "forward"}
    : (tensor<4x6xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
  func.return %y : tensor<4x2xf32>
}
"""


def test_sums_that_are_no_numbers_run_without_a_warning() -> None:
    x = np.ones((4, 6))
    x[0, 0], x[1, 1] = np.inf, np.nan
    data = {"x": x, "w": np.zeros((6, 2))}
    module = read_mlir(TEXT, "product.mlir")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = run_results(module, data)
        run_pipeline(module, read_pipeline("lower-tiles", available_passes()), make_context(), SourceTexts())
        tiles = run_results(module, data)
    (y,) = whole.values()
    assert np.isnan(y[:2]).all()
    assert (y[2:] == 0).all()
    assert compare(whole, tiles).equal
