"""Random calls of the reductions that are made of others."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.reduction import reduced, reduction


def _truth(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x, arguments = reduced(data)
        if data.draw(st.booleans()):
            return Call(function, masks={"x": x}, arguments=arguments)
        return Call(function, indices={"x": (x, 3)}, arguments=arguments)

    return draw


CALLS: dict[str, Draw] = {"logsumexp": reduction("logsumexp"), "any": _truth("any"), "all": _truth("all")}
