"""
The command line `npuc`: one verb a module, and what they share.

Nothing heavy is imported before a verb runs, so that `npuc --help` is quick.
"""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache as cached
from importlib import import_module
from typing import Annotated, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from npuc.compiler.cli.complete.shells import Typed, answer, typed_in
from npuc.compiler.cli.shared import flush, forget_asides, report_error
from npuc.compiler.cli.verbs.absent import absence
from npuc.compiler.cli.verbs.command import VerbCommand, Verbs, verbs_with
from npuc.compiler.core.cache.command import Command
from npuc.compiler.core.cache.streams import prepare_streams
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.gc_pause import without_cycle_collection

VERBS = {
    "compile": "compile",
    "diff": "diff",
    "explain": "explain",
    "run": "run",
    "check": "check",
    "import": "import_",
    "fmt": "fmt",
    "lint": "lint",
    "opt": "opt",
    "reuse": "reuse",
    "sweep": "sweep",
    "optimize": "optimize",
    "map": "map",
    "flexibility": "flexibility",
    "design": "design",
    "network": "network",
    "training": "training",
    "study": "study",
    "reproduce": "reproduce",
    "plot": "plot",
    "machine": "machine",
    "list": "listing",
    "cache": "cache",
    "new": "new",
}
"""Each verb, in the order of the help, with the module of this package that registers it."""

# What typer raises for a wrong command line. It has no public name of its own: BadParameter is one kind of it.
WrongCommandLine = cast("type[Exception]", typer.BadParameter.__mro__[1])


def _print_version(wanted: bool) -> None:
    if wanted:
        from npuc.compiler.driver.score import version

        print(f"npuc {version()}")
        raise typer.Exit(0)


def _npuc(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Compile training steps for NPUs: derive the backward pass, schedule it, and report what one iteration costs."""


def main(arguments: Sequence[str] | None = None, command: Command | None = None) -> None:
    """
    Run the command line and exit: 0 done, 1 wrong source, 2 wrong usage, 3 does not fit, 70 defect, 130 interrupted.

    `command` is that of the process, where it has looked for its result already.
    """
    typed = typed_in(os.environ) if arguments is None else None
    with without_cycle_collection():
        if typed is None:
            given = sys.argv[1:] if arguments is None else arguments
            status = (command or Command(given, os.environ)).run(run_command)
        else:
            status = complete(typed)
        gc.freeze()  # the process ends, and nothing that it holds is worth a last search
    sys.exit(status)


def complete(typed: Typed) -> int:
    """Print what may stand for the word that is being typed, as its shell reads it; returns the exit status."""
    from npuc.compiler.cli.complete.line import candidates

    text, status = answer(typed, candidates(typed.words, typed.word, _parser(_verb_in(typed.words))), os.environ)
    with suppress(OSError):
        print(text, end="\n" if text else "", flush=True)
    return status


def run_command(arguments: list[str]) -> int:
    """Run the command line; returns the exit status."""
    prepare_streams()
    forget_asides()
    try:
        status = _parser(_verb_in(arguments)).main(arguments or ["--help"], prog_name="npuc", standalone_mode=False)
    except WrongCommandLine as e:
        return report_error(_usage_error(e))
    except UsageError as e:
        return report_error(e)
    except typer.Abort:
        return 130
    except SystemExit as e:
        # The help of a verb ends so where nobody reads it.
        status = 0 if type(sys.stdout).__name__ == "PacifyFlushWrapper" else e.code
    except OSError as e:
        status = 0 if e.errno == errno.EPIPE else report_error(UsageError(f"cannot write: {e.strerror}"))
    return flush(status if isinstance(status, int) else 0)


def _verb_in(arguments: Sequence[str]) -> str | None:
    """The verb of a command line, which begins with it; None where all verbs are wanted."""
    return arguments[0] if arguments and arguments[0] in VERBS else None


def app(verb: str | None = None) -> typer.Typer:
    """The command line with all verbs, or with one alone: the others are not imported."""
    made = typer.Typer(
        name="npuc",
        cls=Verbs,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    made.callback()(_npuc)
    for name in VERBS if verb is None else (verb,):
        import_module(f"{__name__}.{VERBS[name]}").register(made)
    for registered in made.registered_commands:
        if not issubclass(registered.cls or TyperCommand, VerbCommand):
            registered.cls = VerbCommand
    return made


@cached
def _parser(verb: str | None) -> TyperGroup:
    """The command line, which typer makes of the signatures of verbs; a process of several commands makes it once."""
    return cast("TyperGroup", get_command(app(verb)))


def _usage_error(error: Exception) -> UsageError:
    """A message of typer as an npuc error; a suggestion in it becomes the hint."""
    from npuc.compiler.cli.opt.described import opt_command

    text = str(cast("object", getattr(error, "format_message", error.__str__)()))
    option, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if isinstance(option, str) and text.startswith("No such option"):
        others = verbs_with(option, {**_parser(None).commands, "opt": opt_command()})
        reason = absence(str(getattr(context, "info_name", "")), option)
        if others:
            listed = ", ".join(others[:-1]) + (" and " if others[1:] else "") + others[-1]
            hint = f"npuc {listed} {'take' if others[1:] else 'takes'} it"
            return UsageError(f"no such option: {option}", hint=f"{reason}; {hint}" if reason else hint)
    found = re.search(r"\s*\(?(?:Did you mean|Possible options:) ?(.*?)[?)]+$", text)
    hint = None if found is None else f"did you mean {found.group(1)}?"
    message = (text if found is None else text[: found.start()]).strip().rstrip(".")
    return UsageError(
        message[:1].lower() + message[1:], hint=hint or "npuc --help lists verbs, npuc VERB --help options"
    )
