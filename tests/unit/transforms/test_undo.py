"""Sharing a step after autodiff: the same as before it."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.core.errors import SourceError
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.autodiff.undo import undo_autodiff
from npuc.compiler.transforms.parallelize import ParallelizePass
from npuc.dialects.provenance import Role, role_of
from npuc.frontends import read_source, read_text
from tests.networks import Net, Optimizer, dot_loss

SAMPLES = ("dlrm", "lenet", "mobilenet_v1", "ncf", "resnet18", "squeezenet", "vgg_a")
OPTIMIZERS = (
    None,
    Optimizer("sgd", {"lr": 0.5, "momentum": 0.25, "weight_decay": 0.5}),
    Optimizer("adam", {"lr": 0.5}),
    Optimizer("adamw", {"lr": 0.5, "weight_decay": 0.25}),
    Optimizer("lamb", {"lr": 0.5}),
)


def network(optimizer: Optimizer | None = None) -> ModuleOp:
    """Two layers, and the statistics of a batch between them."""
    net = Net()
    h = net.call("batch_norm", net.call("linear", net.input("x", 8, 8), 8))
    return net.finish(dot_loss(net, net.call("linear", net.call("relu", h), 8)), optimizer)


def shared(module: ModuleOp, *, after: bool) -> str:
    """The text of a step on two devices."""
    passes = [ParallelizePass("hypar", 2), AutodiffPass()]
    for step in reversed(passes) if after else passes:
        step.apply(Context(), module)
    module.verify()
    return str(module)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_the_same_shared_before_or_after_autodiff(name: str) -> None:
    module = read_source(read_text(f"samples:{name}"))
    assert shared(module.clone(), after=True) == shared(module, after=False)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda o: "none" if o is None else o.kind)
def test_the_optimizer_comes_back(optimizer: Optimizer | None) -> None:
    module = network(optimizer)
    assert shared(module.clone(), after=True) == shared(module, after=False)


def test_a_step_that_was_changed_is_refused() -> None:
    module = network(OPTIMIZERS[1])
    AutodiffPass().apply(Context(), module)
    block = the_function(module).body.block
    last = [op for op in block.ops if role_of(op) is Role.DW][-1]
    # the same values, and one operation more
    block.insert_op_before(last.clone(), last)
    with pytest.raises(SourceError, match="share: the step was changed since autodiff: run share before it"):
        undo_autodiff(the_function(module), "share")
