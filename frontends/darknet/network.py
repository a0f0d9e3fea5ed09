"""
[net]: the sizes of the input, the batch, and the optimizer.

darknet adds the gradients of `batch` images, in `subdivisions` parts, and then updates the weights; a step takes all of
them at once here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.kinds import show
from npuc.frontends.darknet.cfg import MOST, Section
from npuc.frontends.dsl.defines import literal

SIZES = ("batch", "height", "width")
# what says how images are made, how the learning rate goes on, or what darknet prints: nothing of it is in a step
_DATA = frozenset(
    "angle aspect saturation exposure hue hue_min_max jitter mosaic mosaic_bound cutmix mixup blur gaussian_noise "
    "max_crop min_crop flip center clip letter_box contrastive_jit_flip contrastive_color unsupervised "
    "augment_speed random try_fix_nan show_receptive_field track dynamic_minibatch num_steps_customized "
    "burn_in max_batches policy steps scales step scale gamma power seq_scales "
    "max_chart_loss mosaic_scale loss_scale cudnn optimized_memory workspace_size_limit_MB "
    "use_cuda_graph attention weights_reject_freq equidistant_point badlabels_rejection_percentage "
    "num_sigmas_reject_badlabels ema_alpha label_smooth_eps sequential_subdivisions hierarchy notruth".split()
)


@dataclass(frozen=True)
class Net:
    """The input of a network; an image, [channels, height, width], or a vector, in `steps` steps where it has them."""

    batch: int
    channels: int
    height: int
    width: int
    inputs: int
    steps: int
    optimizer: str
    remarks: tuple[str, ...]

    @property
    def shape(self) -> list[int]:
        """The shape of the input."""
        if self.inputs:
            return [self.batch, self.steps, self.inputs] if self.steps > 1 else [self.batch, self.inputs]
        return [self.batch, self.channels, self.height, self.width]


def net_of(section: Section, sizes: Mapping[str, int]) -> Net:
    """What [net] says, with other sizes where they are given. Raises `SourceError`."""
    batch = section.integer("batch", 1, 1)
    parts = section.integer("subdivisions", 1, 1)
    channels, height, width = (section.integer(name, 0) for name in ("channels", "height", "width"))
    steps = section.integer("time_steps", 1, 1)
    whole = section.integer("inputs", channels * height * width, 1)
    is_vector = not (channels and height and width)
    if is_vector and not section.has("inputs"):
        raise section.error("found no size of the input, expected channels, height and width, or inputs")
    if not is_vector and whole != channels * height * width:
        raise section.wrong("inputs", f"found {whole}, expected channels x height x width, or none of them")
    if not is_vector and steps > 1:
        raise section.wrong("time_steps", "sequences of images have no counterpart in the language")
    section.read |= _DATA
    remarks: list[str] = []
    if parts > 1 and "batch" not in sizes:
        remarks.append(
            f"a step takes the whole batch of {batch}, which darknet adds up in {parts} parts; "
            f"-D batch={max(1, batch // parts)} is one part"
        )
    return Net(
        batch=sizes.get("batch", batch),
        channels=channels,
        height=sizes.get("height", height),
        width=sizes.get("width", width),
        inputs=whole if is_vector else 0,
        steps=steps,
        optimizer=_optimizer(section),
        remarks=tuple(remarks),
    )


def _optimizer(section: Section) -> str:
    """The optimizer by darknet's defaults; it gives weights the decay and biases none, here all have it."""
    rate, decay = section.real("learning_rate", 0.001), section.real("decay", 0.0001)
    momentum = section.real("momentum", 0.9)
    first, second, eps = section.real("B1", 0.9), section.real("B2", 0.999), section.real("eps", 1e-7)
    if section.flag("adam"):
        return f"adam(lr={rate}, beta1={first}, beta2={second}, eps={eps}, weight_decay={decay})"
    return f"sgd(lr={rate}, momentum={momentum}, weight_decay={decay})"


def sizes_of(defines: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, int]:
    """Sizes that are given from outside. Raises `UsageError`."""
    found: dict[str, int] = {}
    for name, value in defines.items():
        if name not in names:
            raise UsageError(f"unknown network parameter '{name}'", hint=did_you_mean(name, names))
        size = literal(value)
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST:
            raise UsageError(f"-D {name}: found {show(value)}, expected a size of at least 1")
        found[name] = size
    return found
