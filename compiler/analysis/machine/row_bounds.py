"""Lower bounds of the compute cycles of a row-stationary array, over all schedules or over those of small tiles."""

from collections.abc import Mapping, Sequence
from math import prod

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.row_choice import choices, row_stationary
from npuc.compiler.analysis.machine.row_roles import roles_of
from npuc.compiler.analysis.machine.row_stationary import PassMapping, RowStationary, crossing
from npuc.compiler.analysis.nest.blocks import touched
from npuc.dialects.npu.nest import Nest, Statement


def row_cycles_lower_bound(nests: Sequence[Nest], array: Array, cores: int = 1) -> int:
    """
    A lower bound of the compute cycles of the busiest core for nests in one operation, over all schedules: the largest
    of all multiply-accumulates on all elements, and of every word once through its network.
    """
    own, words = row_stationary(array), [0, 0, 0]
    for nest in nests:
        for statement in nest.statements:
            roles = roles_of(nest, statement)
            for number, name in enumerate((roles.ifmap, roles.filter, roles.out)):
                words[number] += touched(nest.tensors[name], nest.sizes)
    ports = own.ifmap_port, own.filter_port, own.psum_port
    crossings = (crossing(count, port) for count, port in zip(words, ports, strict=True))
    macs = sum(nest.mac_passes for nest in nests)
    return -(-max(-(-macs // array.elements), *crossings) // cores)


def cycles_of_small_tiles(nest: Nest, array: Array, largest: Mapping[str, int]) -> int:
    """
    A lower bound of the cycles of all schedules whose tiles are at most so `largest` in each dimension; 0 for windows.

    That of the busiest resource (`row_choice.busiest`) with each of its factors at its least: a tile has at least one
    pass for its filters and its channels, and so many full passes are needed in all.
    """
    return sum(_of_statement(nest, statement, array, largest) for statement in nest.statements)


def _of_statement(nest: Nest, statement: Statement, array: Array, largest: Mapping[str, int]) -> int:
    roles, own = roles_of(nest, statement), row_stationary(array)
    if roles.rows is not None or roles.taps is not None:
        return 0
    images, filters, channels = (
        (prod(nest.sizes[d] for d in dims), prod(-(-nest.sizes[d] // largest[d]) for d in dims))
        for dims in (roles.images, roles.filters, roles.channels)
    )
    least = min(
        _under(mapping, own, images, filters, channels, roles.passes) for mapping in _mappings(nest, statement, array)
    )
    return least * prod(nest.sizes[d] for d in roles.batch)


def _mappings(nest: Nest, statement: Statement, array: Array) -> tuple[PassMapping, ...]:
    """The mapping that the array is configured with, or those to choose from."""
    own = row_stationary(array)
    return (own.mappings[nest.statements.index(statement)],) if own.mappings else choices(nest, statement, array)


def _under(
    mapping: PassMapping,
    own: RowStationary,
    images: tuple[int, int],
    filters: tuple[int, int],
    channels: tuple[int, int],
    passes: int,
) -> int:
    """The bound for one image of a batch under a mapping; of images, filters and channels the size and tiles."""
    all_images, alone = images
    filter_turns, filter_passes = _turns(*filters, mapping.filter_sets, mapping.filters)
    channel_turns, channel_passes = _turns(*channels, mapping.channel_sets, mapping.channels)
    single = passes * alone * filter_turns * channel_turns
    last = crossing(alone * filters[0] * channel_passes, own.psum_port)
    weights = crossing(alone * filters[0] * channels[0], own.filter_port)
    inputs = crossing(all_images * filter_passes * channels[0], own.ifmap_port)
    sums = crossing(all_images * filters[0] * channel_passes, own.psum_port)
    steady = passes * all_images * filter_turns * channel_turns
    return max(weights + steady + last, inputs + single + last, weights + sums + single)


def _turns(size: int, tiles: int, sets: int, most: int) -> tuple[int, int]:
    """The least of what the largest sets have, summed over passes, and of passes, of filters or channels."""
    turns = -(-size // sets)
    return max(turns, tiles), max(-(-turns // most), tiles)
