"""`npuc explain NET LAYER`: where the time of one layer goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from npuc.compiler.cli.explain.plan import number_of
from npuc.compiler.cli.plot.target import PictureTarget, check_sheet, picture_target
from npuc.compiler.cli.progress import said, stages
from npuc.compiler.cli.shared import aside, check_target, terminal_width, write_result
from npuc.compiler.core.errors import UsageError

if TYPE_CHECKING:
    from npuc.backends.base import Answer, Backend
    from npuc.compiler.core.options import CompileKeywords
    from npuc.compiler.driver.watch.watcher import Watcher
    from npuc.compiler.report import Report
    from npuc.compiler.report.explained import ExplainedLayer
    from npuc.compiler.report.layers import Line
    from npuc.frontends.source import Source as Opened

DEFAULT = "cycle"
WIDTH = 120
"""The width of the text in JSON."""
_SAID_BY_PASSES = (
    *("opt_level", "objective", "tolerance", "before", "after", "recompute", "quantize", "density"),
    *("fuse_layers", "method"),
    *("print_after", "print_changed", "time_passes"),
)
"""Options that say nothing of a program that is compiled again by named passes, to be compared."""


def layer_picture(
    plot: str | None, svg: str | None, view: str | None, *, made_for: str | None, quiet: bool
) -> PictureTarget | None:
    """The picture that is asked for, also by the former name of --plot. Raises `UsageError` for one that cannot be."""
    if svg is None:
        return picture_target(plot, view, made_for=made_for)
    if plot is not None:
        raise UsageError("--svg is the former name of --plot", hint="leave out --svg")
    from npuc.compiler.core.drawing.figure import check_drawing

    check_drawing("--svg")
    check_target(svg)
    if not quiet:
        aside("warning: --svg FILE is --plot FILE.svg now; the former name goes with the next release")
    return PictureTarget(svg, "svg", view, check_sheet(svg, made_for))


def explain_layer(
    source: str,
    layer: str,
    phase: str | None,
    target: PictureTarget | None,
    backend: str | None,
    options: CompileKeywords,
    watchers: tuple[Watcher, ...],
    json: str | None,
    *,
    quiet: bool,
) -> Callable[[], None]:
    """
    What prints where the time of a layer goes; its picture and JSON are written where they are asked for.

    It prints nothing where one of these takes standard output.
    """
    from npuc.compiler.driver.machine import backend_for
    from npuc.frontends.source import open_source

    opened = open_source(source)
    model = _explaining(backend or backend_for(opened))
    if target is not None:
        _check_view(target, model)
    check_target(json)
    answer, explained = _answer(opened, model, layer, phase, options, watchers, quiet=quiet)
    if json is not None:
        from npuc.compiler.report.as_json import to_json

        write_result(json, to_json(explained))
    if target is not None and answer.picture is not None:
        draw, view = answer.picture, target.view or model.views[0]
        drawn = target.drawn(lambda kind: draw(kind, view))
        if target.path == "-":
            write_result("-", drawn["-"].decode())
            return _nothing
        target.write(drawn)
    if json == "-":
        return _nothing
    text = f"{opened.shown} on {explained.hardware}, backend {model.name}\n{answer.text(terminal_width())}"
    return lambda: print(text, end="")


def _nothing() -> None:
    """Print nothing."""


def _check_view(target: PictureTarget, model: Backend) -> None:
    """Raise `UsageError` for a picture that a backend does not draw."""
    if not model.views:
        raise UsageError(
            f"the backend '{model.name}' draws no picture of a layer", hint=f"leave out --plot, or -b {DEFAULT}"
        )
    if target.view is not None and target.view not in model.views:
        raise UsageError(
            f"--view {target.view}: there is no such picture of a layer", hint=f"known: {', '.join(model.views)}"
        )


def _explaining(name: str) -> Backend:
    """A backend that explains layers. Raises `UsageError` for any other."""
    from npuc.backends.registry import get_all_backends, get_backend

    if (model := get_backend(name)).explains:
        return model
    known: list[str] = []
    for other, factory in get_all_backends().items():
        with suppress(UsageError):  # one that cannot be loaded
            known += [f"'{other}'"] if factory().explains else []
    raise UsageError(
        f"the backend '{name}' does not explain layers; {', '.join(known[:-1])} and {known[-1]} do",
        hint=f"-b {DEFAULT}",
    )


def _answer(
    source: Opened,
    model: Backend,
    layer: str,
    phase: str | None,
    options: CompileKeywords,
    watchers: tuple[Watcher, ...],
    *,
    quiet: bool,
) -> tuple[Answer, ExplainedLayer]:
    """A backend's explanation of a layer that is compiled with the options, and the same as data."""
    from npuc.backends.base import Question
    from npuc.compiler.driver.compile import compile_program
    from npuc.compiler.driver.levels.preset import CANONICALIZE
    from npuc.compiler.driver.options import options_of
    from npuc.compiler.report.explained import explained_layer
    from npuc.compiler.report.layers import by_layer

    with stages(quiet=quiet) as say:
        result = compile_program(source, [model.name], options, said(say, quiet=quiet), watchers=watchers)
    report = result.reports[0]
    line = _line(by_layer(model.explained_rows(report)), layer)
    if not any(phase in (None, row.phase) for row in line.rows):
        phases = ", ".join(dict.fromkeys(row.phase for row in line.rows))
        raise UsageError(f"layer '{line.name}' has no operation in phase {phase}", hint=f"it has {phases}")

    def others(passes: str) -> Report:
        first = f"{CANONICALIZE}," if report.pipeline.startswith(CANONICALIZE) else ""
        own: CompileKeywords = {**options, "pipeline": first + passes, "only": line.name}
        for name in _SAID_BY_PASSES:
            own.pop(name, None)
        return compile_program(source, [model.name], own).reports[0]

    answer = model.explain(
        Question(
            layer=line.name,
            phase=phase,
            rows=line.rows,
            module=result.modules[0],
            hardware=result.machines[0],
            report=report,
            objective=options_of(options).objective,
            others=None if source.frontend.is_ir or options_of(options).devices > 1 else others,
        )
    )
    if answer is None:
        raise UsageError(f"the backend '{model.name}' does not explain layer '{line.name}'")
    rows, name = [row for row in line.rows if phase in (None, row.phase)], result.machines[0].name
    return answer, explained_layer(report, name, line.name, rows, model.time_parts, answer.text(WIDTH))


def _line(lines: Sequence[Line], layer: str) -> Line:
    """The one layer that a name, glob or number means. Raises `UsageError` for none and for several."""
    return lines[number_of([line.name for line in lines], layer)]
