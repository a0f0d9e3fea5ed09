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


CALLS: dict[str, Draw] = {"arange": _arange, "causal_mask": _causal_mask}
