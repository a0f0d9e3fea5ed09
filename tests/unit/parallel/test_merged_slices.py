"""Slices of one table that overlap: each row that is read has one gradient, summed over devices once."""

import numpy as np
import pytest

from npuc.compiler import compile_source, run_source

DEVICES = 4
SLICES = """network slices(batch=8) {{
  input x: f32[batch, 6]
  labels y: i32[batch]
  t = param([40, 6])
{slices}
  logits = {logits}
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}}"""


def slices_source(*rows: tuple[int, int]) -> str:
    """A network whose outputs are sums of products with the rows of a table, each from one to before another."""
    lines = [f"  t{i} = slice(t, 0, {start}, {stop})" for i, (start, stop) in enumerate(rows)]
    sums = [f"sum(matmul(x, t{i}, transpose_b=true), axis=1, keepdim=true)" for i in range(len(rows))]
    return SLICES.format(slices="\n".join(lines), logits=f"concat([{', '.join(sums)}], 1)")


@pytest.mark.parametrize(
    "rows",
    [
        ((0, 10), (5, 15)),
        ((5, 15), (0, 10)),
        ((2, 20), (4, 8), (30, 33)),
        ((0, 24), (12, 30)),
        ((0, 6), (3, 9), (8, 12), (12, 20)),
        ((0, 25), (20, 40)),
    ],
)
def test_each_row_that_is_read_is_summed_once(rows: tuple[tuple[int, int], ...]) -> None:
    source = slices_source(*rows)
    report = compile_source(
        source, hardware="igo-large", precision="f32", devices=DEVICES, parallel="dp", convention="physical"
    )
    summed = 0
    for op in report.ops:
        if op.phase == "comm" and op.native["of"] == "dw":
            operand = op.native["operand_bytes"]
            assert isinstance(operand, int)
            summed += op.repeat * operand
    assert summed == 4 * 6 * len({row for start, stop in rows for row in range(start, stop)})

    rng = np.random.default_rng(0)
    inputs = {"x": rng.normal(size=(8, 6)), "y": rng.integers(0, len(rows), 8)}
    spread = f"parallelize{{strategy=dp devices={DEVICES} convention=physical}},autodiff"
    one, many = (run_source(source, inputs=inputs, dtype="float64", pipeline=p) for p in (None, spread))
    np.testing.assert_allclose(many.updated["t"], one.updated["t"], rtol=1e-12, atol=1e-14)
