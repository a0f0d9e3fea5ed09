"""ONNX models as a format of sources."""

from __future__ import annotations

from npuc.frontends.base import Frontend, Parameters, Program, Request, Source


class OnnxFrontend(Frontend):
    """ONNX models: graphs that a training step is made of, with their weights."""

    name = "onnx"
    title = "an ONNX model"
    binary = True
    parametric = True
    lacks_step = True
    prices_unknown = True

    def read(self, source: Source, request: Request) -> Program:
        """The program of a model. See `Frontend`."""
        from npuc.frontends.onnx.read import model_of, read_model

        return read_model(model_of(source), request)

    def parameters(self, source: Source) -> Parameters | None:
        """The sizes that a model leaves free. See `Frontend`."""
        from npuc.frontends.onnx.read import SizesOfModel, model_of

        return SizesOfModel(model_of(source))


FRONTEND = OnnxFrontend()
