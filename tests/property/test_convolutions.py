"""Random convolutions over one to three axes, plain and transposed: every pass keeps their values to the bit."""

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.analysis.nest.gemm import forward_sizes
from npuc.compiler.driver.check import run_results
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.layers.conv_nest import conv_nest
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.compiler.transforms.set_target import SetTargetPass
from npuc.dialects.npu import ContractOp
from npuc.dialects.train.conv import ConvOp
from tests.calls import Draw, conv, conv_transpose
from tests.networks import Net, dot_loss, integer_data

CALLS: dict[str, Draw] = conv.CALLS | conv_transpose.CALLS


@st.composite
def convolutions(draw: st.DrawFn) -> ModuleOp:
    """A training step's network of one convolution, the input and a shared weight being parameters."""
    call = CALLS[draw(st.sampled_from(sorted(CALLS)))](draw(st.data()))
    net = Net()
    operands = {name: net.param(name, *shape) for name, shape in call.tensors.items() if isinstance(shape, tuple)}
    y = net.call(call.function, layer="y", **operands, **call.arguments)
    module = net.finish(dot_loss(net, net.call("relu", y) if draw(st.booleans()) else y))
    AutodiffPass().apply(Context(), module)
    module.verify()
    return module


def target(spm_bytes: int) -> ModulePass:
    """A small machine, on which most products take many tiles."""
    return SetTargetPass(rows=2, cols=3, spm_bytes=spm_bytes, clock_mhz=1000, gb_per_s=4, lanes=4)


@settings(max_examples=60)
@given(
    module=convolutions(),
    lowering=st.sampled_from(["native", "im2col"]),
    spm_bytes=st.integers(32, 2000),
    seed=st.integers(0, 99),
)
def test_each_pass_keeps_the_values(module: ModuleOp, lowering: str, spm_bytes: int, seed: int) -> None:
    data = integer_data(module, seed)
    before = run_results(module, data)
    for step in (target(spm_bytes), LowerToNpuPass(conv=lowering), SchedulePass(), LowerTilesPass()):
        step.apply(Context(), module)
        module.verify()
        after = run_results(module, data)
        outcome = compare(before, after)
        assert outcome.equal, (step.name, outcome)
        assert outcome.exact
        before = after


@settings(max_examples=60)
@given(module=convolutions())
def test_both_lowerings_multiply_as_often_over_the_sizes_of_the_forward_product(module: ModuleOp) -> None:
    products = [op for op in module.walk() if isinstance(op, ConvOp)]
    assert {op.PRODUCT for op in products} == {"forward", "dx", "dw"}
    nests = [conv_nest(op).data for op in products]
    sizes = {forward_sizes(nest) for nest in nests}
    assert len(sizes) == 1
    explicit = module.clone()
    LowerToNpuPass(conv="im2col").apply(Context(), explicit)
    lowered = [op.nest for op in explicit.walk() if isinstance(op, ContractOp)]
    assert {forward_sizes(nest) for nest in lowered} == sizes
    assert [nest.macs for nest in lowered] == [nest.macs for nest in nests]
