"""Random calls of the normalisations."""

from hypothesis import strategies as st

from tests.calls import Call, Draw, Shape
from tests.calls.draw import image, sizes, vectors

_EPS = [1e-5, 1e-3, 0.1]


def _eps(data: st.DataObject) -> float:
    return data.draw(st.sampled_from(_EPS))


def _rows(data: st.DataObject) -> Shape:
    return sizes(data, (2, 5), (1, 3))


def _batch_norm(data: st.DataObject) -> Call:
    x = data.draw(st.sampled_from([image, vectors, _rows]))(data)
    return Call("batch_norm", {"x": x}, {"eps": _eps(data), "affine": data.draw(st.booleans())})


def _layer_norm(data: st.DataObject) -> Call:
    x = sizes(data, *[(2, 4)] * data.draw(st.integers(1, 4)))
    axes = data.draw(st.integers(1, len(x)))
    return Call("layer_norm", {"x": x}, {"axes": axes, "eps": _eps(data), "bias": data.draw(st.booleans())})


def _rms_norm(data: st.DataObject) -> Call:
    x = sizes(data, *[(1, 4)] * data.draw(st.integers(1, 4)))
    axes = data.draw(st.integers(1, len(x)))
    return Call("rms_norm", {"x": x}, {"axes": axes, "eps": _eps(data), "affine": data.draw(st.booleans())})


def _group_norm(data: st.DataObject) -> Call:
    groups, batch = sizes(data, (1, 3), (1, 3))
    channels = groups * data.draw(st.integers(1, 3))
    x = (batch, channels, *sizes(data, *[(2, 3)] * data.draw(st.integers(0 if channels > groups else 1, 2))))
    return Call("group_norm", {"x": x}, {"groups": groups, "eps": _eps(data), "affine": data.draw(st.booleans())})


def _instance_norm(data: st.DataObject) -> Call:
    x = image(data) if data.draw(st.booleans()) else sizes(data, (1, 3), (1, 3), (2, 5))
    return Call("instance_norm", {"x": x}, {"eps": _eps(data), "affine": data.draw(st.booleans())})


def _local_response_norm(data: st.DataObject) -> Call:
    x = sizes(data, (1, 2), (1, 6), *[(1, 3)] * data.draw(st.integers(1, 2)))
    arguments = {
        "size": data.draw(st.integers(1, 7)),
        "alpha": data.draw(st.sampled_from([1e-4, 0.5, 2.0])),
        "beta": data.draw(st.sampled_from([0.75, 1.0, 0.5])),
        "k": data.draw(st.sampled_from([1.0, 2.0])),
    }
    return Call("local_response_norm", {"x": x}, arguments)


CALLS: dict[str, Draw] = {
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "instance_norm": _instance_norm,
    "local_response_norm": _local_response_norm,
}
