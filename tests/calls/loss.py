"""Random calls of the losses."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import vectors


def _cross_entropy(data: st.DataObject) -> Call:
    x = vectors(data)
    return Call("cross_entropy", {"logits": x}, indices={"labels": (x[:-1], x[-1])})


def _pair(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x = vectors(data)
        return Call(function, {"y": x, "target": x})

    return draw


CALLS: dict[str, Draw] = {"cross_entropy": _cross_entropy, "mse": _pair("mse"), "dot_loss": _pair("dot_loss")}
