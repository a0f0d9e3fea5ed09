"""Layer tables as a format of sources."""

from npuc.frontends.base import Frontend, Program, Request, Source


class LayerTable(Frontend):
    """Layers by their sizes, one per line: npuc's own tables and topologies of SCALE-Sim."""

    name = "csv"
    title = "a layer table"
    lists_layers = True
    trusted = True  # and has very many operations

    def read(self, source: Source, request: Request) -> Program:
        """The layers of the table; a training step if the request or else the table says so. See `Frontend`."""
        from npuc.frontends.tables.build import read_table_program

        inference = request.inference
        program = read_table_program(
            source.text,
            source.filename,
            training=None if inference is None else not inference,
            max_ops=request.max_ops,
            channels=request.split_depthwise,
            choose=request.choose,
        )
        return Program(program.module, tuple(program.table.warnings))


FRONTEND = LayerTable()
