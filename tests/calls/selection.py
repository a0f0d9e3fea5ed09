"""Random calls of what chooses by values: no value is 0, and no overlap is too much, so that the number is known."""

from math import prod

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import sizes


def _nonzero(data: st.DataObject) -> Call:
    x = sizes(data, *[(1, 4)] * data.draw(st.integers(1, 3)))
    return Call("nonzero", {"x": x}, {"size": prod(x)})


def _nms(data: st.DataObject) -> Call:
    batch, classes, count = sizes(data, (1, 2), (1, 3), (1, 5))
    most = data.draw(st.sampled_from([None, 1, 2]))
    each = count if most is None else min(most, count)
    given = {"size": batch * classes * each, "iou": 1.0, "centered": data.draw(st.booleans())}
    given |= {} if most is None else {"most": most}
    given |= {"least": -2.0} if data.draw(st.booleans()) else {}
    return Call("non_max_suppression", {"boxes": (batch, count, 4), "scores": (batch, classes, count)}, given)


CALLS: dict[str, Draw] = {"nonzero": _nonzero, "non_max_suppression": _nms}
