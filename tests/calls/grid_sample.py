"""Random calls of sampling; the places lie clear of the middles and borders of pixels."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import sizes

RANGES = [(-0.31, -0.29), (0.05, 0.07), (0.61, 0.63), (1.53, 1.55), (-2.03, -2.01)]


def _grid_sample(axes: int) -> Draw:
    def draw(data: st.DataObject) -> Call:
        batch, channels, *image = sizes(data, (1, 2), (1, 2), *[(2, 4)] * axes)
        modes = ["bilinear", "nearest", "bicubic"] if axes == 2 else ["bilinear", "nearest"]
        arguments = {
            "mode": data.draw(st.sampled_from(modes)),
            "padding": data.draw(st.sampled_from(["zeros", "border", "reflection"])),
            "align_corners": data.draw(st.booleans()),
        }
        grid = (batch, *sizes(data, *[(1, 2)] * axes), axes)
        ranges = {"grid": data.draw(st.sampled_from(RANGES))}
        return Call("grid_sample", {"x": (batch, channels, *image), "grid": grid}, arguments, ranges=ranges)

    return draw


CALLS: dict[str, Draw] = {"grid_sample": _grid_sample(2), "grid_sample of three axes": _grid_sample(3)}
