"""Random calls of resizing."""

from typing import Any

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import sizes


def _upsample(mode: str, axes: int = 2) -> Draw:
    def draw(data: st.DataObject) -> Call:
        arguments: dict[str, Any] = {"mode": mode}
        scales = st.sampled_from([0.5, 0.7, 1, 1.5, 2, 2.0, 2.6, 3])
        match data.draw(st.sampled_from(["scale", "scales", "size", "sizes"])):
            case "scale":
                arguments["scale"] = data.draw(scales)
            case "scales":
                arguments["scale"] = [data.draw(scales) for _ in range(axes)]
            case "size":
                arguments["size"] = data.draw(st.integers(1, 8))
            case _:
                arguments["size"] = list(sizes(data, *[(1, 8)] * axes))
        if "nearest" not in mode:
            arguments["align_corners"] = data.draw(st.booleans())
        if mode in ("bilinear", "bicubic"):
            arguments["antialias"] = data.draw(st.booleans())
        return Call("upsample", {"x": sizes(data, (1, 2), (1, 3 if axes < 3 else 2), *[(2, 5)] * axes)}, arguments)

    return draw


def _pixel_shuffle(data: st.DataObject) -> Call:
    batch, channels, height, width, factor = sizes(data, (1, 2), (1, 2), (1, 3), (1, 3), (1, 3))
    return Call("pixel_shuffle", {"x": (batch, channels * factor**2, height, width)}, {"factor": factor})


CALLS: dict[str, Draw] = {
    "upsample nearest": _upsample("nearest"),
    "upsample nearest along one axis": _upsample("nearest", 1),
    "upsample nearest along three axes": _upsample("nearest", 3),
    "upsample nearest-exact": _upsample("nearest-exact"),
    "upsample bilinear": _upsample("bilinear"),
    "upsample linear": _upsample("linear", 1),
    "upsample trilinear": _upsample("trilinear", 3),
    "upsample bicubic": _upsample("bicubic"),
    "pixel_shuffle": _pixel_shuffle,
}
