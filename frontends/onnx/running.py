"""What evaluates calls and bodies for the operators that are made of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from npuc.frontends.onnx.calls import OnnxCall
from npuc.frontends.onnx.container.model import AttributeValue, OnnxGraph
from npuc.frontends.onnx.values import OnnxValue


class Runner(Protocol):
    """Evaluates calls of ONNX's newest operators, and bodies, at the place of a call."""

    def results(
        self,
        call: OnnxCall,
        op: str,
        inputs: Sequence[OnnxValue],
        attributes: Mapping[str, AttributeValue],
        outputs: int,
    ) -> Sequence[OnnxValue]:
        """The results of an operator with so many outputs."""
        ...

    def result(
        self, call: OnnxCall, op: str, inputs: Sequence[OnnxValue], attributes: Mapping[str, AttributeValue]
    ) -> OnnxValue:
        """The first result of an operator."""
        ...

    def body(self, call: OnnxCall, graph: OnnxGraph, inputs: Sequence[OnnxValue], title: str) -> tuple[OnnxValue, ...]:
        """The outputs of a body of a call, for its inputs."""
        ...
