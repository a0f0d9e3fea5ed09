"""Where `--plot` writes a picture, of which kind, and what it shows."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.cli.shared import check_target
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.files.outputs import write_file
from npuc.compiler.core.frozen import frozen


@frozen
class PictureTarget:
    """Where a picture goes, of which kind it is (`svg`, `png`, `pdf`), and what it shows; None: the usual view."""

    path: str
    kind: str
    view: str | None = None

    def write(self, data: bytes) -> None:
        """Write the file."""
        write_file(self.path, data)


def picture_target(plot: str | None, view: str | None = None, views: Sequence[str] = ()) -> PictureTarget | None:
    """
    The picture that `--plot` and `--view` ask for; of `views`, where any are named.

    Raises `UsageError` for a name of no kind, a file that cannot be written, a view of no picture or an unknown one,
    and without matplotlib.
    """
    if plot is None:
        if view is not None:
            raise UsageError(f"--view {view} is about a picture, and there is none", hint="add --plot FILE.svg")
        return None
    from npuc.compiler.core.drawing.figure import check_format

    kind = check_format(plot)
    check_target(plot)
    if view is not None and views and view not in views:
        raise UsageError(f"--view {view}: there is no such picture", hint=did_you_mean(view, views))
    return PictureTarget(plot, kind, view)
