"""
How results show themselves: `repr`, `str`, the HTML of a notebook, and tables of pandas.

    class Result(Displayed):
        def shown(self) -> Shown: return Shown("Result", "of net", "1.2 ms", columns=..., rows=...)

    shown.py      what is shown of a result, as data
    words.py      names of others, cut and made readable; one line, or several
    fragment.py   the same as a fragment of HTML, without scripts, of bounded size
    svg.py        small pictures in it: shares of a whole, points, a line
    frame.py      rows as a table of pandas, which is optional
    progress.py   a bar while a long call runs, where somebody looks on

No other module of this folder is loaded before a result is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuc.compiler.core.display.shown import Shown


class Displayed:
    """A result that says by `shown` what is shown of it."""

    __slots__ = ()

    def shown(self) -> Shown:
        """What is shown of it."""
        raise NotImplementedError(f"{type(self).__name__} does not say what is shown of it")

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
