"""
Writes what PyTorch computes of small networks in mixed precision, for the tests where it is not installed.

    python -m tests.pytorch.store_mixed
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from npuc.compiler.driver.run import describe_source
from tests.mixed_references import FOLDER
from tests.pytorch.networks import Inputs, Weights
from tests.pytorch.networks._attention import heads_of
from tests.pytorch.networks._recurrent import lstm_by_operations
from tests.pytorch.test_mixed_networks import CudaLists

DIGITS = 4
"""Of inputs and parameters behind the point."""


@dataclass(frozen=True)
class Reference:
    """
    A network in npuc's language; in PyTorch its loss and its outputs; how many values integer inputs have.

    With `whole` floats are whole numbers up to it: sums of products are exact, and all that differs is what is rounded.
    """

    source: str
    run: Callable[[Weights, Inputs], tuple[Tensor, dict[str, Tensor]]]
    limit: int = 0
    whole: int = 0


_MLP = """
network mlp(batch=8) {
  input x: f32[batch, 20]
  labels y: i32[batch]
  hidden = relu(linear(x, 16))
  logits = linear(hidden, 5)
  output hidden
  output logits
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""


def _mlp(w: Weights, x: Inputs) -> tuple[Tensor, dict[str, Tensor]]:
    hidden = F.relu(w.linear("hidden.linear", x["x"]))
    logits = w.linear("logits", hidden)
    return F.cross_entropy(logits, x["y"]), {"hidden": hidden, "logits": logits}


_CONVOLUTIONS = """
network convolutions(batch=4) {
  input x: f32[batch, 3, 8, 8]
  labels y: i32[batch]
  conv1 = conv2d(x, 6, kernel=3, padding=1, bias=false)
  norm1 = batch_norm(conv1)
  pooled = avg_pool(relu(norm1), kernel=2)
  conv2 = conv2d(pooled, 6, kernel=3, padding=1)
  sum = hard_swish(conv2) + pooled
  logits = linear(global_avg_pool(sum), 4)
  output norm1
  output sum
  output logits
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""


def _convolutions(w: Weights, x: Inputs) -> tuple[Tensor, dict[str, Tensor]]:
    norm1 = w.batch_norm("norm1", w.conv2d("conv1", x["x"], padding=1))
    pooled = F.avg_pool2d(F.relu(norm1), 2)
    total = F.hardswish(w.conv2d("conv2", pooled, padding=1)) + pooled
    logits = w.linear("logits", total.mean((2, 3)))
    return F.cross_entropy(logits, x["y"]), {"norm1": norm1, "sum": total, "logits": logits}


_ATTENTION = """
network attention(batch=2, length=5, width=12, heads=3) {
  input x: f32[batch, length, width]
  input target: f32[batch, length, width]
  norm1 = layer_norm(x)
  context = multi_head_attention(norm1, heads, causal=true)
  h = x + context
  norm2 = layer_norm(h)
  wide = gelu(linear(norm2, 2 * width))
  y = h + linear(wide, width)
  output context
  output y
  loss mse(y, target)
  optimizer adamw(lr=0.001)
}
"""


def _attention(w: Weights, x: Inputs) -> tuple[Tensor, dict[str, Tensor]]:
    h, heads = x["x"], 3
    norm = w.layer_norm("norm1", h)
    q, k, v = (heads_of(w.linear(f"context.{part}", norm), heads) for part in "qkv")
    future = torch.ones(h.shape[1], h.shape[1], dtype=torch.bool).triu(1)
    scores = (q / q.shape[-1] ** 0.5 @ k.mT).masked_fill(future, -torch.inf)
    context = w.linear("context.out", (scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
    h = h + context
    wide = F.gelu(w.linear("wide.linear", w.layer_norm("norm2", h)))
    y = h + w.linear("y.linear", wide)
    return F.mse_loss(y, x["target"]), {"context": context, "y": y}


_TIED = """
network tied(batch=3, length=4, words=9, width=6) {
  input tokens: i32[batch, length]
  labels y: i32[batch, length]
  table = param([words, width])
  h = embedding(tokens, weight=table)
  mixed = tanh(linear(h, width)) + mean(h, axis=1, keepdim=true)
  logits = matmul(mixed, table, transpose_b=true)
  output mixed
  output logits
  loss cross_entropy(logits, y)
  optimizer adamw(lr=0.01)
}
"""


def _tied(w: Weights, x: Inputs) -> tuple[Tensor, dict[str, Tensor]]:
    h = F.embedding(x["tokens"], w["table"])
    mixed = torch.tanh(w.linear("mixed.linear", h)) + h.mean(1, keepdim=True)
    logits = mixed @ w["table"].mT
    return F.cross_entropy(logits.mT, x["y"]), {"mixed": mixed, "logits": logits}


_LSTM = """
network recurrent(batch=3, length=5, hidden=4) {
  input x: f32[batch, length, 6]
  labels y: i32[batch]
  lstm, last, cell = lstm(x, hidden, layers=2, bidirectional=true, states=true)
  forward, backward = [slice(last, 0, 2, 3), slice(last, 0, 3, 4)]
  logits = linear(concat([squeeze(forward, 0), squeeze(backward, 0)], axis=1), 4)
  output lstm
  output logits
  loss cross_entropy(logits, y)
  optimizer adam(lr=0.01)
}
"""


def _lstm(w: Weights, x: Inputs) -> tuple[Tensor, dict[str, Tensor]]:
    output, last = lstm_by_operations(w, "lstm", x["x"])
    logits = w.linear("logits", torch.cat([last[-2], last[-1]], -1))
    return F.cross_entropy(logits, x["y"]), {"lstm": output, "logits": logits}


_SHARED = """
network shared(batch=4, width=6) {
  input x: f32[batch, width]
  input u: f32[batch, width]
  input v: f32[batch, width]
  input target: f32[batch, width]
  scale = param([width])
  tied = param([width, width])
  h = x * scale
  a = linear(h, width, bias=false)
  b = linear(h, width, bias=false)
  c = linear(h, width, bias=false)
  y = linear(a, weight=tied, bias=false) + linear(b, weight=tied, bias=false) + linear(c, weight=tied, bias=false)
  z = y * u + y * v + relu(y)
  output y
  output z
  loss dot_loss(z, target)
  optimizer sgd(lr=0.01)
}
"""


def _shared(w: Weights, x: Inputs) -> tuple[Tensor, dict[str, Tensor]]:
    """A value of f32 that three products read, weights of three products, and a value of bf16 read in f32."""
    h = x["x"] * w["scale"]
    a, b, c = (h @ w[f"{name}.weight"] for name in "abc")
    y = a @ w["tied"] + b @ w["tied"] + c @ w["tied"]
    z = y * x["u"] + y * x["v"] + F.relu(y)
    return (z * x["target"]).sum(), {"y": y, "z": z}


REFERENCES = {
    "mlp": Reference(_MLP, _mlp, 5),
    "convolutions": Reference(_CONVOLUTIONS, _convolutions, 4),
    "attention": Reference(_ATTENTION, _attention),
    "tied": Reference(_TIED, _tied, 9),
    "recurrent": Reference(_LSTM, _lstm, 4),
    "shared": Reference(_SHARED, _shared, whole=5),
}


def _drawn(reference: Reference, seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """Inputs and parameters; the weights of a row of n have the size of 1 / sqrt(n), vectors of 1 / 4."""
    about = describe_source(reference.source)
    random = np.random.RandomState(seed)
    drawn: dict[str, np.ndarray[Any, Any]] = {}
    if reference.whole:
        every = about["inputs"] | about["labels"] | about["params"]
        return {
            n: random.randint(-reference.whole, reference.whole + 1, one["shape"]) * 1.0 for n, one in every.items()
        }
    for name, one in (about["inputs"] | about["labels"]).items():
        shape = one["shape"]
        drawn[name] = (
            random.randint(0, reference.limit, shape) if one["dtype"].startswith("i") else random.standard_normal(shape)
        )
    for name, one in about["params"].items():
        shape = one["shape"]
        size = 1 / 4 if len(shape) == 1 else float(np.prod(shape) / max(shape)) ** -0.5
        start = 1.0 if name.startswith("norm") and name.endswith("weight") else 0.0
        drawn[name] = start + size * random.standard_normal(shape)
    return {n: v.round(DIGITS) if v.dtype.kind == "f" else v for n, v in drawn.items()}


def _plain(value: Tensor) -> dict[str, Any]:
    """Nine digits say a number of float32 exactly."""
    numbers = [float(f"{x:.9g}") for x in value.detach().double().flatten().tolist()]
    return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape), "values": numbers}


def stored(reference: Reference, seed: int) -> dict[str, Any]:
    """A network, the values that it is given, and PyTorch's loss, outputs and gradients."""
    drawn = _drawn(reference, seed)
    about = describe_source(reference.source)
    tensors = {
        n: torch.tensor(v, dtype=torch.float32 if v.dtype.kind == "f" else torch.int64) for n, v in drawn.items()
    }
    params = {n: tensors[n].requires_grad_() for n in about["params"]}
    stats: Mapping[str, Tensor] = {
        n: (torch.ones if n.endswith("_var") else torch.zeros)(one["shape"]) for n, one in about["stats"].items()
    }
    with torch.autocast("cpu", dtype=torch.bfloat16), CudaLists():
        loss, outputs = reference.run(Weights(params, stats), tensors)
    loss.backward()
    gradients = {n: p.grad for n, p in params.items() if p.grad is not None}
    return {
        "source": reference.source,
        "values": {n: {"shape": list(v.shape), "values": v.flatten().tolist()} for n, v in drawn.items()},
        "loss": loss.item(),
        "outputs": {n: _plain(y) for n, y in outputs.items()},
        "gradients": {n: _plain(g) for n, g in gradients.items()},
    }


def main() -> None:
    """Renew all files, one a network."""
    torch.set_num_threads(1)
    for seed, (name, reference) in enumerate(REFERENCES.items()):
        kept = stored(reference, seed)
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in kept.items()]
        (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
