"""By which bands a group walks rows: the tallest ones that fit, halos kept or computed again."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from npuc.compiler.analysis.fusion.rows.bands import RowError, RowProgram, bands_of
from npuc.compiler.analysis.fusion.rows.program import program_of
from npuc.compiler.transforms.fuse_layers.chain import ChainStep
from npuc.compiler.transforms.fuse_layers.frame import Frame
from npuc.compiler.transforms.fuse_layers.layout import SHARES, Design
from npuc.compiler.transforms.fuse_layers.rows import AXIS, RowCosts, RowLayout, walked_by
from npuc.dialects.npu.groups.walk import HALOS, RowWalk
from npuc.dialects.tensors import shape_of

TALLEST = 3
"""How many heights of bands are priced of those that fit [our choice]: shorter ones read weights more often."""


def row_program(frame: Frame, steps: Mapping[int, ChainStep]) -> RowProgram:
    """The rows of the members of a frame, whose results are what leaves the group."""
    ops = [steps[number].op for number in frame.members]
    inside = set(ops)
    results = [v for op in ops for v in op.results if any(use.operation not in inside for use in v.uses)]
    return program_of(ops, results, AXIS)


def heights(height: int) -> Iterator[int]:
    """The rows of bands that are tried, the tallest first: a half, a third, a quarter, a sixth and so on of all."""
    parts = sorted(part for power in range(1, height.bit_length()) for part in (2**power, 3 * 2 ** (power - 1)))
    yield from dict.fromkeys(-(-height // part) for part in parts if part <= height)


def leaves_rows_out(frame: Frame, steps: Mapping[int, ChainStep]) -> bool:
    """Whether walks of a frame's rows may leave out some that no member reads: between strides, or at the end."""
    try:
        program = row_program(frame, steps)
        height = shape_of(steps[frame.members[-1]].op.results[0])[AXIS]
        (band,) = bands_of(program, RowWalk(height, height, AXIS, keep=True))
    except (RowError, IndexError):
        return False
    apart = any(one is not None and one.stride > one.span for step in program.steps.values() for one in step.reads)
    return apart or any(band.made.get(op) != (0, one.height) for op, one in program.steps.items())


class RowSearch:
    """The best group of a frame that walks rows."""

    def __init__(self, designs: RowCosts, frame: Frame, first: int):
        self.designs, self.frame, self.first = designs, frame, first
        self.layouts: dict[RowWalk, list[RowLayout]] = {}

    def best(self, halos: Sequence[str], limit: float) -> Design | None:
        """The best group; None where none fits and scores below a limit, or its members are not row-wise."""
        steps = {number: self.designs.chain.steps[self.first + number] for number in self.frame.members}
        shape = shape_of(steps[self.frame.members[-1]].op.results[0])
        if len(shape) <= AXIS or shape[AXIS] < 2 or any(value.is_sum for value in self.frame.values):
            return None
        try:
            program = row_program(self.frame, steps)
        except RowError:
            return None
        best: Design | None = None
        for halo in halos:
            for layout in self._tallest(program, shape[AXIS], halo == HALOS[0]):
                found = layout.best_design(limit)
                if found is not None:
                    best, limit = found, found.cost.score(self.designs.objective)
        return best

    def _tallest(self, program: RowProgram, height: int, keep: bool) -> Iterator[RowLayout]:
        """What is in SPM by the tallest bands that fit, and by the tallest beside which all weights may be held."""
        walks = [RowWalk(rows, height, AXIS, keep) for rows in heights(height)]
        weights = sum(value.bytes for value in self.frame.values if value.whole)
        share, of = SHARES[-1]

        def fits(walk: RowWalk, beside: int) -> bool:
            return any(one.free > 0 and one.free * share // of >= beside for one in self._layouts(program, walk))

        tallest = [bisect_left(walks, True, key=lambda walk: fits(walk, beside)) for beside in (0, weights)]
        for number in dict.fromkeys([*range(tallest[0], tallest[0] + TALLEST), tallest[1]]):
            for walk in walks[number : number + 1]:
                yield from self._layouts(program, walk)

    def _layouts(self, program: RowProgram, walk: RowWalk) -> list[RowLayout]:
        """What is in SPM by a walk: with operands that stay, where two bands read one, and without."""
        if walk not in self.layouts:
            found: list[RowLayout] = []
            try:
                walked = walked_by(program, walk)
                for keeps in (False, True) if walk.keep else (False,):
                    layout = RowLayout(self.designs, self.frame, self.first, walked, keeps_operands=keeps)
                    found += [layout] if layout.kept or not keeps else []
            except RowError:
                found = []
            self.layouts[walk] = found
        return self.layouts[walk]
