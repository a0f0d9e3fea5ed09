"""Pictures of blocks one below the other, each axes of a height or lines of text: as high as the blocks need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from npuc.compiler.core.drawing.figure import EDGE, LETTERS, LINE, WIDTH, Axes, Figure, head_height, lines_of, picture
from npuc.compiler.core.drawing.palette import INK, QUIET


@dataclass(frozen=True)
class Block:
    """
    Axes that `draw` fills: their height, the room above (for a title), below (for ticks and their name) and beside
    them, in inches.
    """

    height: float
    draw: Callable[[Axes], object]
    above: float = 0.0
    below: float = 0.0
    left: float = 0.95
    right: float = 0.2

    def measure(self, width: float) -> float:
        """The height with its room."""
        del width
        return self.above + self.height + self.below

    def place(self, figure: Figure, top: float, size: tuple[float, float]) -> None:
        """Draw it, `top` inches below the upper edge."""
        width, height = size
        low = height - top - self.above - self.height
        across = width - self.left - self.right
        self.draw(figure.add_axes((self.left / width, low / height, across / width, self.height / height)))


@dataclass(frozen=True)
class Words:
    """Lines of text over the width of the picture, the first one in bold if it is a `heading`."""

    heading: str
    text: str = ""
    above: float = 0.0
    lines: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]], init=False, compare=False)

    def measure(self, width: float) -> float:
        """The height of the lines."""
        room = width - 2 * EDGE
        self.lines[:] = [(line, True) for line in (lines_of(self.heading, room, bold=True) if self.heading else ())]
        self.lines.extend((line, False) for line in (lines_of(self.text, room) if self.text else ()))
        return self.above + LINE * len(self.lines)

    def place(self, figure: Figure, top: float, size: tuple[float, float]) -> None:
        """Write them."""
        at = top + self.above
        for line, bold in self.lines:
            style: dict[str, object] = {"fontweight": "bold", "color": INK} if bold else {"color": QUIET}
            x, y = EDGE / size[0], 1 - at / size[1]
            figure.text(x, y, line, va="top", ha="left", fontsize=LETTERS, **style)
            at += LINE


def stack(kind: str, blocks: Sequence[Block | Words], *, title: str, about: str = "", width: float = WIDTH) -> bytes:
    """Blocks one below the other as a file of a kind."""
    heights = [block.measure(width) for block in blocks]
    head = head_height(width, title, about)
    size = width, head + sum(heights) + EDGE

    def fill(figure: Figure) -> None:
        top = head
        for block, height in zip(blocks, heights, strict=True):
            block.place(figure, top, size)
            top += height

    return picture(kind, size, fill, title=title, about=about, layout=None)
