"""
SCALE-Sim's storage of a sparse filter, in words of 32 bits (its SPARSE_REPORT).

K' = the kept rows, nnz = K' N. ELLPACK keeps ceil(log2 M) bits of place for every kept value (M of the pattern N:M);
CSR and CSC one index for each and one pointer for every row (column) and one more.
"""

from dataclasses import dataclass

from npuc.backends.cycle.scalesim.layer import Layer, Representation, Sparsity


@dataclass(frozen=True)
class Storage:
    """Words of the dense filter, of the sparse one with its metadata, and of the metadata."""

    original: int
    new: int | float
    metadata: int | float


def storage(layer: Layer, sparsity: Sparsity, representation: Representation) -> Storage:
    """The words a sparse filter takes."""
    kept = layer.rows * layer.n
    if representation == "ellpack_block":
        bits = kept * (sparsity.block - 1).bit_length()
        metadata = bits // 32 if bits % 32 == 0 else bits / 32
    else:
        metadata = kept + (layer.k if representation == "csr" else layer.n) + 1
    return Storage(layer.k * layer.n, kept + metadata, metadata)
