"""
The record of a search: what mappers were told of their candidates, so that a search can go on where it ended.

    # npuc map 1
    {"search": "0f31…", "from": 2048, "costs": "AAAA…", "crc": 12345}

A line has the costs, float64 in base64, of the candidates of one contraction from a number on; `search` is a hash of
all that its candidates depend on, and `crc` the CRC-32 of what the line says. Mappers propose the same candidates for
the same costs, so costs are all that is needed. Several processes append to one file; a line that was cut off when one
of them was ended, or that is damaged, is left out, and its candidates are evaluated again.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.files.lock import lock
from npuc.compiler.core.files.outputs import cannot_write


@dataclass(frozen=True)
class RecordKind:
    """A verb's records; searches that differ in `differs` cannot go on from one, those that differ in `free` can."""

    verb: str
    differs: str
    free: str

    @property
    def head(self) -> str:
        """The first line."""
        return head_of(self.verb)


MAPS = RecordKind("map", "source, machine, constraints, mapper, seed or space", "--budget, -j and outputs")


def head_of(verb: str) -> str:
    """The first line of a verb's records."""
    return f"# npuc {verb} 1\n"


def append_costs(path: str, search: str, start: int, costs: Floats) -> None:
    """Append the costs of candidates from a number on. Raises `UsageError` where the file cannot be written."""
    text = base64.b64encode(costs.astype("<f8").tobytes()).decode()
    line = json.dumps({"search": search, "from": start, "costs": text, "crc": _crc(search, start, text)}) + "\n"
    try:
        with open(path, "ab", buffering=0) as stream:
            stream.write(line.encode())
    except OSError as e:
        raise cannot_write(path, e) from e


def read_costs(path: str) -> dict[str, Floats]:
    """The costs of each search that a record has, from the first candidate on."""
    parts: dict[str, list[Floats]] = {}
    with open(path, encoding="utf-8", errors="replace") as stream:
        for search, start, costs in _lines(stream):
            own = parts.setdefault(search, [])
            if sum(map(len, own)) == start:
                own.append(costs)
    return {search: np.concatenate(own) for search, own in parts.items() if own}


def _lines(lines: Iterable[str]) -> Iterator[tuple[str, int, Floats]]:
    for line in lines:
        if not line.endswith("\n") or not line.startswith("{"):
            continue
        try:
            row = cast(dict[str, Any], json.loads(line))
            if row["crc"] != _crc(row["search"], row["from"], row["costs"]):
                continue
            costs = np.frombuffer(base64.b64decode(row["costs"], validate=True), "<f8").astype(np.float64)
            yield str(row["search"]), int(row["from"]), costs
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError, binascii.Error):
            continue


def _crc(search: str, start: int, costs: str) -> int:
    """The CRC-32 of what a line says."""
    return zlib.crc32(f"{search} {start} {costs}".encode("utf-8", "replace"))


class RecordFile:
    """
    A record that a search continues, a context in which no other search writes it.

    `costs` are those that it had. Raises `UsageError` where it cannot be written, is no record, or belongs to searches
    none of which is among `searches`.
    """

    def __init__(self, path: str, searches: Iterable[str], kind: RecordKind = MAPS):
        self.path, self._searches, self._kind = path, frozenset(searches), kind
        self.costs: dict[str, Floats] = {}

    def __enter__(self) -> Self:
        try:
            self._stream = open(self.path, "a+b")
        except (OSError, ValueError) as e:
            raise cannot_write(self.path, e) from e
        try:
            if not stat.S_ISREG(os.fstat(self._stream.fileno()).st_mode):
                raise UsageError(f"--resume {self.path}: a record needs a file", hint="give --resume a new name")
            lock(
                self._stream.fileno(),
                UsageError(
                    f"another search is writing '{self.path}'", hint="wait for it, or give --resume another name"
                ),
            )
            self._begin()
        except BaseException:
            self._stream.close()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        self._stream.close()

    def _begin(self) -> None:
        self._stream.seek(0)
        wanted = self._kind.head.encode()
        head = self._stream.read(len(wanted))
        if len(head) < len(wanted) and wanted.startswith(head):  # empty, or cut off within its first line
            self._stream.truncate(0)
            self._stream.write(wanted)
            self._stream.flush()
            return
        self.costs = read_costs(self.path)
        if head != wanted:
            raise UsageError(
                f"'{self.path}' is no record of a search: its first line is not '{self._kind.head.strip()}'",
                hint="give --resume a new name",
            )
        if self.costs and not self._searches & self.costs.keys():
            raise UsageError(
                f"'{self.path}' was begun with another {self._kind.differs}",
                hint=f"give --resume a new name; {self._kind.free} may differ",
            )
        self._stream.seek(0, os.SEEK_END)
        self._stream.seek(-1, os.SEEK_CUR)
        if self._stream.read(1) != b"\n":  # what a process was writing when it was ended
            self._stream.write(b"\n")
            self._stream.flush()


def damaged(reason: str) -> UsageError:
    """The error of a record whose costs are not those of its candidates."""
    return UsageError(f"the record of --resume is damaged: {reason}", hint="give --resume a new name")
