"""A script that also holds operations which the language has no function for, such as the gradient of a layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from npuc.compiler.core.builder import TooManyOps
from npuc.frontends.script.script import Script

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from npuc.compiler.core.builder import GraphBuilder
    from npuc.frontends.dsl.syntax import Name


class DirectScript(Script):
    """A script with values that no statement makes, so that no text of the network can be written of it."""

    def build(self, layer: str, make: Callable[[GraphBuilder], SSAValue]) -> Name:
        """The value that `make` builds, named as its layer. Raises `SourceError` for operations that are wrong."""
        own = self._unused(layer)
        try:
            with self.builder.at(own.text, self._source.location(self._at)):
                self._elaboration.frame.variables[own.text] = make(self.builder)
        except (TooManyOps, VerifyException) as error:
            raise self.error(str(error)) from error
        return own
