"""Programs at every level of the IR, by name, and their texts."""

from functools import cache
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from npuc.compiler.core.options import Options
from npuc.compiler.driver.passes import available_passes, read_pipeline, run_pipeline
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.driver.running.lower import stamp_default_target
from npuc.frontends.mlir import make_context
from npuc.frontends.source import text_source

DENSE = """network dense(batch=4) {
  input x: f32[batch, 6]
  labels y: i32[batch]
  h = relu(linear(x, 8))
  loss cross_entropy(linear(h, 4), y)
  optimizer %s
}
"""
IMAGES = """network images(batch=2) {
  input x: f32[batch, 3, 6, 6]
  labels y: i32[batch]
  h = relu(batch_norm(conv2d(x, 4, kernel=3, padding=1)))
  h = h + conv2d(h, 4, kernel=1)
  h = max_pool(h, kernel=2)
  loss cross_entropy(linear(flatten(h), 4), y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""
TOKENS = """network tokens(batch=2) {
  input t: i32[batch, 4]
  labels y: i32[batch, 4]
  h = layer_norm(embedding(t, 10, 8))
  q = reshape(linear(h, 8), [batch, 4, 2, 4])
  s = softmax(matmul(transpose(q, [0, 2, 1, 3]), transpose(q, [0, 2, 3, 1])))
  h = concat([h, dropout(gelu(linear(h, 8)), 0.1)], axis=2)
  loss cross_entropy(linear(h, 10), y) + 0.5 * mean(s, axis=[0, 1, 2, 3])
  optimizer adamw(lr=0.001)
}
"""
STEP = "autodiff"
NPU = f"{STEP},lower-to-npu"
PROGRAMS: dict[str, tuple[str, str]] = {
    "forward": (DENSE % "adam(lr=0.1)", ""),
    "forward images": (IMAGES, ""),
    "forward tokens": (TOKENS, ""),
    "step": (DENSE % "adam(lr=0.1)", STEP),
    "step images": (IMAGES, STEP),
    "step tokens": (TOKENS, STEP),
    "step lamb": (DENSE % "lamb(lr=0.1)", STEP),
    "recompute": (IMAGES, f"{STEP},recompute"),
    "devices": (DENSE % "sgd(lr=0.1)", f"parallelize{{strategy=hypar devices=2}},{STEP}"),
    "npu": (DENSE % "adam(lr=0.1)", NPU),
    "npu images": (IMAGES, NPU),
    "npu tokens": (TOKENS, NPU),
    "im2col": (IMAGES, f"{STEP},lower-to-npu{{conv=im2col}}"),
    "scheduled": (DENSE % "sgd(lr=0.1)", f"{NPU},schedule"),
    "scheduled images": (IMAGES, f"{NPU},schedule"),
    "interleaved": (DENSE % "sgd(lr=0.1)", f"{NPU},interleave{{mode=zip}},schedule"),
    "fused": (IMAGES, f"{NPU},interleave{{mode=fused}},fuse-vector,schedule"),
    "resident": (DENSE % "sgd(lr=0.1)", f"{NPU},schedule,keep-resident"),
    "mapped": (IMAGES, f"{NPU},map{{mapping=kcp_ws num-pes=16}}"),
    "tiles": (DENSE % "sgd(lr=0.1)", f"{NPU},schedule,lower-tiles"),
    "tiles fused": (DENSE % "sgd(lr=0.1)", f"{NPU},interleave{{mode=zip}},fuse-vector,schedule,lower-tiles"),
}
"""Of each program its network and the passes that have run on it."""


def lowered(network: str, pipeline: str) -> ModuleOp:
    """A network after some passes."""
    source = text_source(network, "dsl", "f.dsl")
    module = read_program(source, Options(), texts_of(source))
    if pipeline:
        stamp_default_target(module)
        run_pipeline(module, read_pipeline(pipeline, available_passes()), make_context(), texts_of(source))
    return module


@cache
def text_of(name: str) -> str:
    """A program as text."""
    return printed(lowered(*PROGRAMS[name]))


def printed(module: ModuleOp) -> str:
    """A module as text."""
    stream = StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue() + "\n"
