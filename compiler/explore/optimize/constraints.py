"""
Constraints of points: a metric, a comparison, a number, as in `area < 10`; several are joined by commas or `and`.

    time <= 5e-3, area < 10

Numbers are in the units of a sweep's columns: seconds, joules, bytes, watts, mm2, US dollars; a suffix may say another
(`time < 5 ms`, `memory < 2 GiB`, `energy < 30 mJ`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nextafter

from npuc.compiler.core.errors import Location, UsageError, did_you_mean
from npuc.compiler.explore.optimize.metrics import metric_of
from npuc.compiler.explore.plot.metrics import Metric, Numbers

NAME = "--constraint"
COMPARISONS = ("<=", ">=", "<", ">")
UNITS: dict[str, float] = {
    **{"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9},
    **{"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "µJ": 1e-6, "nJ": 1e-9, "W": 1.0, "mW": 1e-3},
    **{"B": 1.0, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3, "kB": 1e3, "MB": 1e6, "GB": 1e9},
    **{"mm2": 1.0, "USD": 1.0, "%": 0.01},
}
_TOKEN = re.compile(r"\s*(?:(?P<sign><=|>=|==|!=|=|<|>)|(?P<word>[^\s<>=!,]+)|(?P<comma>,))", re.ASCII)
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(.*)", re.ASCII)


@dataclass(frozen=True)
class MetricConstraint:
    """A metric that is to lie from `least` to `most`, both allowed; `text` is how it was written."""

    metric: Metric
    least: float
    most: float
    text: str

    def excess(self, numbers: Numbers) -> float | None:
        """How far a point is outside, as a share of the limit; 0 inside, None where the metric is not known."""
        amount = self.metric.of(numbers)
        return None if amount is None else self.beyond(amount)

    def beyond(self, amount: float) -> float:
        """The same of an amount."""
        limit = self.most if amount > self.most else self.least
        return 0.0 if self.least <= amount <= self.most else abs(amount - limit) / (abs(limit) or 1.0) or inf


def read_constraints(texts: Sequence[str]) -> tuple[MetricConstraint, ...]:
    """The constraints of texts. Raises `UsageError` with the place of what is wrong."""
    return tuple(one for text in texts for one in _Reader(text).constraints())


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int


class _Reader:
    """Reads one text from its beginning to its end."""

    def __init__(self, text: str):
        self._text, self._at = text, 0
        self._tokens = list(self._split())

    def _split(self) -> Iterator[_Token]:
        at = 0
        while at < len(self._text.rstrip()):
            found = _TOKEN.match(self._text, at)
            if found is None:
                raise self._error("expected a comparison like area < 10", at)
            kind = str(found.lastgroup)
            yield _Token(kind, found.group(kind), found.start(kind))
            at = found.end()

    def constraints(self) -> Iterator[MetricConstraint]:
        """All of them."""
        while True:
            yield self._one()
            if self._at == len(self._tokens):
                return
            joint = self._next("',' or 'and'")
            if joint.text not in (",", "and"):
                raise self._error(f"found '{joint.text}', expected ',' or 'and'", joint.start)

    def _one(self) -> MetricConstraint:
        name = self._next("a metric")
        if name.kind != "word":
            raise self._error(f"found '{name.text}', expected a metric", name.start)
        sign = self._next("<, <=, > or >=")
        if sign.text not in COMPARISONS:
            raise self._error(f"found '{sign.text}', expected <, <=, > or >=", sign.start)
        metric = metric_of(name.text, NAME, self._place(name.start), self._text)
        limit = self._limit()
        written = " ".join(self._text[name.start : self._end()].split())
        if sign.text == "<":
            return MetricConstraint(metric, -inf, nextafter(limit, -inf), written)
        if sign.text == ">":
            return MetricConstraint(metric, nextafter(limit, inf), inf, written)
        return MetricConstraint(metric, *((-inf, limit) if sign.text == "<=" else (limit, inf)), written)

    def _limit(self) -> float:
        """A number, with its unit if there is one."""
        token = self._next("a number")
        found = _NUMBER.fullmatch(token.text) if token.kind == "word" else None
        if found is None or not isfinite(float(found.group(1))):
            raise self._error(f"found '{token.text}', expected a number", token.start)
        unit, start = found.group(2), token.start + len(found.group(1))
        if not unit and self._at < len(self._tokens):
            following = self._tokens[self._at]
            if following.kind == "word" and following.text != "and":
                unit, start, self._at = following.text, following.start, self._at + 1
        if unit and unit not in UNITS:
            raise self._error(f"there is no unit '{unit}'", start, did_you_mean(unit, list(UNITS)))
        return float(found.group(1)) * UNITS.get(unit, 1.0)

    def _end(self) -> int:
        last = self._tokens[self._at - 1]
        return last.start + len(last.text)

    def _next(self, expected: str) -> _Token:
        if self._at == len(self._tokens):
            raise self._error(f"it ends where {expected} is expected", len(self._text.rstrip()))
        self._at += 1
        return self._tokens[self._at - 1]

    def _place(self, start: int) -> Location:
        return Location(NAME, 1, start + 1)

    def _error(self, message: str, start: int, hint: str | None = None) -> UsageError:
        return UsageError(
            message, location=self._place(start), source_line=self._text, hint=hint or 'for example "area < 10"'
        )
