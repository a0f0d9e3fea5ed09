"""Random calls of the functions that make constants."""

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import sizes


def _arange(data: st.DataObject) -> Call:
    dtype = data.draw(st.sampled_from(["f32", "f64", "i32", "i64"]))
    unit = 0.5 if dtype in ("f32", "f64") and data.draw(st.booleans()) else 1
    start = data.draw(st.integers(-5, 5)) * unit
    step = data.draw(st.sampled_from([-3, -2, -1, 1, 2, 3])) * unit
    stop = start + step * data.draw(st.integers(0, 5)) + step / abs(step) * unit
    return Call("arange", arguments={"stop": stop, "start": start, "step": step, "dtype": dtype})


def _causal_mask(data: st.DataObject) -> Call:
    rows, columns = sizes(data, (1, 5), (1, 5))
    arguments = {"rows": rows, "offset": data.draw(st.integers(-6, 6))}
    return Call("causal_mask", arguments=arguments | data.draw(st.sampled_from([{}, {"columns": columns}])))


def _full(data: st.DataObject) -> Call:
    dtype = data.draw(st.sampled_from(["f32", "f64", "i32", "bool"]))
    value = data.draw(st.sampled_from([0, 1] if dtype == "bool" else [-2, 0, 3]))
    return Call("full", arguments={"shape": list(sizes(data, (1, 3), (1, 3))), "value": value, "dtype": dtype})


def _filled(function: str) -> Draw:
    def draw(data: st.DataObject) -> Call:
        shape = list(sizes(data, *[(1, 3)] * data.draw(st.integers(0, 3))))
        return Call(function, arguments={"shape": shape, "dtype": data.draw(st.sampled_from(["f32", "f64", "i64"]))})

    return draw


def _tensor(data: st.DataObject) -> Call:
    dtype, shape = data.draw(st.sampled_from(["f32", "f64", "i64", "bool"])), list(sizes(data, (1, 3), (1, 3)))
    known = [0, 1] if dtype == "bool" else [-2, 0, 7] if dtype == "i64" else [0.125, -2.5, 3, 2.0**-100]
    values = [data.draw(st.sampled_from(known)) for _ in range(shape[0] * shape[1])]
    given = data.draw(st.sampled_from([{}, {"shape": shape}]))
    return Call("tensor", arguments={"values": values, "dtype": dtype} | given)


CALLS: dict[str, Draw] = {
    "arange": _arange,
    "causal_mask": _causal_mask,
    "tensor": _tensor,
    "full": _full,
    "zeros": _filled("zeros"),
    "ones": _filled("ones"),
}
