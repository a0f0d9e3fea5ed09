"""Random calls of softmax, log_softmax, dropout, other random masks and embedding."""

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


def _embedding_padded(data: st.DataObject) -> Call:
    ids, table = sizes(data, (2, 6)), sizes(data, (1, 3), (1, 4))
    arguments = {"padding_idx": data.draw(st.integers(-table[0], table[0] - 1))}
    return Call("embedding", {"weight": table}, arguments, indices={"ids": (ids, table[0])})


def _embedding_bag(data: st.DataObject) -> Call:
    ids, table = sizes(data, (1, 3), (1, 4)), sizes(data, (1, 4), (1, 4))
    if data.draw(st.booleans()):
        weights = {"weight": table, "per_sample_weights": ids}
        return Call("embedding_bag", weights, {"mode": "sum"}, indices={"ids": (ids, table[0])})
    mode = data.draw(st.sampled_from([{}, {"mode": "sum"}, {"mode": "mean"}, {"mode": "max"}]))
    return Call("embedding_bag", {"weight": table}, mode, indices={"ids": (ids, table[0])})


def _stochastic_depth(data: st.DataObject) -> Call:
    arguments = {"p": data.draw(st.sampled_from([0, 0.25, 0.5])), "mode": data.draw(st.sampled_from(["row", "batch"]))}
    return Call("stochastic_depth", {"x": sizes(data, (1, 4), (1, 3), (1, 3))}, arguments)


def _bernoulli(data: st.DataObject) -> Call:
    p, dtype = data.draw(st.sampled_from([0, 0.3, 1])), data.draw(st.sampled_from(["f64", "i32", "bool"]))
    return Call("bernoulli", arguments={"shape": list(sizes(data, (1, 4), (1, 3))), "p": p, "dtype": dtype})


def _embedding_shared(data: st.DataObject) -> Call:
    ids, table = sizes(data, (1, 3), (1, 3)), sizes(data, (1, 4), (1, 3))
    return Call("embedding", {"weight": table}, indices={"ids": (ids, table[0])})


CALLS: dict[str, Draw] = {
    "softmax": _along("softmax"),
    "log_softmax": _along("log_softmax"),
    "dropout": unary("dropout", p=0.4),
    "embedding": _embedding,
    "embedding shared": _embedding_shared,
    "embedding padded": _embedding_padded,
    "embedding_bag": _embedding_bag,
    "bernoulli": _bernoulli,
    "stochastic_depth": _stochastic_depth,
}
