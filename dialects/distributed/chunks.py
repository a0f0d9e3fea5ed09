"""
The chunks of a collective, and the order in which each crosses the levels of the mesh.

    dist.chunks = #dist.chunks<scf 1 x [1, 0], 3 x [0, 1]>
    dist.chunks = #dist.chunks<listed [0, 1, 1, 0, …] 2 x [1, 0] back [1, 0]>

The operand is cut into equal chunks, here four. An all-reduce sums a chunk over the levels in its order, and gathers it
back the same way, unless `back` has another. Of the chunks that wait for the same links the first one goes first
(`fifo`) or the one with the least data (`scf`, smallest chunk first); or stages go as `listed`: each number is the next
stage of that chunk. Orders change when data move and not what is computed but for the rounding of sums.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal, get_args

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.core.frozen import frozen
from npuc.dialects.distributed.mesh import parse_integers

CHUNKS = "dist.chunks"
"""The attribute of a collective that holds its chunks; without it the operand moves as a whole."""
MAX_CHUNKS = 1 << 12
"""The most chunks of a collective."""
ChunkQueue = Literal["fifo", "scf", "listed"]
CHUNK_QUEUES: tuple[ChunkQueue, ...] = get_args(ChunkQueue)


@frozen
class Route:
    """The levels of the mesh that a chunk crosses, the first one first, and those of the way back of an all-reduce."""

    there: tuple[int, ...]
    back: tuple[int, ...]

    @staticmethod
    def and_back(there: Sequence[int]) -> "Route":
        """The route that comes back the way that it goes."""
        return Route(tuple(there), tuple(reversed(there)))


@frozen
class Chunks:
    """The route of each chunk, and which of those that wait goes first; `sequence` has the chunks of listed stages."""

    queue: ChunkQueue
    routes: tuple[Route, ...]
    sequence: tuple[int, ...] = ()

    def problems(self, over: Sequence[int], *, returns: bool) -> Iterator[str]:
        """What does not fit a collective over some levels, a sentence each; `returns`: there is a way back."""
        if not 1 <= len(self.routes) <= MAX_CHUNKS:
            yield f"{len(self.routes):,} chunks, expected 1 to {MAX_CHUNKS:,}"
            return
        for route in dict.fromkeys(self.routes):
            for way in (route.there, route.back):
                if sorted(way) != sorted(over):
                    yield f"a chunk crosses the levels {list(way)}, expected each of {list(over)} once"
                    return
            if not returns and route != Route.and_back(route.there):
                yield f"a chunk goes back over the levels {list(route.back)}, but the operation has one way"
                return
        wrong = next((number for number in self.sequence if number >= len(self.routes)), None)
        if wrong is not None:
            yield f"the listed stages name chunk {wrong}, there are chunks 0 to {len(self.routes) - 1}"

    def __str__(self) -> str:
        listed = f" {list(self.sequence)}" if self.queue == "listed" else ""
        return f"{self.queue}{listed} " + ", ".join(_text(route, len(list(own))) for route, own in groupby(self.routes))


def _text(route: Route, count: int) -> str:
    back = "" if route == Route.and_back(route.there) else f" back {list(route.back)}"
    return f"{count} x {list(route.there)}{back}"


@irdl_attr_definition
class ChunksAttr(Data[Chunks]):
    """The chunks of a collective, written `#dist.chunks<scf 1 x [1, 0], 3 x [0, 1]>`."""

    name = "dist.chunks"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Chunks:
        with parser.in_angle_brackets():
            queue: ChunkQueue | None = next(
                (known for known in CHUNK_QUEUES if parser.parse_optional_keyword(known)), None
            )
            if queue is None:
                parser.raise_error("expected fifo, scf or listed")
            sequence = parse_integers(parser) if queue == "listed" else ()
            runs = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _parse_run(parser))
            return Chunks(queue, tuple(route for count, route in runs for _ in range(count)), sequence)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))


def _parse_run(parser: AttrParser) -> tuple[int, Route]:
    """`3 x [0, 1]`, with or without a way back."""
    count = parser.parse_integer(allow_boolean=False, allow_negative=False)
    if count > MAX_CHUNKS:
        parser.raise_error(f"expected up to {MAX_CHUNKS:,} chunks")
    parser.parse_keyword("x")
    there = parse_integers(parser)
    if parser.parse_optional_keyword("back"):
        return count, Route(there, parse_integers(parser))
    return count, Route.and_back(there)


def check_chunks(attr: object, over: Sequence[int], *, returns: bool) -> None:
    """Raise `VerifyException` for an attribute that is not of chunks, or of those that do not fit a collective."""
    if not isinstance(attr, ChunksAttr):
        raise VerifyException(f"{CHUNKS} is {attr}, expected #dist.chunks<…>")
    for problem in attr.data.problems(over, returns=returns):
        raise VerifyException(f"{CHUNKS}: {problem}")
