"""
Cases of the operators of com.microsoft, with the results of onnxruntime.

    python -m tests.onnx_runtime

writes them; it needs onnxruntime.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from tests.onnx_cases import CONTRIBUTED, Array, Case, store_cases
from tests.onnx_files import CODES, field, graph, message, node, value

Operands = Sequence["Array | None"]
RNG = np.random.default_rng(0)
BATCH, LENGTH, HEADS, SIZE = 2, 4, 3, 16
WIDTH = HEADS * SIZE


def reals(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values: int, dtype: Any = np.int32) -> Array:
    return np.array(values, dtype)


def _drawn() -> Iterator[tuple[str, str, Operands, dict[str, Any], int, int]]:
    """Name, operator, operands, attributes, number of outputs, and of operands that are inputs (others are weights)."""
    x, wide, vector = (lambda: reals(BATCH, LENGTH, WIDTH)), (lambda: reals(BATCH, 6, WIDTH)), (lambda: reals(WIDTH))
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], np.int32)
    angles = np.outer(np.arange(6), 10000.0 ** (-np.arange(SIZE // 2) / (SIZE // 2)))
    tables = [np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)]
    ids = RNG.integers(0, 10, (BATCH, LENGTH)).astype(np.int32)
    heads, few = {"num_heads": HEADS}, {"num_heads": 6, "kv_num_heads": 2}
    weights = [reals(WIDTH, 3 * WIDTH) / np.float32(8), reals(3 * WIDTH)]
    eps = {"epsilon": 1e-5}
    yield "gelu", "Gelu", [reals(2, 5)], {}, 1, 1
    yield "bias_gelu", "BiasGelu", [reals(2, 5), reals(5)], {}, 1, 1
    yield "fast_gelu", "FastGelu", [reals(2, 5)], {}, 1, 1
    yield "fast_gelu_bias", "FastGelu", [reals(2, 5), reals(5)], {}, 1, 1
    yield "quick_gelu", "QuickGelu", [reals(2, 5)], {"alpha": 1.702}, 1, 1
    transposed = {"transA": 1, "transB": 1, "alpha": 0.5}
    yield "matmul", "FusedMatMul", [reals(2, 4, 3), reals(2, 5, 4)], transposed, 1, 2
    yield "gemm", "FusedGemm", [reals(3, 4), reals(4, 5), reals(5)], {"activation": "Relu"}, 1, 1
    conv = [reals(1, 2, 5, 5), reals(3, 2, 3, 3), reals(3)]
    yield "conv", "FusedConv", conv, {"activation": "Relu", "kernel_shape": [3, 3]}, 1, 1
    yield "conv_sum", "FusedConv", [*conv, reals(1, 3, 3, 3)], {"activation": "Relu"}, 1, 1
    yield "skip", "SkipLayerNormalization", [x(), x(), vector(), vector(), vector()], eps, 4, 2
    yield "skip_plain", "SkipLayerNormalization", [x(), x(), vector()], eps, 1, 2
    yield "skip_rms", "SkipSimplifiedLayerNormalization", [x(), x(), vector(), vector()], eps, 4, 2
    tables_of_words = [reals(10, WIDTH), reals(6, WIDTH), reals(2, WIDTH), vector(), vector()]
    yield "embed", "EmbedLayerNormalization", [ids, ids % 2, *tables_of_words], eps, 2, 2
    yield "attention", "Attention", [x(), *weights], heads, 1, 1
    yield "attention_mask", "Attention", [x(), *weights, mask], heads, 1, 1
    yield "attention_lengths", "Attention", [x(), *weights, ints(4, 2)], heads, 1, 1
    yield "attention_causal", "Attention", [x(), *weights], {**heads, "unidirectional": 1, "scale": 0.3}, 1, 1
    added = reals(BATCH, HEADS, LENGTH, LENGTH)
    yield "attention_bias", "Attention", [x(), *weights, mask, None, added], heads, 1, 1
    yield "heads", "MultiHeadAttention", [x(), wide(), wide()], heads, 1, 3
    yield "heads_bias", "MultiHeadAttention", [x(), wide(), wide(), reals(3 * WIDTH)], heads, 1, 3
    yield "heads_mask", "MultiHeadAttention", [x(), x(), x(), reals(3 * WIDTH), mask], heads, 1, 3
    causal = {**heads, "unidirectional": 1}
    yield "heads_causal", "MultiHeadAttention", [x(), x(), x(), None, None, added], causal, 1, 6
    cross = [reals(BATCH, HEADS, 6, SIZE), reals(BATCH, HEADS, 6, SIZE)]
    yield "heads_cross", "MultiHeadAttention", [x(), *cross], heads, 1, 3
    past = [reals(BATCH, HEADS, 2, SIZE), reals(BATCH, HEADS, 2, SIZE)]
    yield "heads_past", "MultiHeadAttention", [x(), x(), x(), None, None, None, *past], heads, 3, 8
    yield "rotary", "RotaryEmbedding", [x(), ints(1, dtype=np.int64), *tables], {}, 1, 1
    rows, pairs = np.tile(np.arange(LENGTH), (BATCH, 1)), {"interleaved": 1}
    yield (
        "rotary_pairs",
        "RotaryEmbedding",
        [reals(BATCH, HEADS, LENGTH, SIZE), rows, *tables],
        pairs,
        1,
        1,
    )
    three = [reals(BATCH, LENGTH, count * SIZE) for count in (6, 2, 2)]
    yield "groups", "GroupQueryAttention", [*three, None, None, ints(3, 1), ints(4)], few, 3, 3
    turned = [None, None, ints(3, 3), ints(4), *tables]
    yield "groups_rotary", "GroupQueryAttention", [*three, *turned], {**few, "do_rotary": 1}, 3, 3
    window = {**few, "do_rotary": 1, "local_window_size": 2}
    yield "groups_packed", "GroupQueryAttention", [reals(BATCH, LENGTH, 10 * SIZE), None, None, *turned], window, 3, 1
    places = RNG.uniform(-1.2, 1.2, (1, 3, 3, 2)).astype(np.float32)
    yield "grid", "GridSample", [reals(1, 2, 4, 4), places], {"mode": "bilinear"}, 1, 2


def cases() -> Iterator[Case]:
    """The cases, run by onnxruntime."""
    runtime: Any = import_module("onnxruntime")
    for name, op, operands, attributes, outputs, inputs in _drawn():
        named = {f"i{n}": array for n, array in enumerate(operands) if array is not None}
        given = {n: a for n, a in named.items() if int(n[1:]) < inputs}
        wanted = [f"o{n}" for n in range(outputs)]
        if outputs == 4:  # those between are for training
            wanted[1:3] = "", ""
        if op == "EmbedLayerNormalization":
            wanted[1] = ""
            wanted.append("o2")
        names = [f"i{n}" if array is not None else "" for n, array in enumerate(operands)]
        made = node(op, names, wanted, "com.microsoft", **attributes)
        values = [value(n, a.shape, CODES[a.dtype.name]) for n, a in given.items()]
        weights = {n: a for n, a in named.items() if n not in given}
        shown = [n for n in wanted if n][: 1 if op == "EmbedLayerNormalization" else None]
        content = graph([made], values, shown, weights)
        opsets = [(8, message((1, ""), (2, 17))), (8, message((1, "com.microsoft"), (2, 1)))]
        model = message((1, 8), *opsets) + field(7, content)
        session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
        found = dict(zip(shown, session.run(shown, given), strict=True))
        yield Case(name, f"com.microsoft.{op}", model, given, found, 1e-4, 1e-5)


if __name__ == "__main__":
    store_cases(CONTRIBUTED, cases())
