"""Powers of integers, to negative exponents too."""

import numpy as np

from npuc.compiler import run_source

TEXT = """network powers() {
  input a: i32[6]
  input b: i32[6]
  output p = a ** b
}
"""


def test_negative_exponents() -> None:
    a, b = np.array([2, 1, -1, -1, 0, 3], np.int32), np.array([-1, -3, -3, -2, -1, 4], np.int32)
    run = run_source(TEXT, inputs={"a": a, "b": b}, inference=True)
    assert run.outputs["p"].tolist() == [0, 1, -1, 1, 0, 81]
