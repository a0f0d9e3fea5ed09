"""
The mesh of devices that a function runs on, and how devices are numbered.

    func.func @step(…) attributes {dist.mesh = #dist.mesh<[2, 2, 2]>} { … }

A mesh has levels, the outermost first. Each splits every group of devices of the level above into equal parts; the
coordinates of a device are its part at each level, and its number is the mixed-radix number of these digits, level 0
the most significant.
"""

from collections.abc import Iterable, Sequence
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.core.frozen import frozen

MESH = "dist.mesh"
"""The attribute of a function that holds its mesh."""
MAX_DEVICES = 1 << 16
"""The most devices that a mesh may have."""


@frozen
class Mesh:
    """Devices in levels: the number of parts into which each level splits a group, outermost first."""

    sizes: tuple[int, ...]

    @property
    def devices(self) -> int:
        """The number of devices."""
        return prod(self.sizes)

    @property
    def levels(self) -> range:
        """The numbers of the levels."""
        return range(len(self.sizes))

    def coordinates(self, device: int) -> tuple[int, ...]:
        """The part that a device is in at each level."""
        digits: list[int] = []
        for size in reversed(self.sizes):
            device, digit = divmod(device, size)
            digits.append(digit)
        return tuple(reversed(digits))

    def device(self, coordinates: Iterable[int]) -> int:
        """The number of the device with these coordinates: the inverse of `coordinates`."""
        number = 0
        for size, digit in zip(self.sizes, coordinates, strict=True):
            number = number * size + digit
        return number

    def parts(self, levels: Iterable[int]) -> int:
        """The number of parts into which some levels together split."""
        return prod(self.sizes[level] for level in levels)

    def groups(self, level: int) -> tuple[tuple[int, ...], ...]:
        """The groups of devices that differ in their part at a level only, ordered by that part."""
        inner = self.parts(range(level + 1, len(self.sizes)))
        span = inner * self.sizes[level]
        return tuple(
            tuple(range(first + rest, first + rest + span, inner))
            for first in range(0, self.devices, span)
            for rest in range(inner)
        )

    def outside(self, level: int, within: Sequence[int] = ()) -> int:
        """The number of values of the digits before that of `level`, for an axis that levels `within` shard."""
        return self.parts(other for other in range(level) if other not in within)


@irdl_attr_definition
class MeshAttr(Data[Mesh]):
    """The mesh of a function, written `#dist.mesh<[2, 2, 2]>`."""

    name = "dist.mesh"

    def verify(self) -> None:
        sizes = self.data.sizes
        if not sizes:
            raise VerifyException("the mesh has no levels, expected one or more")
        for size in sizes:
            if size < 2:
                raise VerifyException(f"a level of the mesh has {size} parts, expected 2 or more")
        if self.data.devices > MAX_DEVICES:
            raise VerifyException(f"the mesh has {self.data.devices:,} devices, expected up to {MAX_DEVICES:,}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Mesh:
        with parser.in_angle_brackets():
            return Mesh(parse_integers(parser))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(list(self.data.sizes)))


def parse_integers(parser: AttrParser) -> tuple[int, ...]:
    """Parse `[2, 0]`."""
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False, allow_negative=False)
        )
    )


def mesh_of(func: FuncOp) -> Mesh | None:
    """The mesh that a function runs on; None where it runs on one device."""
    attr = func.attributes.get(MESH)
    return attr.data if isinstance(attr, MeshAttr) else None


def mesh_around(op: Operation) -> Mesh:
    """The mesh that an operation runs on. Raises VerifyException unless it stands in the body of a function on one."""
    func = op.parent_op()
    if not isinstance(func, FuncOp):
        place = "nowhere" if func is None else f"inside {func.name}"
        raise VerifyException(f"stands {place}, expected in the body of a function: all devices do it together")
    mesh = mesh_of(func)
    if mesh is None:
        raise VerifyException(f"stands in a function on one device, expected one with {MESH} = #dist.mesh<[…]>")
    return mesh
