"""
How long large networks take from text to table, and whether time grows as their size does.

    pytest benchmarks/test_size.py --benchmark-columns=mean,stddev
"""

import io
from typing import Any

import pytest
from rich.console import Console

from npuc.compiler import compile_source
from npuc.compiler.report.text.table import print_report
from npuc.frontends import read_text

RESNET = """
block unit(x, width, stride) {
  c1 = relu(batch_norm(conv2d(x, width, kernel=3, stride=stride, padding=1, bias=false)))
  c2 = batch_norm(conv2d(c1, width, kernel=3, padding=1, bias=false))
  shortcut = x
  if stride != 1 { shortcut = batch_norm(conv2d(x, width, kernel=1, stride=stride, bias=false)) }
  return relu(c2 + shortcut)
}

# He et al., 2016: 6 n + 2 layers for images of 32 x 32
network resnet(batch=128, n=166) {
  input  images: f32[batch, 3, 32, 32]
  labels y: i32[batch]
  x = relu(batch_norm(conv2d(images, 16, kernel=3, padding=1, bias=false)))
  for stage in 0..3 {
    for i in 0..n { x = unit(x, 16 * 2 ** stage, 2 if stage > 0 and i == 0 else 1) }
  }
  logits = linear(global_avg_pool(x), 10)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9, weight_decay=1e-4)
}
"""
LSTM = """
network recurrent(batch=32, steps=1000, inputs=256, hidden=512) {
  input  x: f32[batch, steps, inputs]
  labels y: i32[batch, steps]
  h = lstm(x, hidden)
  logits = linear(h, 10)
  loss cross_entropy(logits, y)
  optimizer adam(lr=1e-3)
}
"""
GPT2_XL = {"batch": 1, "width": 1600, "heads": 25}
CASES = [
    *(("gpt2", read_text("samples:gpt2"), GPT2_XL | {"layers": layers}) for layers in (12, 24, 48)),
    *(("resnet", RESNET, {"n": n}) for n in (41, 83, 166)),
    *(("lstm", LSTM, {"steps": steps}) for steps in (250, 500, 1000)),
]


@pytest.mark.parametrize(("name", "text", "defines"), CASES, ids=[f"{n}-{list(d.values())[-1]}" for n, _, d in CASES])
def test_size(benchmark: Any, name: str, text: str, defines: dict[str, int]) -> None:
    """The training step on the cycle backend, and its table; the schedules have been found once before."""

    def whole() -> None:
        print_report(compile_source(text, filename=name, defines=defines), Console(file=io.StringIO(), width=120))

    benchmark.pedantic(whole, rounds=2, warmup_rounds=1)
