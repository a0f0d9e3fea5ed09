"""Random calls of region pooling."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import sizes


def _roi_align(data: st.DataObject) -> Call:
    """The coordinates are the numbers of images too: small integers, which `scale` spreads over the image."""
    batch, channels, height, width = sizes(data, (1, 4), (1, 2), (1, 5), (1, 5))
    arguments = {
        "size": data.draw(st.sampled_from([1, 2, [3, 1], [2, 3]])),
        "scale": data.draw(st.sampled_from([0.37, 1.0, 1.9])),
        "sampling_ratio": data.draw(st.integers(1, 3)),
        "aligned": data.draw(st.booleans()),
    }
    regions = data.draw(st.integers(1, 4))
    return Call("roi_align", {"x": (batch, channels, height, width)}, arguments, {"rois": ((regions, 5), batch)})


CALLS: dict[str, Draw] = {"roi_align": _roi_align}
