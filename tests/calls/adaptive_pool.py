"""Random calls of pooling to a given size."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import sizes


def _adaptive(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        axes = data.draw(st.integers(1, 2))
        size = (
            data.draw(st.integers(1, 8)) if axes == 1 or data.draw(st.booleans()) else list(sizes(data, (1, 6), (1, 6)))
        )
        return Call(function, {"x": sizes(data, (1, 2), (1, 3), *[(1, 6)] * axes)}, {"size": size})

    return draw


CALLS: dict[str, Draw] = {
    "adaptive_avg_pool": _adaptive("adaptive_avg_pool"),
    "adaptive_max_pool": _adaptive("adaptive_max_pool"),
}
