"""The methods of a class that says what is shown of it: text and HTML are made when they are asked for."""

from __future__ import annotations

from npuc.compiler.core.display.shown import Shown


class Displayed:
    """A result that says by `shown` what is shown of it."""

    __slots__ = ()

    def shown(self) -> Shown:
        """What is shown of it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        from npuc.compiler.core.display.words import one_line

        return one_line(self.shown())

    def __str__(self) -> str:
        from npuc.compiler.core.display.words import lines

        return lines(self.shown())

    def _repr_html_(self) -> str:
        """The result in a notebook."""
        from npuc.compiler.core.display.fragment import fragment

        return fragment(self.shown())
