"""Convolutions, and those that are their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuc.frontends.jax.context import HloContext, Meaning, brief, registry
from npuc.frontends.jax.layouts import parts_of
from npuc.frontends.jax.operators.products import moved
from npuc.frontends.jax.values import FlatOp, HloValue, Known, Operand
from npuc.frontends.jax.views import TensorView, Value, constant
from npuc.frontends.script.weights import Refused

if TYPE_CHECKING:
    from npuc.dialects.train.base import Types
    from npuc.frontends.dsl.syntax import Name

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("convolution")
def convolution(c: HloContext) -> Value:
    parts = parts_of(c.flat)
    if parts is None:
        raise Refused("found dimension numbers of another form")
    rank = len(parts[0]) - 2
    if not 1 <= rank <= 3:
        raise Refused(f"found a convolution over {rank} axes, expected 1 to 3")
    window = _Convolution(c, rank, parts)
    if c.is_step and c.flat.role == "dw":
        return window.of_weight()
    kernel = window.kernel() if c.is_step and c.flat.role == "dx" else None
    return window.forward() if kernel is None else window.of_operand(kernel)


def _by_parts(c: HloContext, x: TensorView, parts: Sequence[str], wanted: Sequence[str]) -> Name:
    """An operand with its axes in the order of the language."""
    return moved(c, x, [parts.index(part) for part in wanted])


def regrouped(kernel: Operand, groups: int, inputs: int, outputs: int) -> tuple[Operand, list[int]] | None:
    """
    The tensor whose groups were moved from the axis that a kernel has its inputs of to the axis of its outputs.

    Such a kernel is a reshape, a transpose and a reshape: its axis of outputs [groups · in] and its axis of inputs
    [out] come from axes [in] and [groups · out]. The axis of that tensor for each of the kernel comes with it; None for
    a kernel that was made otherwise.
    """
    chain: list[FlatOp] = []
    made = kernel
    for kind in ("reshape", "transpose", "reshape"):
        if not isinstance(made, HloValue) or made.op is None or made.op.kind != kind:
            return None
        chain.append(made.op)
        made = made.op.operands[0]
    whole, split = made.type.shape, chain[2].results[0].type.shape
    cuts = [
        axis
        for axis, size in enumerate(whole)
        if size % groups == 0 and split == (*whole[:axis], groups, size // groups, *whole[axis + 1 :])
    ]
    order = chain[1].op.ints["permutation"]
    joined = chain[1].results[0].type.shape
    both = joined[outputs] * joined[outputs + 1] if outputs + 1 < len(joined) else 0
    if len(cuts) != 1 or kernel.type.shape != (*joined[:outputs], both, *joined[outputs + 2 :]):
        return None
    (cut,) = cuts
    if order[outputs] != cut:
        return None
    moved_axes = [*order[:outputs], *order[outputs + 1 :]]
    axes = [axis if axis < cut else axis - 1 for axis in moved_axes]
    return (made, axes) if moved_axes[inputs] == cut + 1 else None


def _from_parts(c: HloContext, name: Name, parts: Sequence[str], made: Sequence[str]) -> TensorView:
    """A result of the language's order as the program's."""
    return TensorView(name, tuple(made.index(part) for part in parts), c.type.shape, c.type.element)


class _Convolution:
    """A convolution, which is one of the three products of a layer; `parts` are the axes of operands and result."""

    def __init__(self, c: HloContext, rank: int, parts: Sequence[list[str]]):
        self.c, self.rank = c, rank
        self.lhs, self.rhs, self.out = parts
        self.spatial = [str(axis) for axis in range(rank)]
        ints, ones = c.ints, [1] * rank
        self.strides = ints.get("window_strides", ones)
        self.lhs_dilation, self.rhs_dilation = ints.get("lhs_dilation", ones), ints.get("rhs_dilation", ones)
        dense = c.flat.op.dense.get("padding")
        self.padding = [0] * (2 * rank) if dense is None else [int(one) for one in dense.array().ravel()]
        self.turned = ints.get("window_reversal", [0] * rank)
        self.groups, self.batch_groups = ints["feature_group_count"][0], ints["batch_group_count"][0]

    def forward(self) -> TensorView:
        """A convolution of the language, as it is."""
        if any(size != 1 for size in self.lhs_dilation) or any(self.turned) or self.batch_groups != 1:
            raise Refused("found a convolution of a spread operand or a turned kernel, which is no layer's forward one")
        if min(self.padding) < 0:
            raise Refused("found a convolution with negative padding")
        c = self.c
        left = _by_parts(c, c.view(0), self.lhs, ["b", "f", *self.spatial])
        right = _by_parts(c, c.view(1), self.rhs, ["o", "i", *self.spatial])
        strides = {} if set(self.strides) == {1} else {"stride": self.strides}
        named = brief(**strides, padding=self.padding, dilation=self.rhs_dilation, groups=[self.groups])
        name = c.named(c.call(f"conv{self.rank}d", left, weight=right, bias=False, **named))
        return _from_parts(c, name, self.out, ["b", "f", *self.spatial])

    def kernel(self) -> Operand | None:
        """The kernel of the forward convolution, of a gradient of its operand: before it was turned; else None."""
        made = self.c.flat.operands[1]
        if all(self.turned):
            return made
        if any(self.turned) or self.batch_groups != 1:
            return None
        if isinstance(made, HloValue) and made.op is not None and made.op.kind == "reverse":
            if sorted(made.op.op.ints["dimensions"]) != sorted(self.rhs.index(axis) for axis in self.spatial):
                return None
            return made.op.operands[0]
        one = all(made.type.shape[self.rhs.index(axis)] == 1 for axis in self.spatial)
        return made if one else None

    def _weight(self, kernel: Operand) -> Name:
        """
        The weight [out, in / groups, …] of the layer, of a kernel whose inputs are the layer's outputs.

        A kernel of several groups has the outputs of one of them as its inputs, and the inputs of all as its outputs:
        JAX moves the groups from one axis to the other, which is undone.
        """
        c, parts = self.c, ["i", "o", *self.spatial]
        found = regrouped(kernel, self.groups, self.rhs.index("i"), self.rhs.index("o")) if self.groups > 1 else None
        if found is not None:
            weight, axes = found
            view = c.views.of(c, weight)
            view = constant(c, view) if isinstance(view, Known) else view
            return moved(c, view, [axes[self.rhs.index(part)] for part in parts])
        view = c.views.of(c, kernel)
        name = _by_parts(c, constant(c, view) if isinstance(view, Known) else view, self.rhs, parts)
        if self.groups == 1:
            return name
        out, inner, *sides = c.shape(name)
        split = c.let("reshape", name, [out, self.groups, inner // self.groups, *sides])
        turned = c.let("transpose", split, [1, 0, *range(2, 3 + len(sides))])
        return c.let("reshape", turned, [self.groups * out, inner // self.groups, *sides])

    def of_operand(self, kernel: Operand) -> TensorView:
        """dX: dY spread by the stride, with the turned kernel, whose features are exchanged."""
        c = self.c
        if any(one != 1 for one in self.strides) or self.batch_groups != 1:
            raise Refused("found a gradient of a convolution of a spread operand, which is no layer's")
        weight = self._weight(kernel)
        left = _by_parts(c, c.view(0), self.lhs, ["b", "f", *self.spatial])
        sizes = dict(zip(self.out, c.type.shape, strict=True))
        shape = [sizes[part] for part in ("b", "f", *self.spatial)]
        reach = [d * (size - 1) for d, size in zip(self.rhs_dilation, c.shape(weight)[2:], strict=True)]
        before = [one - edge for one, edge in zip(reach, self.padding[::2], strict=True)]
        last = [(size - 1) * step for size, step in zip(c.shape(left)[2:], self.lhs_dilation, strict=True)]
        after = [a + b + 1 - size - edge for a, b, size, edge in zip(last, reach, shape[2:], before, strict=True)]
        edges, groups = (before, after), self.groups
        name = self._built("Dx", (left, weight), shape, self.lhs_dilation, edges, self.rhs_dilation, groups)
        return _from_parts(c, name, self.out, ["b", "f", *self.spatial])

    def of_weight(self) -> TensorView:
        """dW: X with dY as a kernel spread by the stride; batches are summed, features are batches."""
        c = self.c
        if self.groups != 1 or any(one != 1 for one in self.lhs_dilation) or any(self.turned):
            raise Refused("found a convolution of another form than a layer or its gradients have")
        left = _by_parts(c, c.view(0), self.lhs, ["f", "b", *self.spatial])  # its features are the batch of the layer
        right = _by_parts(c, c.view(1), self.rhs, ["i", "o", *self.spatial])
        sizes = dict(zip(self.out, c.type.shape, strict=True))
        kernel = [sizes[part] for part in ("f", "b", *self.spatial)]
        before = self.padding[::2]
        last = [(size - 1) * step for size, step in zip(c.shape(right)[2:], self.rhs_dilation, strict=True)]
        reach = [(size - 1) * step for size, step in zip(kernel[2:], self.strides, strict=True)]
        along = zip(last, reach, c.shape(left)[2:], before, strict=True)
        after = [a + b + 1 - size - edge for a, b, size, edge in along]
        edges, groups = (before, after), self.batch_groups
        name = self._built("Dw", (left, right), kernel, self.rhs_dilation, edges, self.strides, groups)
        return _from_parts(c, name, self.out, ["f", "b", *self.spatial])

    def _built(
        self,
        which: str,
        operands: tuple[Name, Name],
        shape: Sequence[int],
        stride: Sequence[int],
        edges: tuple[Sequence[int], Sequence[int]],
        dilation: Sequence[int],
        groups: int = 1,
    ) -> Name:
        """
        The gradient of a layer with a window.

        Rows of the operand behind the last window count as padding below 0, which is none.
        """
        from npuc.dialects.train import conv

        before, after = edges
        if min(before) < 0:
            raise Refused("found a convolution whose layer would have negative padding")
        c = self.c
        kind = getattr(conv, f"Conv{self.rank}d{which}Op")
        values = c.tensor(operands[0]), c.tensor(operands[1])
        results: Types = (c.result_type(shape, operands[0]),)
        padding = tuple(side for pair in zip(before, after, strict=True) for side in (pair[0], max(pair[1], 0)))
        window = {"stride": tuple(stride), "padding": padding, "dilation": tuple(dilation)}
        more = {"groups": groups} if groups != 1 else {}
        return c.built(lambda b: b.emit(kind(*values, results=results, **window, **more)).results[0])
