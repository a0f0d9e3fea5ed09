"""The parts of attention that graphs spell out: groups of queries, masks that are known."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from npuc.frontends.script.recognise.matching import operands

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Call
    from npuc.frontends.script.writer import CallWriter

FUNCTION = "scaled_dot_product_attention"


def attention(c: CallWriter, query: Any, key: Any, value: Any, **named: Any) -> Call | None:
    """Attention with a mask that is known, or whose keys and values are repeated for the heads of a group."""
    changed = dict(named)
    mask = named.get("mask")
    known = None if mask is None or named.get("causal") else c.numbers(mask)
    if known is not None and known.dtype == bool:
        rows, columns = known.shape[-2:]
        if known.all():
            del changed["mask"]
        elif (known == _causal(rows, columns)).all():
            del changed["mask"]
            changed["causal"] = True
    shared = [_unrepeated(c, one) for one in (key, value)]
    if None in shared or len({c.shape(one)[1] for one in shared}) > 1:
        shared = [key, value]
    if changed == dict(named) and shared[0] is key:
        return None
    return c.call(FUNCTION, query, *shared, **changed)


@cache
def _causal(rows: int, columns: int) -> npt.NDArray[np.bool_]:
    """The mask by which a row sees the columns up to its own; the layers of a network share its size."""
    return np.tri(rows, columns, dtype=bool)


def _unrepeated(c: CallWriter, value: Any) -> Any:
    """Keys or values [batch, groups, length, size] before each is repeated for the heads of its group."""
    whole = operands(c, value, "reshape")
    wide = operands(c, whole[0], "expand") if whole else []
    narrow = operands(c, wide[0], "reshape") or operands(c, wide[0], "unsqueeze") if wide else []
    if not narrow:
        return None
    own, repeated, shape = c.shape(narrow[0]), c.shape(whole[0]), c.shape(value)
    if len(own) != 4 or len(repeated) != 5:
        return None
    batch, groups, length, size = own
    each = repeated[2]
    whole_groups = repeated == (batch, groups, each, length, size) and shape == (batch, groups * each, length, size)
    return narrow[0] if whole_groups and c.shape(wide[0]) == (batch, groups, 1, length, size) else None


PATTERNS = {FUNCTION: [attention]}
