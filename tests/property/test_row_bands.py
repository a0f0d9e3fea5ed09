"""Groups that walk rows compute, band by band, what their operations compute on whole samples."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.core.errors import NpucError
from npuc.compiler.driver.check import run_results
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from tests.networks import integer_data
from tests.row_groups import grouped, image_networks


@settings(max_examples=60)
@given(module=image_networks(samples=2), rows=st.integers(1, 5), keep=st.booleans(), seed=st.integers(0, 9))
def test_bands_of_rows_compute_the_same(module: ModuleOp, rows: int, keep: bool, seed: int) -> None:
    LowerToNpuPass().apply(Context(), module)
    data = integer_data(module, seed)
    before = run_results(module, data)
    (height,) = (array.shape[2] for array in before.values())
    assume(height > 1)
    grouped(module, min(rows, height), 2, keep=keep)
    module.verify()
    try:
        after = run_results(module, data)
    except NpucError as error:
        refused = str(error)
    else:
        assert all(np.array_equal(before[name], after[name]) for name in before)
        return
    assert "padding only" in refused or "computes" in refused, refused
