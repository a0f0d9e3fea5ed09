"""xDSL's opt tool with npuc's dialects and passes, and with npuc's errors."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from npuc.compiler.errors import Location, SourceError, UsageError
from npuc.compiler.pipeline import available_passes, read_pipeline
from npuc.dialects import get_all_dialects
from npuc.frontends.mlir import check_strings


class OptTool(xDSLOptMain):
    """
    The tool; `load` names files with passes of one's own.

    npuc's dialects and passes are there whether or not its entry points are installed.
    """

    def __init__(self, arguments: Sequence[str], load: Sequence[str] = ()):
        self.load = load
        super().__init__("xDSL's optimiser with npuc's dialects and passes", arguments)

    def register_all_dialects(self) -> None:
        """Register xDSL's dialects and npuc's."""
        super().register_all_dialects()
        known = set(self.ctx.registered_dialect_names)
        for name, factory in get_all_dialects().items():
            if name not in known:
                self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        """Register xDSL's passes, npuc's, and those of the loaded files."""
        super().register_all_passes()
        for name, factory in available_passes(self.load).items():
            self.register_pass(name, factory)

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp | None:
        """Parse a part of the input, after a look at its strings."""
        data = chunk.read()
        check_strings(data.decode(), self.get_input_name())
        return super().parse_chunk(BytesIO(data), file_extension, start_offset)

    def setup_pipeline(self) -> None:
        """Read the pipeline with npuc's messages, and keep what the tool does between passes."""
        text, self.args.passes = self.args.passes, ""
        super().setup_pipeline()
        self.pipeline = PassPipeline(tuple(read_pipeline(text, self.available_passes)), self.pipeline.callback)

    def run(self) -> None:
        """Run the tool. What the input breaks becomes a `SourceError`, a wrong call a `UsageError`."""
        try:
            super().run()
        except ParseError as e:
            location = e.span.get_location()
            raise SourceError(
                e.msg.strip(),
                location=Location(location.file, location.line, location.col),
                source_line=_line_of(e),
            ) from e
        except DiagnosticException as e:
            raise SourceError(str(e).strip().partition("\n")[0]) from e
        except (FileNotFoundError, IsADirectoryError, PermissionError) as e:
            raise UsageError(f"cannot read '{e.filename}': {e.strerror}") from e
        except UnicodeDecodeError as e:
            raise SourceError(f"{self.get_input_name()} is not UTF-8 text") from e


def _line_of(error: ParseError) -> str:
    """The text of the line that a parse error is about."""
    content = error.span.input.content
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    start = text.rfind("\n", 0, error.span.start) + 1
    return text[start:].partition("\n")[0]
