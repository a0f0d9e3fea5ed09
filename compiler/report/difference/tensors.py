"""What bytes say of why two parts of a layer differ: which tensors move more, what stays on the chip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from npuc.compiler.report.difference.between import Rows
from npuc.compiler.report.difference.document import DiffReason
from npuc.compiler.report.sections import FusedFacts, ResidencyFacts, UnmovedFacts, UnstoredFacts
from npuc.compiler.report.text.quantities import bytes_cell
from npuc.compiler.report.text.signed import times

SHOWN = 2
"""Of the tensors that move more or less so many are named."""
PROGRAMS = {"fused": "fused in one nest", "zip": "interleaved in turn"}


def says_bytes(*sides: Rows) -> bool:
    """Whether all sides say what they move."""
    return all(
        any(row.dram_read_bytes is not None or row.dram_write_bytes is not None for row in rows) for rows in sides
    )


def moved_bytes(rows: Rows) -> int:
    """Bytes between DRAM and the chip; 0 of rows that do not say it, too."""
    return sum(row.repeat * ((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)) for row in rows)


def tensor_bytes(rows: Rows) -> dict[str, int]:
    """Bytes by tensor; those of vector work, whose tensors have numbers, are what it reads and writes."""
    found: dict[str, int] = {}
    for row in rows:
        for name, tensor in row.tensors.items():
            own = name
            if row.kind != "matrix" and name.rstrip("0123456789") in ("in", "out"):
                own = "vector inputs" if name.startswith("in") else "vector results"
            found[own] = found.get(own, 0) + row.repeat * (tensor.read_bytes + tensor.write_bytes)
    return found


def more_or_less(a: float, b: float) -> str:
    """An amount of bytes and its direction: 12.0 MiB less."""
    return f"{bytes_cell(abs(b - a))} {'more' if b > a else 'less'}"


def traffic(a: Rows, b: Rows, *, by_tensor: bool) -> Iterator[DiffReason]:
    """Other amounts of data: in one ratio for all tensors, or `by_tensor` with those that differ most."""
    before, after = moved_bytes(a), moved_bytes(b)
    if before == after:
        return
    own_a, own_b = (tensor_bytes(a), tensor_bytes(b)) if by_tensor else ({}, {})
    if before and _in_one_ratio(own_a, own_b, before, after):
        text = f"{times(before, after)} the bytes of each tensor"
    else:
        changes = {name: (own_a.get(name, 0), own_b.get(name, 0)) for name in {**own_a, **own_b}}
        most = sorted(changes.items(), key=lambda one: (-abs(one[1][1] - one[1][0]), one[0]))
        told = [f"{name} {more_or_less(*pair)}" for name, pair in most[:SHOWN] if pair[0] != pair[1]]
        text = ", ".join(told) if told else f"{more_or_less(before, after)} moved"
        text += f" (in all {more_or_less(before, after)})" if len(told) > 1 else ""
    yield DiffReason(kind="traffic", a=before, b=after, text=text)


def _in_one_ratio(a: Mapping[str, int], b: Mapping[str, int], before: int, after: int) -> bool:
    return a.keys() == b.keys() and len(a) > 1 and all(b[name] * before == a[name] * after for name in a)


def interleaving(a: Rows, b: Rows) -> Iterator[DiffReason]:
    """Contractions that run together in one report alone, or in another way."""
    before, after = _programs(a), _programs(b)
    if before == after:
        return
    if after:
        text = f"gradients {PROGRAMS.get(after, f'{after} together')}"
    else:
        text = f"gradients one after another, not {PROGRAMS.get(before, before)}"
    yield DiffReason(kind="interleaving", a=before or "sequential", b=after or "sequential", text=text)


def _programs(rows: Rows) -> str:
    """How gradients are interleaved; empty where they are not."""
    found = {row.schedule.program for row in rows if row.schedule is not None} - {"sequential"}
    return ", ".join(sorted(found))


def fusion(a: Rows, b: Rows) -> Iterator[DiffReason]:
    """Vector work that runs on the blocks of a product in one report alone."""
    before, after = _fused(a), _fused(b)
    if before != after:
        gone, come = ", ".join(sorted({*before} - {*after})), ", ".join(sorted({*after} - {*before}))
        text = f"{come} fused into the product" if come else f"{gone} not fused into the product"
        yield DiffReason(kind="fusion", a=", ".join(before) or None, b=", ".join(after) or None, text=text)
    unstored_a, unstored_b = (_not_stored(rows) for rows in (a, b))
    if unstored_a != unstored_b:
        more = unstored_b > unstored_a
        text = f"{bytes_cell(abs(unstored_b - unstored_a))} {'more' if more else 'less'} of the result not stored"
        yield DiffReason(kind="fusion", a=unstored_a, b=unstored_b, text=text)


def _fused(rows: Rows) -> list[str]:
    known = (FusedFacts.found_in(row) for row in rows)
    return sorted({facts.fused for facts in known if facts is not None})


def _not_stored(rows: Rows) -> int:
    known = ((row.repeat, UnstoredFacts.found_in(row)) for row in rows)
    return sum(n * facts.not_stored_bytes for n, facts in known if facts is not None)


def residency(a: Rows, b: Rows) -> Iterator[DiffReason]:
    """Values that stay on the chip in one report alone."""
    before, after = (_not_moved(rows) for rows in (a, b))
    tensors_a, tensors_b = (_residents(rows) for rows in (a, b))
    if before == after and tensors_a == tensors_b:
        return
    names = ", ".join(sorted(tensors_a ^ tensors_b)) or "values"
    stays = len(tensors_b) > len(tensors_a) if tensors_a != tensors_b else after > before
    amount = f" ({bytes_cell(abs(after - before))} {'not moved' if after > before else 'moved'})" * (before != after)
    text = f"{names} {'stay' if stays else 'do not stay'} on the chip{amount}"
    yield DiffReason(kind="residency", a=before, b=after, text=text)


def _not_moved(rows: Rows) -> int:
    known = ((row.repeat, UnmovedFacts.found_in(row)) for row in rows)
    return sum(n * facts.not_moved_bytes for n, facts in known if facts is not None)


def _residents(rows: Rows) -> frozenset[str]:
    known = (ResidencyFacts.found_in(row) for row in rows)
    return frozenset(
        name
        for facts in known
        if facts is not None
        for name in (*(facts.resident_in or ()), *(facts.resident_out or ()))
    )
