"""Networks of images, in both layouts."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

from typing import Any

from tests.jax_beside import Beside
from tests.jax_programs import JaxProgram, cross_entropy, labels, random_array

LAYOUTS = {"nchw": ("NCHW", "OIHW", "NCHW"), "nhwc": ("NHWC", "HWIO", "NHWC")}


def _conv(layout: str, x: Any, w: Any, stride: int = 1, padding: str = "SAME") -> Any:
    from jax import lax

    return lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=LAYOUTS[layout])


def _kernel(layout: str, out: int, inner: int, size: int) -> Any:
    w = random_array(out, inner, size, size)
    return w if layout == "nchw" else w.transpose(2, 3, 1, 0)


def _images(layout: str, batch: int, channels: int, size: int) -> Any:
    x = random_array(batch, channels, size, size, seed=5)
    return x if layout == "nchw" else x.transpose(0, 2, 3, 1)


def _channels(layout: str, b: Any) -> Any:
    return b[None, :, None, None] if layout == "nchw" else b


def perceptron() -> JaxProgram:
    """Two hidden layers with ReLU."""
    import jax

    def forward(p: Any, x: Any) -> Any:
        with jax.named_scope("fc1"):
            x = jax.nn.relu(x @ p["fc1"]["w"] + p["fc1"]["b"])
        with jax.named_scope("fc2"):
            x = jax.nn.relu(x @ p["fc2"]["w"] + p["fc2"]["b"])
        with jax.named_scope("fc3"):
            return x @ p["fc3"]["w"] + p["fc3"]["b"]

    sizes = {"fc1": (64, 96), "fc2": (96, 48), "fc3": (48, 10)}
    params = {name: {"w": random_array(*size), "b": random_array(size[1])} for name, size in sizes.items()}
    data = (random_array(16, 64, seed=5), labels(16, 10))
    return JaxProgram(forward, lambda p, x, y: cross_entropy(forward(p, x), y), params, data)


PERCEPTRON = """network net() {
  input x: f32[16, 64]
  labels y: i32[16]
  h = relu(linear(x, 96))
  h = relu(linear(h, 48))
  loss cross_entropy(linear(h, 10), y)
  optimizer sgd(lr=0.1)
}"""


def convnet(layout: str) -> JaxProgram:
    """Two convolutions with ReLU and the largest of windows, then a mean over places and a linear layer."""
    import jax
    from jax import lax

    window = (1, 1, 2, 2) if layout == "nchw" else (1, 2, 2, 1)
    places = (2, 3) if layout == "nchw" else (1, 2)

    def layer(x: Any, p: Any) -> Any:
        y = jax.nn.relu(_conv(layout, x, p["w"]) + _channels(layout, p["b"]))
        return lax.reduce_window(y, -float("inf"), lax.max, window, window, "VALID")

    def forward(p: Any, x: Any) -> Any:
        with jax.named_scope("conv1"):
            x = layer(x, p["conv1"])
        with jax.named_scope("conv2"):
            x = layer(x, p["conv2"])
        with jax.named_scope("logits"):
            return x.mean(places) @ p["logits"]["w"] + p["logits"]["b"]

    params = {
        "conv1": {"w": _kernel(layout, 16, 3, 3), "b": random_array(16)},
        "conv2": {"w": _kernel(layout, 32, 16, 3), "b": random_array(32)},
        "logits": {"w": random_array(32, 10), "b": random_array(10)},
    }
    data = (_images(layout, 4, 3, 16), labels(4, 10))
    return JaxProgram(forward, lambda p, x, y: cross_entropy(forward(p, x), y), params, data)


CONVNET = """network net() {
  input x: f32[4, 3, 16, 16]
  labels y: i32[4]
  h = max_pool(relu(conv2d(x, 16, kernel=3, padding=1)), kernel=2)
  h = max_pool(relu(conv2d(h, 32, kernel=3, padding=1)), kernel=2)
  loss cross_entropy(linear(global_avg_pool(h), 10), y)
  optimizer sgd(lr=0.1)
}"""


def lenet(layout: str) -> JaxProgram:
    """A convolution whose places and channels all go to a linear layer."""
    import jax

    def forward(p: Any, x: Any) -> Any:
        with jax.named_scope("conv"):
            x = jax.nn.relu(_conv(layout, x, p["conv"]["w"]) + _channels(layout, p["conv"]["b"]))
        with jax.named_scope("conv2"):
            x = jax.nn.relu(_conv(layout, x, p["conv2"]["w"], 2) + _channels(layout, p["conv2"]["b"]))
        with jax.named_scope("logits"):
            return x.reshape(x.shape[0], -1) @ p["logits"]["w"] + p["logits"]["b"]

    params = {
        "conv": {"w": _kernel(layout, 8, 3, 3), "b": random_array(8)},
        "conv2": {"w": _kernel(layout, 16, 8, 3), "b": random_array(16)},
        "logits": {"w": random_array(16 * 16, 10), "b": random_array(10)},
    }
    data = (_images(layout, 4, 3, 8), labels(4, 10))
    return JaxProgram(forward, lambda p, x, y: cross_entropy(forward(p, x), y), params, data)


LENET = """network net() {
  input x: f32[4, 3, 8, 8]
  labels y: i32[4]
  h = relu(conv2d(x, 8, kernel=3, padding=1))
  h = relu(conv2d(h, 16, kernel=3, stride=2, padding=[0, 1, 0, 1]))
  loss cross_entropy(linear(flatten(h), 10), y)
  optimizer sgd(lr=0.1)
}"""


def resnet(layout: str) -> JaxProgram:
    """A stem and two residual blocks, the second with a projection; batch normalisation by the batch."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    axes = (0, 2, 3) if layout == "nchw" else (0, 1, 2)
    places = axes[1:]

    def norm(x: Any, p: Any) -> Any:
        mean, variance = jnp.mean(x, axes, keepdims=True), jnp.var(x, axes, keepdims=True)
        scaled = (x - mean) * lax.rsqrt(variance + 1e-5)
        return scaled * _channels(layout, p["scale"]) + _channels(layout, p["offset"])

    def conv(x: Any, p: Any, stride: int = 1) -> Any:
        return norm(_conv(layout, x, p["w"], stride), p)

    def block(x: Any, p: Any, name: str, stride: int) -> Any:
        shortcut = x
        if f"{name}_project" in p:
            with jax.named_scope(f"{name}_project"):
                shortcut = conv(x, p[f"{name}_project"], stride)
        with jax.named_scope(f"{name}_conv1"):
            y = jax.nn.relu(conv(x, p[f"{name}_conv1"], stride))
        with jax.named_scope(f"{name}_conv2"):
            return jax.nn.relu(conv(y, p[f"{name}_conv2"]) + shortcut)

    def forward(p: Any, x: Any) -> Any:
        with jax.named_scope("stem"):
            x = jax.nn.relu(conv(x, p["stem"]))
        x = block(block(x, p, "block1", 1), p, "block2", 2)
        with jax.named_scope("logits"):
            return x.mean(places) @ p["logits"]["w"] + p["logits"]["b"]

    sizes = {
        "stem": (8, 3, 3),
        "block1_conv1": (8, 8, 3),
        "block1_conv2": (8, 8, 3),
        "block2_conv1": (16, 8, 3),
        "block2_conv2": (16, 16, 3),
        "block2_project": (16, 8, 1),
    }
    params = {
        name: {
            "w": _kernel(layout, out, inner, size),
            "scale": 1 + random_array(out, seed=size),
            "offset": random_array(out, seed=inner),
        }
        for name, (out, inner, size) in sizes.items()
    }
    params["logits"] = {"w": random_array(16, 10), "b": random_array(10)}
    data = (_images(layout, 4, 3, 8), labels(4, 10))
    return JaxProgram(forward, lambda p, x, y: cross_entropy(forward(p, x), y), params, data)


RESNET = """block block(x, width, stride) {
  shortcut = x
  if stride != 1 { shortcut = batch_norm(conv2d(x, width, kernel=1, stride=stride, bias=false), running=false) }
  padding = 1 if stride == 1 else [0, 1, 0, 1]
  h = relu(batch_norm(conv2d(x, width, kernel=3, stride=stride, padding=padding, bias=false), running=false))
  return relu(batch_norm(conv2d(h, width, kernel=3, padding=1, bias=false), running=false) + shortcut)
}

network net() {
  input x: f32[4, 3, 8, 8]
  labels y: i32[4]
  h = relu(batch_norm(conv2d(x, 8, kernel=3, padding=1, bias=false), running=false))
  h = block(block(h, 8, 1), 16, 2)
  loss cross_entropy(linear(global_avg_pool(h), 10), y)
  optimizer sgd(lr=0.1)
}"""

VISION = {
    "perceptron": Beside(perceptron, PERCEPTRON),
    **{f"convnet_{one}": Beside(lambda one=one: convnet(one), CONVNET) for one in LAYOUTS},
    **{f"lenet_{one}": Beside(lambda one=one: lenet(one), LENET) for one in LAYOUTS},
    **{f"resnet_{one}": Beside(lambda one=one: resnet(one), RESNET) for one in LAYOUTS},
}
