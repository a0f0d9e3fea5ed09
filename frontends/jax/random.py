"""
Random numbers of JAX: keys, and the bits that a generator gives for them.

JAX spells its generators out in unsigned integers: Threefry-2x32 of 20 rounds (Salmon, Moraes, Dror, Shaw, "Parallel
random numbers: as easy as 1, 2, 3", SC 2011), or `rng_bit_generator`. A network computes with none of them: what is
drawn with such bits is a draw of the network's own, of the same distribution.

Draws of equal bits are one draw, so that the mask of a forward pass, which its backward pass draws again, has one seed.
Which bits are equal is found by computing them, as far as they are few, which keys are: with numbers that stand in for
the arguments, different ones for different arguments. Of many bits it is told by how they are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from math import prod

import numpy as np

from npuc.compiler.layers.base import Array
from npuc.frontends.jax.fold import KINDS, SHIFTS, folded, shifted
from npuc.frontends.jax.program import HloFunction, HloModule, HloOp, HloType
from npuc.frontends.jax.values import Bits, Element, HloValue, Known
from npuc.frontends.script.weights import Refused

PARITY = 0x1BD11BDA
"""What Threefry combines the words of a key with by xor; Salmon et al. call it the key parity."""
FEW = 1024
"""The most unsigned integers that are computed."""


def is_unsigned(type: HloType) -> bool:
    """Whether a tensor has unsigned integers."""
    return type.element.startswith("ui")


def _is_small(type: HloType) -> bool:
    return type.element in KINDS and prod(type.shape) <= FEW


class Generator:
    """The random bits of one module."""

    def __init__(self, module: HloModule):
        self._module = module
        self._numbers: dict[object, int] = {}
        self._threefry: dict[str, bool] = {}
        self._given: dict[HloValue, Array] = {}

    def argument(self, made: HloValue, number: int) -> Element:
        """What an argument is: a key if it has unsigned integers."""
        type = made.type
        integers = type.element.lstrip("ui").isdigit()
        array = _stand_in(b"argument %d" % number, type) if integers and _is_small(type) else None
        if is_unsigned(type):
            return self._bits(("argument", number), type, False, array)
        if array is not None:
            self._given[made] = array
        return made

    def is_threefry(self, function: HloFunction) -> bool:
        """Whether a function computes Threefry: of unsigned integers others, with the parity of its keys."""
        if function.name not in self._threefry:
            self._threefry[function.name] = self._computes_threefry(function)
        return self._threefry[function.name]

    def _computes_threefry(self, function: HloFunction) -> bool:
        body, types = function.body, self._module.types
        results = [number for op in body.ops if op.kind == "return" for number in op.operands]
        if len(body.arguments) != 4 or len(results) != 2:
            return False
        if not all(is_unsigned(types[number]) for number in (*body.arguments, *results)):
            return False
        return any(_is_parity(op) for op in body.ops)

    def threefry(self, types: Sequence[HloType], operands: Sequence[Element]) -> list[Element]:
        """What a function that computes Threefry gives of many numbers."""
        key = ("threefry", *map(self._key, operands))
        return [self._bits((key, place), type, True, None) for place, type in enumerate(types)]

    def few(self, operands: Sequence[Element]) -> list[Element] | None:
        """Operands as bits that are computed; None where they are too many."""
        arrays = [self._array(one) for one in operands]
        known = [(one.type, array) for one, array in zip(operands, arrays, strict=True) if array is not None]
        return [self._bits(None, type, True, array) for type, array in known] if len(known) == len(arrays) else None

    def computed(self, op: HloOp, types: Sequence[HloType], operands: Sequence[Element]) -> list[Element] | None:
        """Results of unsigned integers; None where there are others. Raises `Refused`."""
        if not types or not all(map(is_unsigned, types)):
            return None
        bits = [one for one in operands if isinstance(one, Bits)]
        generates = op.kind == "rng_bit_generator" or "threefry" in op.texts.get("call_target_name", "")
        drawn = generates or any(one.drawn for one in bits)
        drawn = drawn or (op.kind == "xor" and any(isinstance(one, Known) and one.scalar == PARITY for one in operands))
        found: list[Array | None] = [None] * len(types)
        arrays = [array for one in operands if (array := self._array(one)) is not None]
        if len(arrays) == len(operands):
            seed = repr((op.name, _attributes(op))).encode() + b"".join(map(_digest, arrays))
            if generates:
                found = [
                    _stand_in(b"%d" % place + seed, type) if _is_small(type) else None
                    for place, type in enumerate(types)
                ]
            elif len(types) == 1 and _is_small(types[0]):
                given = zip(arrays, operands, strict=True)
                found = [_computed(op, types[0], [Known(array, one.type.element) for array, one in given])]
        if op.kind == "dynamic_update_slice" and found[0] is None:
            raise Refused("found keys of random numbers that are kept, and computed of data", KEYS)
        key = (op.name, _attributes(op), *map(self._key, operands))
        results = enumerate(zip(types, found, strict=True))
        made = [self._bits((key, place), type, drawn, array) for place, (type, array) in results]
        return [_shaped(op, made[0], operands)] if len(made) == 1 else list(made)

    def _bits(self, key: object, type: HloType, drawn: bool, array: Array | None) -> Bits:
        """Bits with the number that equal ones have."""
        own = key if array is None else ("numbers", _digest(array))
        return Bits(type, self._numbers.setdefault((own, type), len(self._numbers) + 1), drawn, array)

    def _array(self, operand: Element) -> Array | None:
        """The numbers of an operand, or those that stand in for them; None where they are many, or computed."""
        if isinstance(operand, Known):
            return operand.array if operand.array.size <= FEW else None
        if isinstance(operand, Bits):
            return operand.array
        return self._given.get(operand) if isinstance(operand, HloValue) else None

    def _key(self, operand: Element) -> object:
        """What tells an operand from others: equal ones are the same."""
        if isinstance(operand, Bits):
            return operand.number
        if isinstance(operand, Known) and (scalar := operand.scalar) is not None:
            return (scalar, operand.type)
        array = self._array(operand)
        return operand if array is None else (_digest(array), operand.type)  # others by their identity


KEYS = "compute the keys of all turns before the loop: jax.random.split(key, n)"


def _stand_in(seed: bytes, type: HloType) -> Array:
    """Numbers that stand in for others: a function of the seed alone."""
    key = int.from_bytes(blake2b(seed, digest_size=16).digest(), "little")
    words = np.random.Philox(key=key).random_raw(prod(type.shape))
    return np.asarray(words).astype(KINDS[type.element]).reshape(type.shape)


def _digest(array: Array) -> bytes:
    return blake2b(array.tobytes(), digest_size=16).digest()


def _is_parity(op: HloOp) -> bool:
    dense = op.dense.get("value") if op.kind == "constant" else None
    return dense is not None and is_unsigned(HloType((), dense.element)) and dense.array().flat[0] == PARITY


def _attributes(op: HloOp) -> tuple[object, ...]:
    dense = ((name, one.kind, one.data) for name, one in op.dense.items())
    return (*((name, tuple(numbers)) for name, numbers in op.ints.items()), *op.texts.items(), *dense)


def _computed(op: HloOp, type: HloType, operands: Sequence[Known]) -> Array | None:
    """The result of an operation on a few integers; None for one that is not computed."""
    arrays = [one.array for one in operands]
    if op.kind == "iota":
        axis = op.ints["iota_dimension"][0]
        shape = [size if number == axis else 1 for number, size in enumerate(type.shape)]
        found = np.broadcast_to(np.arange(type.shape[axis], dtype=KINDS[type.element]).reshape(shape), type.shape)
    elif op.kind == "bitcast_convert":
        found = np.ascontiguousarray(arrays[0]).view(KINDS[type.element]).reshape(type.shape)
    elif op.kind in SHIFTS:
        found = shifted(op.kind, *arrays)
    elif op.kind == "dynamic_update_slice":
        found, update = arrays[0].copy(), arrays[1]
        starts = [int(one.flat[0]) for one in arrays[2:]]
        at = [min(max(one, 0), n - part) for one, n, part in zip(starts, found.shape, update.shape, strict=True)]
        found[tuple(slice(one, one + part) for one, part in zip(at, update.shape, strict=True))] = update
    else:
        known = folded(op, operands, [type])
        found = known[0].array if known and isinstance(known[0], Known) else None
    return None if found is None else found.astype(KINDS[type.element]).reshape(type.shape)


def _shaped(op: HloOp, made: Bits, operands: Sequence[Element]) -> Bits:
    """The bits that an operation gives, with what it does to them on the way to the mantissa of floats."""
    if op.kind not in ("shift_right_logical", "or") or len(operands) != 2:
        return made
    first, second = operands
    if isinstance(first, Known) and op.kind == "or":
        first, second = second, first
    number = second.scalar if isinstance(second, Known) else None
    if not isinstance(first, Bits) or number is None:
        return made
    shift, pattern = made.shift, made.pattern
    if op.kind == "or":
        pattern = None if first.shift is None else (first.shift, int(number))
    elif first.drawn:
        shift = int(number)
    return Bits(made.type, made.number, made.drawn, made.array, shift, pattern)
