"""Random calls of pooling."""

from typing import Any

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import image, sizes


def _flags(function: str, padding: Any, data: st.DataObject) -> dict[str, bool]:
    """PyTorch has no padding that differs from side to side, so that only an equal one tells how it rounds up."""
    flags = {"ceil_mode": isinstance(padding, int) and data.draw(st.booleans())}
    if function.startswith("avg"):
        flags["count_include_pad"] = data.draw(st.booleans())
    return flags


def _pool(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        kernel = sizes(data, (1, 3), (1, 3))
        arguments: dict[str, Any] = {"kernel": list(kernel), "stride": list(sizes(data, (1, 2), (1, 4)))}
        arguments["padding"] = [data.draw(st.integers(0, k // 2)) for k in (kernel[0], kernel[0], kernel[1], kernel[1])]
        if function == "max_pool" and data.draw(st.booleans()):
            arguments |= {
                "padding": data.draw(st.sampled_from([0, "same"])),
                "dilation": [1, data.draw(st.integers(1, 2))],
            }
            arguments["kernel"] = [kernel[0], min(kernel[1], 2)]
        elif data.draw(st.booleans()):
            arguments |= {"kernel": kernel[0], "padding": kernel[0] // 2}
            if data.draw(st.booleans()):
                del arguments["stride"]
        return Call(function, {"x": image(data)}, arguments | _flags(function, arguments["padding"], data))

    return draw


def _dilated(data: st.DataObject) -> Call:
    """Windows of 2, their elements up to 2 apart, so that they fit into every image."""
    dilation = data.draw(st.integers(1, 2))
    arguments: dict[str, Any] = {"kernel": 2, "dilation": dilation, "stride": list(sizes(data, (1, 3), (1, 3)))}
    padding = data.draw(st.integers(0, 1))
    return Call("max_pool", {"x": image(data)}, arguments | {"padding": padding} | _flags("max_pool", padding, data))


def _pool1d(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        kernel, stride = sizes(data, (1, 3), (1, 4))
        side = kernel // 2
        padding = data.draw(st.sampled_from([0, side, [0, side], [side, 0], "same"]))
        arguments: dict[str, Any] = {"kernel": kernel, "stride": stride, "padding": padding}
        return Call(
            function,
            {"x": sizes(data, (1, 2), (1, 3), (4, 7))},
            arguments | _flags(function, arguments["padding"], data),
        )

    return draw


def _global(function: str) -> Draw:
    return lambda data: Call(function, {"x": sizes(data, (1, 2), (1, 4), *[(1, 4)] * data.draw(st.integers(1, 2)))})


CALLS: dict[str, Draw] = {
    "max_pool": _pool("max_pool"),
    "max_pool dilated": _dilated,
    "avg_pool": _pool("avg_pool"),
    "max_pool1d": _pool1d("max_pool1d"),
    "avg_pool1d": _pool1d("avg_pool1d"),
    "global_avg_pool": _global("global_avg_pool"),
    "global_max_pool": _global("global_max_pool"),
}
