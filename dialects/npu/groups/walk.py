"""How a group walks the rows of a sample: bands of rows of results, and what becomes of rows that two bands read."""

from collections.abc import Iterator, Sequence

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.groups.batches import WHOLE, Batches
from npuc.dialects.tensors import shape_of

HALOS = ("keep", "recompute")
"""What becomes of rows that two bands need: they stay in SPM, or each band computes and reads them."""


@frozen
class RowWalk:
    """
    Bands of `rows` of all `height` rows along an axis of the results, the last of which may have fewer.

    `keep`: what a band has computed or loaded and a later one reads as well stays in SPM; otherwise each band computes
    all that it needs.
    """

    rows: int
    height: int
    axis: int
    keep: bool

    @property
    def count(self) -> int:
        """The number of bands."""
        return -(-self.height // self.rows)

    @property
    def halo(self) -> str:
        """The word for what becomes of rows that two bands need."""
        return HALOS[not self.keep]

    def bands(self) -> Iterator[tuple[int, int]]:
        """The first row of each band, and the one after its last."""
        for start in range(0, self.height, self.rows):
            yield start, min(start + self.rows, self.height)

    def __str__(self) -> str:
        return f"rows {self.rows} of {self.height} axis {self.axis} {self.halo}"


def check_walk(walk: RowWalk, batches: Batches, results: Sequence[SSAValue], joins: Sequence[int]) -> None:
    """Raise for bands that are none of the rows of one sample, or of results that have no such rows."""
    if batches.micro != 1:
        raise VerifyException(f"micro {batches.micro}: rows are walked of one sample at a time")
    if not 1 <= walk.rows <= walk.height:
        raise VerifyException(f"rows {walk.rows} of {walk.height}: expected 1 to {walk.height}")
    for number, (value, join) in enumerate(zip(results, joins, strict=True)):
        if join == WHOLE:
            raise VerifyException(f"result {number} is a sum: a group that walks rows has none")
        if not 0 <= walk.axis < len(shape_of(value)) or walk.axis == join:
            raise VerifyException(f"result {number} has no rows along axis {walk.axis}")
    if all(shape_of(value)[walk.axis] != walk.height for value in results):
        raise VerifyException(f"rows {walk.rows} of {walk.height}: no result has so many along axis {walk.axis}")
