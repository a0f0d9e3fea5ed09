"""`npuc explain NET --collective NAME`: the chunks of one collective, and when each level of the network works."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from npuc.compiler.cli.progress import said, stages
from npuc.compiler.cli.shared import check_target, make_console, write_result

if TYPE_CHECKING:
    from npuc.compiler.cli.plot.target import PictureTarget
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.driver.watch.watcher import Watcher


def show_collective(
    source: str,
    name: str,
    phase: str | None,
    target: PictureTarget | None,
    backend: str | None,
    options: CompileKeywords,
    watchers: tuple[Watcher, ...],
    json: str | None,
    *,
    quiet: bool,
) -> Callable[[], None]:
    """What prints a collective; its picture and JSON are written where they are asked for. Raises `NpucError`s."""
    from npuc.backends.registry import get_backend
    from npuc.compiler.driver.machine import backend_for
    from npuc.compiler.explain.collective import explain_collective
    from npuc.frontends.source import open_source

    check_target(json)
    opened = open_source(source)
    model = get_backend(backend or backend_for(opened))
    with stages(quiet=quiet) as say:
        found = explain_collective(opened, model, options, name, phase, said(say, quiet=quiet), watchers)
    if json is not None:
        from npuc.compiler.report.as_json import to_json

        write_result(json, to_json(found))
    if target is not None:
        from npuc.compiler.report.pictures.collective import draw_collective

        target.draw(lambda kind: draw_collective(found, kind))

    def show() -> None:
        from npuc.compiler.report.text.collective import print_collective

        if json != "-":
            print_collective(found, make_console())

    return show
