"""Networks of residual pairs, written in the language."""

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import run_options
from npuc.frontends.dsl.values import Value
from npuc.frontends.source import text_source

PAIRS = """
block function(x, layers, norm) {
  h = x
  for i in 0..layers { h = conv2d(relu(batch_norm(h) if norm else h), shape(x)[1], kernel=3, padding=1, bias=false) }
  return h
}

block dense(x, layers, norm) {
  h = x
  for i in 0..layers { h = linear(tanh(layer_norm(h) if norm else h), shape(x)[1]) }
  return h
}

network pairs(
  batch=4, width=4, depth=3, layers=2, form="revnet", norm=false, joined=false, images=false, swapped=false
) {
  input  x: f32[batch, 3]
  labels y: i32[batch]
  h = linear(x, 2 * width * (9 if images else 1))
  if images { h = reshape(h, [batch, 2 * width, 3, 3]) }
  x1, x2 = split(h, width, 1)
  for i in 0..depth {
    if joined {
      both = concat([x1, x2], axis=1)
      x1, x2 = split(both, width, 1)
    }
    if form == "revnet" {
      f = function(x2, layers, norm) if images else dense(x2, layers, norm)
      y1 = f + x1 if swapped else x1 + f
      g = function(y1, layers, norm) if images else dense(y1, layers, norm)
      y2 = x2 + g
    }
    if form == "camel" {
      f = function(x1, layers, norm) if images else dense(x1, layers, norm)
      y2 = f + x2
      g = function(y2, layers, norm) if images else dense(y2, layers, norm)
      y1 = x1 + g if swapped else g + x1
    }
    if form == "ordinary" {
      f = function(x1, layers, norm) if images else dense(x1, layers, norm)
      y1 = x1 + f
      y2 = x2
    }
    x1 = y1
    x2 = y2
  }
  last = concat([x1, x2], axis=1)
  logits = linear(flatten(last), 3)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""


def step_of(text: str, passes: str = "autodiff", **defines: Value) -> ModuleOp:
    """The program of a network after some passes."""
    sizes: Mapping[str, Value] = defines
    return lowered_source(text_source(text, "dsl", "net.dsl"), run_options({"pipeline": passes, "defines": {**sizes}}))
