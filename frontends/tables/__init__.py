"""
Layer tables: files with one layer per line, given by its sizes.

    layer,M,N,K,count,has_dX            npuc's own: products by name of their columns
    fc1,64,512,784,1,0

    Layer, M, N, K,                     SCALE-Sim's GEMM topologies
    Layer name, IFMAP Height, …         SCALE-Sim's convolution topologies

    model.py      the content of a table: layers, as frozen data
    cells.py      lines and cells with their places and mistakes
    read.py       which kind of table it is; its rows as layers
    build.py      the module of a table
"""

from typing import TYPE_CHECKING

from npuc.compiler.core.registry import lazily

if TYPE_CHECKING:
    from npuc.frontends.tables.build import TableProgram, read_table_program
    from npuc.frontends.tables.model import Convolution, Product, Table, TableLayer
    from npuc.frontends.tables.read import read_table

__all__ = ["Convolution", "Product", "Table", "TableLayer", "TableProgram", "read_table", "read_table_program"]

__getattr__ = lazily(
    __name__,
    {
        "build": (
            "TableProgram",
            "read_table_program",
        ),
        "model": (
            "Convolution",
            "Product",
            "Table",
            "TableLayer",
        ),
        "read": ("read_table",),
    },
)
