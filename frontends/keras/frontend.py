"""Models of Keras as a format of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.frontends.base import Frontend, Program, Request, Source

if TYPE_CHECKING:
    from npuc.frontends.keras.sizes import SizesOfKeras


class KerasModelJson(Frontend):
    """Models of Keras 2 and 3 that model.to_json() wrote."""

    name = "keras"
    title = "a Keras model"
    suffixes = ("json",)
    parametric = True
    lacks_step = True

    def read(self, source: Source, request: Request) -> Program:
        """The forward graph, in training with the loss that is asked for; see `Frontend`."""
        from npuc.frontends.keras.read import read_keras

        return read_keras(source, request)

    def parameters(self, source: Source) -> SizesOfKeras:
        """See `Frontend`."""
        from npuc.frontends.keras.document import model_of
        from npuc.frontends.keras.sizes import SizesOfKeras

        return SizesOfKeras(model_of(source.text, source.filename))


FRONTEND = KerasModelJson()
