"""An estimate of what waits for the loads of candidates that cannot start early enough, as arrays."""

import numpy as np

from npuc.compiler.analysis.schedule.grid.nest_tables import OptionsAt, OptionTables
from npuc.compiler.analysis.schedule.grid.space import Grid, Reals
from npuc.compiler.core.frozen import frozen


@frozen(eq=False)
class RefetchedLoads:
    """
    The loads of candidates, given their rows among the choices and their positions as numbers (`step`) into `at`.

    Each level of the loop order loads the blocks that are refetched there, of each tensor the average traffic of a
    visit.
    """

    options: OptionTables
    at: OptionsAt
    row: Grid
    step: Grid

    def exposed(self, work: Reals, overhead: float, room: int, rate: float, least: float) -> tuple[Reals, Reals, Reals]:
        """
        An estimate of the cycles in which computation waits for loads that could not start early enough, of the cycles
        after the last load, and the sum of the squares of all loads.

        A load may overlap the operations before it as far as their own loads, of `least` or more, leave room in SPM;
        computation, `work` cycles of which operations pay `overhead` once, waits for the rest. Room, loads and `rate`,
        a cycle, count the same parts of a bit.
        """
        choices, at, step = self.options.choices, self.at, self.step
        options, depths = choices.columns[self.row].T, len(self.options.shape) + 1
        levels, first = at.levels[options, step], choices.order[self.row] * depths
        innermost = levels.max(axis=0)
        # The number of visits at each level.
        steps = [at.visits[first + depth, step] for depth in range(depths)]
        block = at.moved[options, step] - self.options.untouched[options]
        block /= at.visits[first + levels, step]
        stream = least + (block * (levels == innermost)).sum(axis=0)
        between = (work - overhead) / at.visits[first + innermost, step]
        waited, uneven = np.zeros(len(work)), np.zeros(len(work))
        for depth in range(1, depths):
            size = (block * (levels >= depth)).sum(axis=0)
            hidden = np.maximum(np.floor((room - size) / stream), 0.0) * between
            loads = steps[depth] - steps[depth - 1]
            waited += loads * np.maximum(size / rate - hidden, 0.0)
            uneven += loads * size * size
        return waited, between + overhead, uneven
