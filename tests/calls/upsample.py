"""Random calls of resizing."""

from typing import Any

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import sizes


def _upsample(mode: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        arguments: dict[str, Any] = {"mode": mode}
        scales = st.sampled_from([0.5, 0.7, 1, 1.5, 2, 2.0, 2.6, 3])
        match data.draw(st.sampled_from(["scale", "scales", "size", "sizes"])):
            case "scale":
                arguments["scale"] = data.draw(scales)
            case "scales":
                arguments["scale"] = [data.draw(scales), data.draw(scales)]
            case "size":
                arguments["size"] = data.draw(st.integers(1, 8))
            case _:
                arguments["size"] = list(sizes(data, (1, 8), (1, 8)))
        if mode == "bilinear":
            arguments["align_corners"] = data.draw(st.booleans())
        return Call("upsample", {"x": sizes(data, (1, 2), (1, 3), (2, 5), (2, 5))}, arguments)

    return draw


def _pixel_shuffle(data: st.DataObject) -> Call:
    batch, channels, height, width, factor = sizes(data, (1, 2), (1, 2), (1, 3), (1, 3), (1, 3))
    return Call("pixel_shuffle", {"x": (batch, channels * factor**2, height, width)}, {"factor": factor})


CALLS: dict[str, Draw] = {
    "upsample nearest": _upsample("nearest"),
    "upsample bilinear": _upsample("bilinear"),
    "pixel_shuffle": _pixel_shuffle,
}
