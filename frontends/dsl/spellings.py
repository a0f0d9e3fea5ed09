"""Names that layers, arguments and values have in PyTorch and similar frameworks, with their counterparts here."""

from collections.abc import Collection, Mapping, Sequence

from npuc.compiler.core.errors import nearest

_LAYERS: Mapping[str, str] = {
    "attention": "multi_head_attention(x, heads)",
    "bce": "binary_cross_entropy(x, target)",
    "bcewithlogits": "binary_cross_entropy_with_logits(x, target)",
    "bmm": "matmul(x, y)",
    "cat": "concat(tensors, axis)",
    "chunk": "split(x, sizes, axis)",
    "clamp": "clip(x, low, high)",
    "conv": "conv2d(x, channels, kernel)",
    "convtranspose": "conv_transpose2d(x, channels, kernel)",
    "deconv": "conv_transpose2d(x, channels, kernel)",
    "dense": "linear(x, features)",
    "fc": "linear(x, features)",
    "interpolate": "upsample(x, scale)",
    "layernormalization": "layer_norm(x)",
    "lrn": "local_response_norm(x, size)",
    "maskedfill": "where(condition, x, y)",
    "mha": "multi_head_attention(x, heads)",
    "mm": "matmul(x, y)",
    "mseloss": "mse(y, target)",
    "narrow": "slice(x, axis, start, stop)",
    "nll": "nll_loss(log_probs, labels)",
    "norm": "sqrt(sum(x ** 2, axis))",
    "nograd": "detach(x)",
    "oneslike": "ones(shape(x))",
    "permute": "transpose(x, axes)",
    "range": "0..n in a for; arange(stop) is a tensor",
    "stopgradient": "detach(x)",
    "std": "sqrt(var(x, axis))",
    "swish": "silu(x)",
    "view": "reshape(x, shape)",
    "zeroslike": "zeros(shape(x))",
}
"""By the name in small letters, without `_`, `2d` at its end, and `layer` or `loss` where the name stands without."""

_ARGUMENTS: Mapping[str, Sequence[str]] = {
    "alpha": ("negative_slope",),
    "betas": ("beta1",),
    "dim": ("axis", "axes", "start"),
    "dims": ("axis", "axes"),
    "dtype": ("to", "type"),
    "elementwise_affine": ("affine",),
    "embedding_dim": ("width",),
    "learning_rate": ("lr",),
    "max": ("high",),
    "min": ("low",),
    "num_embeddings": ("entries",),
    "output_size": ("size",),
    "rate": ("p",),
    "scale_factor": ("scale",),
    "size": ("shape",),
    "spatial_scale": ("scale",),
    "split_size": ("sizes",),
    "split_size_or_sections": ("sizes",),
    "unbiased": ("correction",),
}

_NEEDLESS = frozenset({"embed_dim", "in_channels", "in_features", "input_size", "normalized_shape", "num_features"})
_MEANINGLESS = frozenset({"batch_first", "device", "inplace", "requires_grad"})
_VALUES = {"False": "false", "None": "none", "True": "true", "null": "none"}
_OVER_AXES = {"max": "amax", "min": "amin"}


def layer_hint(name: str, known: Collection[str]) -> str:
    """The hint for an unknown layer or block."""
    plain = _plain(name)
    for form in (plain, plain.removesuffix("2d"), plain.removesuffix("loss"), plain.removesuffix("layer")):
        same = next((k for k in sorted(known) if _plain(k) == form), None)
        if same is not None:
            return f"did you mean '{same}'?"
        if form in _LAYERS:
            return f"write {_LAYERS[form]}"
    match = nearest(name, sorted(known))
    return f"did you mean '{match}'?" if match else "'npuc list layers' shows what there is"


def argument_hint(function: str, name: str, known: Sequence[str]) -> str | None:
    """The hint for an unknown argument of a function, if a known one is near."""
    if function in _OVER_AXES and name in ("axis", "dim", "keepdim"):
        return f"write {_OVER_AXES[function]}(x, axis) for the {function} over axes;"
    if name in _NEEDLESS:
        return "leave it out, the sizes of x are known;"
    if name in _MEANINGLESS:
        return "leave it out;"
    match = next((k for k in _ARGUMENTS.get(name, ()) if k in known), None) or nearest(name, known)
    return f"did you mean '{match}'?" if match else None


def value_hint(name: str) -> str | None:
    """The hint for a name that other languages have for a value."""
    return f"write {_VALUES[name]}" if name in _VALUES else None


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
