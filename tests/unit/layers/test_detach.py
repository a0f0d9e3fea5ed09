"""No gradient passes a detached value; others of the same tensor are kept."""

import numpy as np

from npuc.compiler import run_source

TEXT = """
network n() {
  input x: f64[3]
  w = param([3], type=f64)
  y = w * x
  loss sum(y * detach(y)) + sum(detach(w))
  output y
}
"""


def test_the_other_factor_is_a_constant() -> None:
    x, w = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 4.0])
    run = run_source(TEXT, inputs={"x": x, "w": w})
    np.testing.assert_array_equal(run.gradients["w"], w * x * x)


def test_a_weight_whose_uses_are_all_detached_has_no_gradient() -> None:
    run = run_source(TEXT.replace("y * detach(y)", "detach(y)"), inputs={"x": np.ones(3)})
    assert run.gradients == {}
