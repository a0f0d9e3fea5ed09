"""What is along the axes of a picture of results, as options: those of `npuc sweep` and `npuc plot`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from npuc.compiler.cli.groups import Group
from npuc.compiler.core.frozen import frozen

if TYPE_CHECKING:
    from npuc.compiler.explore.plot.choice import Asked

AXIS = "KEY|METRIC"


@frozen
class PictureAxes(Group):
    """Keys and metrics along the axes; what is left out is chosen by the results."""

    title: ClassVar[str] = "Picture"

    x: Annotated[str | None, typer.Option("--x", metavar=AXIS, help="Along x (default: the first key).")] = None
    y: Annotated[str | None, typer.Option("--y", metavar=AXIS, help="Along y (default: what is minimised).")] = None
    color: Annotated[
        str | None, typer.Option("--color", metavar=AXIS, help="What colours mean (default: the next key).")
    ] = None

    def check(self, keys: Sequence[str]) -> None:
        """Raise `UsageError` for what is neither one of the keys nor any metric."""
        from npuc.compiler.explore.plot.choice import check_names

        check_names(self.asked(), keys)

    def asked(self) -> Asked:
        """The axes as pictures take them."""
        from npuc.compiler.explore.plot.choice import Asked

        return Asked(self.x, self.y, self.color)
