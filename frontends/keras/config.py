"""The options of a layer, each checked where it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from npuc.compiler.core.kinds import show
from npuc.frontends.script.weights import Refused

if TYPE_CHECKING:
    from npuc.frontends.keras.model import Json

MOST = 2**31 - 1
# what says how values begin or are kept in bounds, and what has been read elsewhere
_PASSIVE = frozenset(
    (
        "name trainable dtype batch_input_shape seed unroll time_major implementation unit_forget_bias "
        "zero_output_for_mask noise_shape supports_masking lora_rank lora_alpha quantization_config ragged sparse "
        "input_length input_dim synchronized renorm renorm_clipping renorm_momentum fused virtual_batch_size "
        "build_input_shape layers autocast input_layers output_layers weights build_config activity_regularizer "
        "use_cudnn flash_attention"
    ).split()
)
_SUFFIXES = ("_initializer", "_constraint", "_regularizer")


class Options:
    """The options of a layer by their names; what is wrong with one is `Refused`."""

    def __init__(self, config: Mapping[str, Json]):
        self._config = config
        self._read: set[str] = set()

    def get(self, *names: str) -> Json:
        """The first of some options that is there and not null."""
        self._read.update(names)
        return next((self._config[name] for name in names if self._config.get(name) is not None), None)

    def integer(self, name: str, default: int | None = None, least: int = 1) -> int:
        """A whole number."""
        value = self.get(name)
        value = default if value is None else value
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int or not least <= value <= MOST:
            raise Refused(f"{name}: found {show(value)}, expected a whole number of at least {least}")
        return value

    def integers(self, name: str, count: int, default: int | None = None, least: int = 1) -> list[int]:
        """A whole number for each of some axes; one stands for all."""
        value = self.get(name)
        value = default if value is None else value
        found = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value] * count
        whole = [one for one in found if type(one) is int and least <= one <= MOST]
        if len(whole) != len(found) or len(found) != count:
            raise Refused(f"{name}: found {show(value)}, expected {count} whole numbers of at least {least}")
        return whole

    def number(self, *names: str, default: float) -> float:
        """A real number."""
        value = self.get(*names)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Refused(f"{names[0]}: found {show(value)}, expected a number")
        return float(value)

    def maybe_number(self, *names: str) -> float | None:
        """A real number, or None where there is none."""
        return None if self.get(*names) is None else self.number(*names, default=0.0)

    def flag(self, name: str, default: bool) -> bool:
        """A truth value."""
        value = self.get(name)
        value = default if value is None else value
        if not isinstance(value, bool):
            raise Refused(f"{name}: found {show(value)}, expected true or false")
        return value

    def word(self, name: str, default: str, known: Sequence[str]) -> str:
        """One of some words."""
        value = self.get(name)
        value = default if value is None else value
        if not isinstance(value, str) or value not in known:
            raise Refused(f"{name}: found {show(value)}, expected {' or '.join(known)}")
        return value

    def rate(self, name: str, default: float | None = None) -> float:
        """A probability below 1."""
        value = self.number(name, default=-1.0 if default is None else default)
        if not 0 <= value < 1:
            raise Refused(f"{name}: found {value}, expected from 0 to below 1")
        return value

    def unread(self) -> list[str]:
        """The options that say something and that nothing has read."""
        rest = self._config.keys() - self._read - _PASSIVE
        return sorted(name for name in rest if not name.endswith(_SUFFIXES) and self._config[name])

    def has_regularizer(self) -> bool:
        """Whether it adds to the loss."""
        return any(name.endswith("_regularizer") and value for name, value in self._config.items())
