"""Random calls of products of groups of rows."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import sizes


def _grouped_mm(data: st.DataObject) -> Call:
    groups, k, n = sizes(data, (1, 3), (1, 3), (1, 3))
    counts = [data.draw(st.integers(0 if group else 1, 3)) for group in range(groups)]
    offsets = [sum(counts[: group + 1]) for group in range(groups)]
    arguments = {"offsets": offsets, "capacity": max(max(counts), -(-offsets[-1] // groups))}
    return Call("grouped_mm", {"x": (offsets[-1], k), "y": (groups, k, n)}, arguments)


CALLS: dict[str, Draw] = {"grouped_mm": _grouped_mm}
