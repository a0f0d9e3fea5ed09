"""Where `--plot` writes a picture, of which kind, and what it shows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from npuc.compiler.cli.shared import check_target
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.files.outputs import write_file
from npuc.compiler.core.frozen import frozen

if TYPE_CHECKING:
    from npuc.compiler.core.drawing.sheet import Sheet


@frozen
class PictureTarget:
    """
    Where a picture goes, of which kind it is (`svg`, `png`, `pdf`), what it shows (None: the usual view), and what it
    is made for (None: a screen).
    """

    path: str
    kind: str
    view: str | None = None
    sheet: Sheet | None = None

    def drawn(self, draw: Callable[[str], bytes]) -> Mapping[str, bytes]:
        """The files that `draw` makes of a kind, by name: one, or `a-b.svg` for the panel b of `a.svg`."""
        from npuc.compiler.core.drawing.sheet import letter_of, made_for

        with made_for(self.sheet) as panels:
            data = draw(self.kind)
        if not panels:
            return {self.path: data}
        stem, suffix = os.path.splitext(self.path)
        return {f"{stem}-{letter_of(number)}{suffix}": panel for number, panel in enumerate(panels)}

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write what was drawn."""
        for path, data in files.items():
            write_file(path, data)

    def draw(self, draw: Callable[[str], bytes]) -> None:
        """Draw and write."""
        self.write(self.drawn(draw))


def picture_target(
    plot: str | None,
    view: str | None = None,
    views: Sequence[str] = (),
    *,
    made_for: str | None = None,
    option: str = "--plot",
) -> PictureTarget | None:
    """
    The picture that `--plot` (or another `option`), `--view` and `--plot-as` (`made_for`) ask for; of `views`, where
    any are named.

    Raises `UsageError` for a name of no kind, a file that cannot be written, a view of no picture or an unknown one,
    and without matplotlib.
    """
    if plot is None:
        if view is not None:
            raise UsageError(f"--view {view} is about a picture, and there is none", hint="add --plot FILE.svg")
        check_sheet(plot, made_for)
        return None
    from npuc.compiler.core.drawing.figure import check_format

    kind = check_format(plot, option)
    check_target(plot)
    if view is not None and views and view not in views:
        raise UsageError(f"--view {view}: there is no such picture", hint=did_you_mean(view, views))
    return PictureTarget(plot, kind, view, check_sheet(plot, made_for))


def check_sheet(plot: str | None, made_for: str | None) -> Sheet | None:
    """What `--plot-as` asks for. Raises `UsageError` for unknown words, and without a picture."""
    if made_for is None:
        return None
    if plot is None:
        raise UsageError(f"--plot-as {made_for} is about a picture, and there is none", hint="add --plot FILE.pdf")
    from npuc.compiler.core.drawing.sheet import read_sheet

    return read_sheet(made_for)
