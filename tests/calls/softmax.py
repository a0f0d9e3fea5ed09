"""Random calls of softmax, log_softmax, dropout and embedding."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import axis_of, sizes, unary, vectors


def _along(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        x = vectors(data)
        return Call(function, {"x": x}, {"axis": axis_of(data, x)} if data.draw(st.booleans()) else {})

    return draw


def _embedding(data: st.DataObject) -> Call:
    ids, entries = sizes(data, (1, 3), (1, 3)), data.draw(st.integers(1, 4))
    arguments = {"entries": entries, "width": data.draw(st.integers(1, 3)), "dtype": "f64"}
    return Call("embedding", arguments=arguments, indices={"ids": (ids, entries)})


def _embedding_shared(data: st.DataObject) -> Call:
    ids, table = sizes(data, (1, 3), (1, 3)), sizes(data, (1, 4), (1, 3))
    return Call("embedding", {"weight": table}, indices={"ids": (ids, table[0])})


CALLS: dict[str, Draw] = {
    "softmax": _along("softmax"),
    "log_softmax": _along("log_softmax"),
    "dropout": unary("dropout", p=0.4),
    "embedding": _embedding,
    "embedding shared": _embedding_shared,
}
