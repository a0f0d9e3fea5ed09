"""npuc's own IR as a format of sources."""

from npuc.frontends.base import Frontend, Program, Request, Source


class IrText(Frontend):
    """npuc's IR, at any level, as text."""

    name = "mlir"
    title = "a program in IR"
    is_ir = True

    def read(self, source: Source, request: Request) -> Program:
        """The module as it is written; see `Frontend`."""
        from npuc.frontends.mlir.read import read_mlir

        return Program(read_mlir(source.text, source.filename))


FRONTEND = IrText()
