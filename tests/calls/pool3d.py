"""Random calls of pooling over three axes."""

from typing import Any

from hypothesis import strategies as st

from tests.calls import Call, Draw, Shape
from tests.calls.draw import sizes


def _volume(data: st.DataObject) -> Shape:
    return sizes(data, (1, 2), (1, 2), (2, 4), (3, 4), (3, 4))


def _pool(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        kernel = sizes(data, (1, 2), (1, 3), (1, 3))
        padding = [data.draw(st.integers(0, k // 2)) for k in kernel]
        arguments: dict[str, Any] = {"kernel": list(kernel), "padding": padding}
        if data.draw(st.booleans()):
            arguments["stride"] = list(sizes(data, (1, 2), (1, 2), (1, 3)))
        arguments["ceil_mode"] = data.draw(st.booleans())
        if function == "avg_pool3d":
            arguments["count_include_pad"] = data.draw(st.booleans())
        return Call(function, {"x": _volume(data)}, arguments)

    return draw


def _adaptive(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        size = data.draw(st.sampled_from([1, 2, [3, 1, 2], [2, 5, 4]]))
        return Call(function, {"x": _volume(data)}, {"size": size})

    return draw


CALLS: dict[str, Draw] = {
    "max_pool3d": _pool("max_pool3d"),
    "max_pool3d dilated": lambda data: Call(
        "max_pool3d", {"x": _volume(data)}, {"kernel": 2, "dilation": [1, 2, 1], "stride": 1}
    ),
    "avg_pool3d": _pool("avg_pool3d"),
    "adaptive_avg_pool3d": _adaptive("adaptive_avg_pool3d"),
    "adaptive_max_pool3d": _adaptive("adaptive_max_pool3d"),
}
