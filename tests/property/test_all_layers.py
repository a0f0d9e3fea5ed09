"""Random networks over all layers: every pass keeps what they compute, and their cost adds up."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.driver.check import nudged, random_data, run_results
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.driver.running.lower import stamp_default_target
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.compiler.transforms.schedule import SchedulePass
from tests.calls.chain import chained_calls
from tests.property.test_passes import check_provenance, check_round_trip

PIPELINES: list[list[ModulePass]] = [
    [AutodiffPass(), LowerToNpuPass(), SchedulePass(), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(conv="im2col"), SchedulePass()],
]
COUNTS = ("macs", "vector_ops", "dram_read_bytes", "dram_write_bytes", "cycles")


@settings(max_examples=100, report_multiple_bugs=False, suppress_health_check=[HealthCheck.too_slow])
@given(module=chained_calls(), pipeline=st.sampled_from(PIPELINES), seed=st.integers(0, 99))
def test_each_pass_keeps_the_values_of_any_layers(module: ModuleOp, pipeline: list[ModulePass], seed: int) -> None:
    stamp_default_target(module)
    data = random_data(module, seed)
    before = run_results(module, data)
    for step in pipeline:
        earlier = module.clone()
        step.apply(Context(), module)
        module.verify()
        check_provenance(module)
        check_round_trip(module)
        after = run_results(module, data)
        outcome = compare(before, after)
        if not outcome.equal and not outcome.exact:
            outcome = compare(before, after, run_results(earlier, nudged(data)))
        assert outcome.equal, (step.name, outcome)
        before = after


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(module=chained_calls())
def test_the_cost_of_any_layers_adds_up(module: ModuleOp) -> None:
    report = compile_source(str(module), format="mlir", backend="cycle")
    for count in COUNTS:
        assert report.totals[count] == sum(getattr(op, count) * op.repeat for op in report.ops)
    assert all(op.seconds is not None and np.isfinite(op.seconds) for op in report.ops)
