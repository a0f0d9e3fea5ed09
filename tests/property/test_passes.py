"""Random networks: each pass computes what the program before it computed, to the bit, and keeps names and places."""

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass

from npuc.compiler.driver.check import run_results
from npuc.compiler.driver.running.lower import stamp_default_target
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.transforms import get_all_passes
from npuc.compiler.transforms.assign_units import AssignUnitsPass
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.canonicalize import CanonicalizePass
from npuc.compiler.transforms.contraction_form import ContractionFormPass
from npuc.compiler.transforms.fuse_layers import FuseLayersPass
from npuc.compiler.transforms.fuse_vector import FuseVectorPass
from npuc.compiler.transforms.group_weights import GroupWeightsPass
from npuc.compiler.transforms.interleave import InterleavePass
from npuc.compiler.transforms.keep import KeepPass
from npuc.compiler.transforms.keep_resident import KeepResidentPass
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.compiler.transforms.map import MapPass
from npuc.compiler.transforms.partition import PartitionPass
from npuc.compiler.transforms.rearrange import RearrangePass
from npuc.compiler.transforms.recompute import RecomputePass
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.compiler.transforms.tile import TilePass
from npuc.dialects.npu import ContractOp, YieldOp
from npuc.dialects.provenance import layer_of, location_text
from npuc.frontends.mlir import make_context
from tests.networks import integer_data, integer_networks

UNITS = "a dense 1 8; b row-wise 2 8; c dense-sparse 1 8"
"""Units so slow that bandwidth limits none: products are shared."""
PIPELINES: list[list[ModulePass]] = [
    [AutodiffPass(), LowerToNpuPass(), SchedulePass(), LowerTilesPass()],
    [CanonicalizePass(), AutodiffPass(), CanonicalizePass(), LowerToNpuPass(), SchedulePass()],
    [AutodiffPass(), LowerToNpuPass(conv="im2col"), SchedulePass(), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), SchedulePass(objective="traffic"), GroupWeightsPass(), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), InterleavePass(what="all"), SchedulePass(), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(conv="im2col"), SchedulePass(), InterleavePass(), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), InterleavePass(mode="zip", what="all"), SchedulePass(), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(conv="im2col"), SchedulePass(), InterleavePass(mode="zip"), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), TilePass("m:1"), SchedulePass(), KeepPass("Y:0,X:0"), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), InterleavePass(mode="zip"), RearrangePass(rule="published"), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), InterleavePass(mode="zip"), RearrangePass(rule="best"), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), RearrangePass(("m",)), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), InterleavePass(mode="best", what="all"), SchedulePass(), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), InterleavePass(), PartitionPass(rule="best"), SchedulePass(), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), SchedulePass(), FuseVectorPass(), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), InterleavePass(), SchedulePass(), FuseVectorPass(what="updates")],
    [AutodiffPass(), LowerToNpuPass(), InterleavePass(), SchedulePass(), FuseVectorPass(), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), SchedulePass(), KeepResidentPass(), LowerTilesPass()],
    [AutodiffPass(), RecomputePass(k=1), LowerToNpuPass(), SchedulePass(), LowerTilesPass()],
    [
        AutodiffPass(),
        RecomputePass(k=2),
        LowerToNpuPass(),
        InterleavePass(what="all"),
        SchedulePass(),
        FuseVectorPass(),
    ],
    [AutodiffPass(), LowerToNpuPass(conv="im2col"), SchedulePass(), KeepResidentPass(objective="traffic")],
    [AutodiffPass(), LowerToNpuPass(), ContractionFormPass("native"), SchedulePass(), LowerTilesPass()],
    [AutodiffPass(), LowerToNpuPass(), ContractionFormPass("native"), ContractionFormPass("ttgt"), SchedulePass()],
    [AutodiffPass(), LowerToNpuPass(), SchedulePass(), FuseLayersPass()],
    [AutodiffPass(), LowerToNpuPass(), SchedulePass(), FuseLayersPass(mapper="genetic", objective="traffic")],
    [AutodiffPass(), LowerToNpuPass(), MapPass("kcp_ws", num_pes=6)],
    [AutodiffPass(), LowerToNpuPass(), MapPass("rs", num_pes=12)],
    [AutodiffPass(), LowerToNpuPass(), AssignUnitsPass(units=UNITS, tiles=5)],
    [AutodiffPass(), LowerToNpuPass(conv="im2col"), AssignUnitsPass(mode="best", units=UNITS, tiles=3)],
    [AutodiffPass(), LowerToNpuPass(conv="im2col"), InterleavePass(), MapPass("yxp_os", num_pes=9)],
    [
        AutodiffPass(),
        LowerToNpuPass(),
        InterleavePass(),
        SchedulePass(),
        FuseVectorPass(),
        KeepResidentPass(),
        LowerTilesPass(),
    ],
    [
        AutodiffPass(),
        LowerToNpuPass(),
        InterleavePass(mode="zip"),
        SchedulePass(),
        KeepResidentPass("gradients"),
        LowerTilesPass(),
    ],
]


def test_every_pass_of_the_package_is_in_a_pipeline_here_or_tested_alone() -> None:
    run = {step.name for pipeline in PIPELINES for step in pipeline}
    # sizes that divide among devices are those of test_parallelize.py and tests/unit/parallel, types those of
    # tests/unit/precision, collectives those of test_scheduled_collectives.py and tests/unit/parallel
    distributed = {"parallelize", "shard-updates", "schedule-collectives", "bucket-gradients"}
    # what changes numbers on purpose is tested there, too
    # what is learned and predicted beside a step: tests/unit/transforms/test_predict_gradients.py
    numbers = {"set-precision", "quantize", "sparsify", "nm-recipe", "gradient-noise"}
    # primitives of every function of the language: test_decompose.py
    alone = {"set-target", "predict-gradients", "decompose"} | numbers | distributed
    assert set(get_all_passes()) - run == alone


def check_provenance(module: ModuleOp) -> None:
    for op in module.walk():
        if not isinstance(op, ModuleOp | FuncOp | ReturnOp | scf.YieldOp | YieldOp | arith.ConstantOp):
            assert layer_of(op), op.name
            assert location_text(op) is not None, op.name


def check_round_trip(module: ModuleOp) -> None:
    text = str(module)
    again = Parser(make_context(), text).parse_module()
    again.verify()
    assert str(again) == text


@settings(max_examples=60)
@given(module=integer_networks(), pipeline=st.sampled_from(PIPELINES), seed=st.integers(0, 99))
def test_each_pass_keeps_the_values_names_and_places(module: ModuleOp, pipeline: list[ModulePass], seed: int) -> None:
    stamp_default_target(module)
    data = integer_data(module, seed)
    before = run_results(module, data)
    for step in pipeline:
        step.apply(Context(), module)
        module.verify()
        check_provenance(module)
        check_round_trip(module)
        after = run_results(module, data)
        outcome = compare(before, after)
        assert outcome.equal, (step.name, outcome)
        assert outcome.exact
        before = after


@settings(max_examples=30)
@given(module=integer_networks())
def test_lowering_leaves_no_train_operation_and_schedules_every_contraction(module: ModuleOp) -> None:
    stamp_default_target(module)
    for step in PIPELINES[0][:3]:
        step.apply(Context(), module)
    assert not [op.name for op in module.walk() if op.name.startswith("train.")]
    assert all(op.schedule_attr is not None for op in module.walk() if isinstance(op, ContractOp))
