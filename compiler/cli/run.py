"""`npuc run`: execute a training step, or several, in the interpreter."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.progress import said, stages, warnings_shown
from npuc.compiler.cli.shared import Verb, aside, check_target, whole
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.watching import watching
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.outputs import write_file

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from npuc.compiler.driver.running.options import RunKeywords, RunOptions
    from npuc.compiler.interpreter.execute import Run


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("run")(expanded(command))


def command(
    program: Annotated[Program, Takes(without=without("run", Program))],
    machine: Annotated[
        Machine,
        Takes(
            without=without("run", Machine),
            help={"hw": "Machine to schedule for; sums are as wide as its accumulators."},
        ),
    ],
    optimisation: Optimisation,
    devices: Devices,
    messages: Annotated[Output, Takes(without=without("run", Output))],
    inputs: Annotated[
        str | None, typer.Option("--inputs", metavar="F.npz", help="Read inputs and parameters by name.")
    ] = None,
    outputs: Annotated[
        str | None, typer.Option("--outputs", metavar="F.npz", help="Write losses, outputs, parameters and gradients.")
    ] = None,
    dtype: Annotated[
        str | None, typer.Option("--dtype", metavar="float32|float64", help="Compute every float in this type.")
    ] = None,
    steps: Annotated[int, typer.Option("--steps", metavar="N", parser=whole(), help="Training steps to run.")] = 1,
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", parser=whole(0), help="Seed of parameters that --inputs lacks.")
    ] = 0,
    level: Annotated[
        str | None, typer.Option("--level", metavar="train|npu|tiles", help="IR level to execute.")
    ] = None,
) -> None:
    """Execute the program in numpy. Prints the losses or, without a loss, the shape and mean of each output."""
    with Verb(messages.debug):
        from npuc.compiler.driver.run import run_program
        from npuc.compiler.driver.running.options import RunKeywords, is_lowered, run_options
        from npuc.frontends.source import open_source

        check_target(outputs)
        own: RunKeywords = {
            "inputs": {} if inputs is None else read_arrays(inputs),
            "dtype": dtype,
            "steps": steps,
            "seed": seed,
            "level": level,
        }
        given = collected(program, machine, optimisation, known=RunKeywords.__annotations__)
        options = cast("RunKeywords", {**own, **given, **devices.shared()})
        opened = open_source(program.source)
        with (
            watching(optimisation) as watchers,
            stages(quiet=messages.quiet) as line,
            warnings_shown(quiet=messages.quiet),
        ):
            result = run_program(opened, options, said(line, quiet=messages.quiet), watchers=watchers)
        asked = run_options(options)
        warn_of_unread(asked, lowered=is_lowered(asked), quiet=messages.quiet)
        if outputs is not None:
            write_file(outputs, _packed(result))
        if optimisation.statistics_json == "-":
            return
        for number, loss in enumerate(result.losses):
            print(f"step {number}: loss {loss!r}" if len(result.losses) > 1 else f"loss {loss!r}")
        if not result.losses:
            for name, array in result.outputs.items():
                print(f"{name}: {array.dtype} {list(array.shape)}, mean {float(array.mean()) if array.size else 0.0!r}")


def warn_of_unread(options: RunOptions, *, lowered: bool, quiet: bool) -> None:
    """Warn of hardware keys on which nothing in an execution depends; `lowered`: passes may read the machine."""
    from npuc.compiler.driver.unread import unread_in_run, warnings_of

    double = options.dtype == "float64"
    for warning in () if quiet else warnings_of(unread_in_run(options.overrides, lowered=lowered, double=double)):
        aside(f"warning: {warning}")


def read_arrays(path: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an `.npz` file by name. Raises `UsageError` for a file that is none, or holds Python objects."""
    import numpy as np

    from npuc.compiler.core.foreign import Foreign, first_line

    def refused(error: BaseException) -> UsageError:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
        return UsageError(f"cannot read '{path}': {reason}", hint="numpy.savez writes such files")

    # numpy and its decompressors raise some ten kinds of exceptions for a broken file.
    with Foreign(refused), open(path, "rb") as file:
        if file.seekable() and file.peek(2)[:2] != b"PK":
            raise UsageError(f"--inputs {path}: expected an .npz file with named arrays")
        loaded: object = np.load(file, allow_pickle=False)
        if not isinstance(loaded, Mapping):
            raise UsageError(f"--inputs {path}: expected an .npz file with named arrays")
        arrays = cast("Mapping[str, npt.NDArray[Any]]", loaded)
        return {name: np.asarray(arrays[name]) for name in arrays}


def _packed(result: Run) -> bytes:
    """The results as an `.npz` file: `loss`, `out/NAME`, `param/NAME`, `grad/NAME`, `new/NAME`."""
    import numpy as np

    arrays: dict[str, np.ndarray[Any, Any]] = {}
    if result.loss is not None:
        arrays["loss"] = np.asarray(result.loss)
    for prefix, group in (
        ("out", result.outputs),
        ("param", result.params),
        ("grad", result.gradients),
        ("new", result.updated),
    ):
        arrays |= {f"{prefix}/{name}": np.asarray(array) for name, array in group.items()}
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()
