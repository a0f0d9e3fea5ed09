"""The shapes of the values of a model at the batch that it was exported for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from npuc.frontends.onnx.calls import OnnxCall, Position
from npuc.frontends.onnx.container.model import OnnxModel, ValueInfo
from npuc.frontends.onnx.values import OnnxValue, ValueSequence

Shape = tuple[int, ...]


@dataclass(frozen=True)
class MadeCall:
    """A call of the first walk: what it was, and the shapes of its results."""

    op: str
    position: Position
    shapes: tuple[Shape | None, ...]


@dataclass
class ExportedShapes:
    """The shapes of values at the batch that a model was exported for, call by call."""

    model: OnnxModel
    calls: list[MadeCall] = field(default_factory=list[MadeCall])
    _said: Mapping[str, ValueInfo] | None = None

    def rewritten(self, call: OnnxCall, repeat: object) -> OnnxCall:
        """The call as it is."""
        return call

    def made(self, call: OnnxCall, results: Sequence[OnnxValue]) -> None:
        """Note the results of a call. Raises `SourceError` where the file says another shape."""
        if self._said is None:
            self._said = self.model.graph.described()
        shapes = tuple(shape_of(value) for value in results)
        self.calls.append(MadeCall(call.op, call.position, shapes))
        if call.position.way:
            return
        for name, shape in zip(call.node.outputs, shapes, strict=False):
            said = self._said.get(name)
            sizes = said.type.shape if said is not None and said.type is not None else None
            if sizes is not None and shape is not None and sizes != shape:
                raise call.error(f"makes {list(shape)}, the file says {list(sizes)}")


def shape_of(value: OnnxValue) -> Shape | None:
    """The shape of a tensor."""
    return None if value is None or isinstance(value, ValueSequence) else value.shape
