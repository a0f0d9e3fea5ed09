"""
SCALE-Sim 3.0.0 in its CALC mode, exactly: its report of a layer without its walk over every address.

    layer.py      its input: a product or a convolution, sparsity, the configuration
    compute.py    folds, cycles, utilisations, SRAM accesses
    streams.py    the words an operand asks for, line by line
    reads.py      DRAM reads: epochs
    images.py     DRAM reads of overlapping windows
    writes.py     DRAM writes: the FIFO of the ofmap
    sparsity.py   the storage of sparse filters
    model.py      all columns
"""

from npuc.backends.cycle.scalesim.layer import Configuration, Image, Layer, Sparsity
from npuc.backends.cycle.scalesim.model import COLUMNS, Columns, simulate

__all__ = ["COLUMNS", "Columns", "Configuration", "Image", "Layer", "Sparsity", "simulate"]
