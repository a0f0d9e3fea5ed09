"""Random calls of transposed convolution."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.conv import divisor, each, volume
from tests.calls.draw import sizes


def _conv_transpose(axes: int, *, shared: bool = False, both_sides: bool = False) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x = volume(data, axes)
        groups = divisor(data, x[1])
        out = groups * data.draw(st.integers(1, 2))
        kernel = sizes(data, *[(1, 3)] * axes)
        stride, dilation = sizes(data, *[(1, 3)] * axes), sizes(data, *[(1, 2)] * axes)
        arguments = {
            "stride": list(stride),
            "dilation": list(dilation),
            "padding": each(data, 2 * axes if both_sides else axes, 0, 1),
            "output_padding": [data.draw(st.integers(0, max(s, d) - 1)) for s, d in zip(stride, dilation, strict=True)],
            "groups": groups,
            "bias": data.draw(st.booleans()),
        }
        name = f"conv_transpose{axes}d"
        if shared:
            return Call(name, {"x": x, "weight": (x[1], out // groups, *kernel)}, arguments)
        return Call(name, {"x": x}, {"channels": out, "kernel": list(kernel)} | arguments)

    return draw


CALLS: dict[str, Draw] = {
    "conv_transpose1d": _conv_transpose(1),
    "conv_transpose1d shared": _conv_transpose(1, shared=True),
    "conv_transpose1d sides": _conv_transpose(1, both_sides=True),
    "conv_transpose2d": _conv_transpose(2),
    "conv_transpose2d shared": _conv_transpose(2, shared=True),
    "conv_transpose2d sides": _conv_transpose(2, both_sides=True),
    "conv_transpose3d": _conv_transpose(3),
}
