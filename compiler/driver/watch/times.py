"""What `--time-passes` shows: how long each pass took, and how many operations it left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter, process_time

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.core.cache import reads
from npuc.compiler.core.frozen import frozen
from npuc.compiler.driver.watch.watcher import Watcher


@frozen
class PassTime:
    """What a pass took in seconds, of the clock and of the processor, and the operations before and after it."""

    step: str
    wall: float
    cpu: float
    operations: tuple[int, int]


@dataclass
class Times(Watcher):
    """Measures passes, and tells of all of them at the end; counting operations is no part of what is measured."""

    say: Callable[[str], None]
    done: list[PassTime] = field(default_factory=list[PassTime])
    start: tuple[float, float, int] = field(default=(0.0, 0.0, 0), init=False)

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        """Begin to measure."""
        count = _operations(module)
        self.start = perf_counter(), process_time(), count

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        """Take the time."""
        wall, cpu = perf_counter(), process_time()
        self.done.append(
            PassTime(str(step), wall - self.start[0], cpu - self.start[1], (self.start[2], _operations(module)))
        )

    def finish(self) -> None:
        """Tell of all passes: a line each, the longest share readable at a glance."""
        reads.refuse("times are told")
        whole = sum(one.wall for one in self.done)
        lines = ["// passes:   wall s    cpu s  share  operations"]
        for one in self.done:
            share = one.wall / whole if whole else 0.0
            old, new = one.operations
            counts = f"{new:,}" if old == new else f"{old:,} -> {new:,}"
            lines.append(f"//        {one.wall:9.4f}{one.cpu:9.4f}  {share:5.1%}  {counts}  {one.step}")
        lines.append(f"//        {whole:9.4f}{sum(one.cpu for one in self.done):9.4f}  {1:5.0%}  in all")
        self.say("\n".join(lines))


def _operations(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk()) - 1
