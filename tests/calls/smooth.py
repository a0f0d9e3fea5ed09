"""Random calls of the smooth activation functions."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import unary, vectors


def _elu(data: st.DataObject) -> Call:
    alpha = data.draw(st.sampled_from([0.5, 1.0, 2.0]))
    return Call("elu", {"x": vectors(data)}, {"alpha": alpha}, ranges={"x": (-3.0, 2.0)})


CALLS: dict[str, Draw] = {
    "gelu": unary("gelu", range=(-3.0, 3.0)),
    "gelu tanh": unary("gelu", approximate="tanh", range=(-3.0, 3.0)),
    "sigmoid": unary("sigmoid", range=(-5.0, 5.0)),
    "tanh": unary("tanh", range=(-3.0, 3.0)),
    "silu": unary("silu", range=(-5.0, 5.0)),
    "elu": _elu,
    "elu default": unary("elu", range=(-3.0, 2.0)),
    "softplus": unary("softplus", range=(-5.0, 5.0)),
    "mish": unary("mish", range=(-5.0, 5.0)),
}
