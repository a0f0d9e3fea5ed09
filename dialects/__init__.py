"""npuc's dialects, as factories that import only what is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def _train() -> Dialect:
    from xdsl.ir import Dialect

    from npuc.dialects.outside import families
    from npuc.dialects.train import TRAIN

    outside = families().operations
    return Dialect("train", [*TRAIN.operations, *outside]) if outside else TRAIN


def _npu() -> Dialect:
    from npuc.dialects.npu import NPU

    return NPU


def _dist() -> Dialect:
    from npuc.dialects.distributed import DIST

    return DIST


def _mapping() -> Dialect:
    from npuc.dialects.mapping import MAPPING

    return MAPPING


def _stablehlo() -> Dialect:
    from npuc.dialects.stablehlo import STABLEHLO

    return STABLEHLO


def _chlo() -> Dialect:
    from npuc.dialects.stablehlo.chlo import CHLO

    return CHLO


def get_all_dialects() -> dict[str, Callable[[], Dialect]]:
    """npuc's own dialects by name."""
    return {
        "dist": _dist,
        "mapping": _mapping,
        "npu": _npu,
        "train": _train,
        "stablehlo": _stablehlo,
        "chlo": _chlo,
    }
