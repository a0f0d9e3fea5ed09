"""Elementwise functions of one tensor: one vector operation per element, forward and backward."""

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from npuc.compiler.layers.base import Array, Emit, Gradients, PerElementLayer, derivative, params_of
from npuc.compiler.layers.domains import Domain
from npuc.dialects.train.unary import UnaryGradOp, UnaryOp

Compute = Callable[..., Array]
"""Arrays and the operation's properties by name -> the result."""


class UnaryLayer(PerElementLayer[UnaryOp]):
    """
    A function of one tensor, which `compute` evaluates.

    The operation `gradient` takes the output's gradient and the input, or the output if it is `of_result`, and has
    the same properties. `within`: what numbers the function is defined for, where it is not for all.
    """

    elementwise = True

    def __init__(
        self,
        op: type[UnaryOp],
        compute: Compute,
        gradient: type[UnaryGradOp],
        *,
        of_result: bool = False,
        within: Domain | None = None,
    ):
        self.op = op
        self.compute = compute
        self.gradient = gradient
        self.of_result = of_result
        self.within = within

    def evaluate(self, op: UnaryOp, *arrays: Array) -> tuple[Array, ...]:
        return (self.compute(*arrays, **params_of(op)),)

    def vjp(self, op: UnaryOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(self.gradient, op, g, op.out if self.of_result else op.x)).dx]

    def domain(self, op: UnaryOp, operand: int) -> Domain | None:
        return self.within


class UnaryGradLayer(PerElementLayer[UnaryGradOp]):
    """The derivative of a function of one tensor, which `compute` evaluates."""

    elementwise = True

    def __init__(self, op: type[UnaryGradOp], compute: Compute):
        self.op = op
        self.compute = compute

    def evaluate(self, op: UnaryGradOp, *arrays: Array) -> tuple[Array, ...]:
        return (self.compute(*arrays, **params_of(op)),)
