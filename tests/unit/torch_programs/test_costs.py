"""An imported network costs what the same network in the language costs."""

from pathlib import Path

import pytest

from npuc.compiler import compile_file, compile_source

DATA = Path(__file__).parents[2] / "oracle" / "data" / "torch"
TOTALS = ("cycles", "seconds", "macs", "vector_ops", "dram_read_bytes", "dram_write_bytes")
RECURRENT = """
network recurrent() {
  input x: i64[2, 4]
  labels y: i32[2, 4]
  embed = embedding(x, 9, 6, padding_idx=0)
  states = lstm(embed, 5, layers=2, bidirectional=true)
  fc = linear(gelu(states, approximate=tanh), 7)
  loss cross_entropy(fc, y)
  optimizer sgd(lr=0.01)
}
"""


@pytest.mark.parametrize(("backend", "level"), [("cycle", 0), ("cycle", 3), ("roofline", 3)])
def test_recurrent_layers_cost_what_written_ones_cost(backend: str, level: int) -> None:
    written = compile_source(RECURRENT, backend=backend, opt_level=level).totals
    imported = compile_file(str(DATA / "recurrent.pt2"), backend=backend, opt_level=level).totals
    assert {key: imported[key] for key in TOTALS} == {key: written[key] for key in TOTALS}
