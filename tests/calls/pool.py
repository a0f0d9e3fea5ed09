"""Random calls of pooling."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import image, sizes


def _pool(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        kernel = sizes(data, (1, 3), (1, 3))
        padding = [data.draw(st.integers(0, k // 2)) for k in (kernel[0], kernel[0], kernel[1], kernel[1])]
        stride = list(sizes(data, (1, 2), (1, 3)))
        return Call(function, {"x": image(data)}, {"kernel": list(kernel), "stride": stride, "padding": padding})

    return draw


CALLS: dict[str, Draw] = {
    "max_pool": _pool("max_pool"),
    "avg_pool": _pool("avg_pool"),
    "global_avg_pool": lambda data: Call("global_avg_pool", {"x": image(data)}),
    "global_max_pool": lambda data: Call("global_max_pool", {"x": image(data)}),
}
