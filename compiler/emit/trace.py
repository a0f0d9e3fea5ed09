"""The timeline of the step in the trace-event format."""

from npuc.compiler.emit.base import Compiled, Emitted, Emitter


class Timeline(Emitter):
    """The timeline of the step, for Perfetto and chrome://tracing."""

    printed = True

    def emit(self, compiled: Compiled) -> Emitted:
        """See `Emitter`."""
        return Emitted(compiled.report.to_trace())


EMITTER = Timeline()
