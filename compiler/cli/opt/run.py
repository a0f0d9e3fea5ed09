"""Running the opt tool, with npuc's errors for what the input breaks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError

from npuc.compiler.cli.opt.tool import OptTool
from npuc.compiler.core.errors import Location, SourceError, UsageError
from npuc.dialects.npu.schedule_syntax import BarePromise


def run_tool(arguments: Sequence[str], load: Sequence[str] = ()) -> None:
    """
    Run the tool on command line arguments.

    What the input breaks becomes a `SourceError`, a wrong call a `UsageError`.
    """
    checked = Attribute.__post_init__
    try:
        OptTool(arguments, load).run()
    except ParseError as e:
        place = e.span.get_location()
        location = Location(place.file, place.line, place.col)
        hint = e.hint if isinstance(e, BarePromise) else None
        raise SourceError(e.msg.strip(), location=location, hint=hint, source_line=_line_of(e)) from e
    except ArgSpecParseError as e:
        raise UsageError(str(e).strip().splitlines()[-1].strip(" ^|")) from e
    except DiagnosticException as e:
        raise SourceError(str(e).strip().partition("\n")[0]) from e
    except BrokenPipeError:
        raise
    except OSError as e:
        raise UsageError(f"cannot open '{e.filename}': {e.strerror}") from e
    finally:
        # --disable-verify turns off the checks of attributes for the whole process.
        Attribute.__post_init__ = checked


def _line_of(error: ParseError) -> str:
    """The text of the line that a parse error is about."""
    content = error.span.input.content
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    start = text.rfind("\n", 0, error.span.start) + 1
    return text[start:].partition("\n")[0]
