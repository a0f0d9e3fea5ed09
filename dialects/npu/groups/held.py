"""What a group holds in SPM over all of its micro-batches."""

from collections.abc import Sequence

from xdsl.ir import SSAValue


class HoldsInSpm:
    """An operation whose body runs several times, with values in SPM from the first time to the last."""

    def held_values(self) -> Sequence[SSAValue]:
        """The arguments of the body that are resident throughout."""
        return ()

    def held_sums(self) -> Sequence[SSAValue]:
        """The values of the body that are summed over all times, of which the partial sums are resident throughout."""
        return ()

    def is_held_result(self, index: int) -> bool:
        """Whether the result with this number is such a sum."""
        return False

    def runs_by_bands(self) -> bool:
        """Whether its body is a whole sample and runs by bands of rows: what is in SPM then is said of the bands."""
        return False
