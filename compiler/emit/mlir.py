"""The program that was scored, as IR."""

import io

from xdsl.printer import Printer

from npuc.compiler.emit.base import Compiled, Emitted, Emitter


class IrText(Emitter):
    """The program that was scored, as npuc's IR."""

    def emit(self, compiled: Compiled) -> Emitted:
        """See `Emitter`."""
        text = io.StringIO()
        Printer(text).print_op(compiled.module)
        return Emitted(text.getvalue() + "\n")


EMITTER = IrText()
