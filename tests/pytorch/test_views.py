"""Writes in place to what shares the memory of another tensor change that tensor, too, or are refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

from npuc.compiler import SourceError, run_file
from npuc.frontends.torch import from_module
from npuc.frontends.torch.memory.views import VIEWS
from npuc.frontends.torch.operators import meanings
from tests.pytorch.opinfo import KNOWN, samples

COMPUTED: dict[str, Callable[[Any], Any]] = {
    "alias": torch.ops.aten.alias,
    "atleast": torch.atleast_3d,
    "copy": lambda y: y.to(y.dtype, copy=True),
    "diagonal": lambda y: y.diagonal(1),
    "diagonal of a matrix": lambda y: torch.linalg.diagonal(y.view(3, 2, 2)),
    "diagonal of three axes": lambda y: y.view(3, 2, 2).diagonal(0, 2, 0),
    "dropout of none": lambda y: nn.functional.dropout(y, 0.0),
    "flatten": lambda y: y.flatten(),
    "flatten a copy": lambda y: y.T.flatten(),
    "matrix transposed": lambda y: y.mT[1],
    "moveaxis": lambda y: y.moveaxis(0, 1)[1],
    "movedim": lambda y: y.view(3, 2, 2).movedim((0, 1), (2, 0)),
    "narrow": lambda y: y.narrow(1, 1, 2),
    "number of all axes": lambda y: y.T[2, 1],
    "permute": lambda y: y.view(3, 2, 2).permute(2, 0, 1)[1],
    "positive": torch.positive,
    "ravel": lambda y: y.ravel(),
    "reshape": lambda y: y.reshape(2, 6)[1],
    "reshape as": lambda y: y.reshape_as(y),
    "same type": lambda y: y.to(y.dtype),
    "squeeze": lambda y: y.view(3, 1, 4).squeeze((1,)),
    "swapaxes": lambda y: y.swapaxes(0, 1)[1],
    "transposed": lambda y: y.T,
    "type of another": lambda y: y.type_as(y),
    "unflatten": lambda y: y.unflatten(1, (2, 2))[:, 0],
}
REFUSED: dict[str, Callable[[Any], Any]] = {
    "detach": lambda y: y.detach(),
    "hsplit": lambda y: y.hsplit(2)[1],
    "real part": lambda y: torch.view_as_complex(y.view(3, 2, 2)).real,
    "unfold": lambda y: y.unfold(0, 2, 2)[0],
}


class _Written(nn.Module):
    def __init__(self, view: Callable[[Any], Any]):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 4, dtype=torch.float64))
        self.view = view

    def forward(self, x: Any) -> Any:
        y = x * self.weight
        view = self.view(y)
        view.mul_(2.0)
        return (y * y).sum() + view.sum()


@pytest.mark.parametrize("name", COMPUTED)
def test_what_a_view_is_of_changes_with_it(name: str) -> None:
    torch.manual_seed(1)
    model, x = _Written(COMPUTED[name]), torch.randn(3, 4, dtype=torch.float64)
    run = run_file(from_module(model, (x,)), inputs={"x": x.numpy()}, dtype="float64")
    loss = model(x)
    loss.backward()
    assert run.loss == pytest.approx(loss.item(), rel=1e-12)
    assert model.weight.grad is not None
    np.testing.assert_allclose(run.gradients["weight"], model.weight.grad.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", REFUSED)
def test_a_write_that_is_not_read_is_refused(name: str) -> None:
    model, x = _Written(REFUSED[name]), torch.randn(3, 4, dtype=torch.float64)
    with pytest.raises(SourceError, match=r"found .* in place|found a write to what aten"):
        run_file(from_module(model, (x,)), inputs={"x": x.numpy()}, dtype="float64")


def _row_of_turned(y: Any) -> Any:
    row = y[0]
    y.t_()
    return y.sum(1) * row.sum()


def _turned_view(y: Any) -> Any:
    view = y.view(4, 3)
    view.t_().mul_(2.0)
    return y * view


def _turned_and_written(y: Any) -> Any:
    y.unsqueeze_(0).transpose_(1, 2)[0, 0].add_(1.0)
    return y * y[0, 1, 2]


TURNED = (_row_of_turned, _turned_view, _turned_and_written)


@pytest.mark.parametrize("turned", TURNED)
def test_axes_that_change_in_place_are_those_of_one_value_alone(turned: Callable[[Any], Any]) -> None:
    class Turned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, 4, dtype=torch.float64))

        def forward(self, x: Any) -> Any:
            return turned(x * self.weight).square().sum()

    torch.manual_seed(1)
    model, x = Turned(), torch.randn(3, 4, dtype=torch.float64)
    run = run_file(from_module(model, (x,)), inputs={"x": x.numpy()}, dtype="float64")
    loss = model(x)
    loss.backward()
    assert run.loss == pytest.approx(loss.item(), rel=1e-12)
    assert model.weight.grad is not None
    np.testing.assert_allclose(run.gradients["weight"], model.weight.grad.numpy(), rtol=1e-12)


def _annotated() -> Iterator[str]:
    """The operators whose schemas say that results share the memory of operands which are not written."""
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        taken = [one.alias_info for one in schema.arguments if one.alias_info is not None]
        if space == "aten" and taken and not any(one.is_write for one in taken):
            if any(one.alias_info is not None for one in schema.returns):
                yield name


def _memory(value: Any) -> set[int]:
    tensors = (one for one in pytree.tree_leaves(value) if isinstance(one, torch.Tensor) and one.numel())
    return {one.untyped_storage().data_ptr() for one in tensors if one.layout == torch.strided}


def _seen() -> Iterator[str]:
    """The operators of which a sample has a result in the memory of an operand."""
    for op in KNOWN:
        name = op.name.removeprefix("nn.functional.").replace(".", "_")
        if name in _READ and torch.float64 in op.dtypes:
            for number, sample in enumerate(samples(op)):
                call = sample.call
                if number < 12 and _memory(op.op(call.input, *call.args, **call.kwargs)) & _memory(
                    [call.input, call.args, call.kwargs]
                ):
                    yield name
                    break


_READ = {name.split(".")[1] for name in meanings() if name.startswith("aten.")}


def test_all_views_are_known_as_such() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = (set(_annotated()) | set(_seen())) & _READ
    assert len(found) > 40
    assert found <= VIEWS | {"dropout"}
