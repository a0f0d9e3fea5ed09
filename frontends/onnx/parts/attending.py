"""What the operators of attention have in common: heads, masks, and the products between them."""

from __future__ import annotations

from dataclasses import dataclass, field

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.onnx.context import OnnxContext

FAR = {"f32": -3.4028234663852886e38, "f64": -1.7976931348623157e308, "f16": -65504.0, "bf16": -3.3895313892515355e38}
"""The lowest number of each type: added to a score, it leaves no weight."""


def head_axis(c: OnnxContext, x: Name, heads: int) -> Name:
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    batch, length, width = c.sizes(x, 3)
    if heads < 1 or width % heads:
        raise c.error(f"{width} elements do not go into {heads} heads")
    return c.let("transpose", c.let("reshape", x, [batch, length, heads, width // heads]), [0, 2, 1, 3])


def joined_heads(c: OnnxContext, x: Name) -> Call:
    """[batch, heads, length, size] as [batch, length, heads * size]."""
    batch, heads, length, size = c.shape(x)
    return c.call("reshape", c.let("transpose", x, [0, 2, 1, 3]), [batch, length, heads * size])


@dataclass
class Masks:
    """Where queries may look: `allowed` are bool tensors that broadcast to [batch, heads, rows, columns]."""

    c: OnnxContext
    rows: int
    columns: int
    causal: bool = False
    allowed: list[Name] = field(default_factory=list[Name])
    added: list[Name] = field(default_factory=list[Name])

    def places(self, element: str, rows: bool = False) -> Name:
        """The numbers of the keys as a row, or of the queries as a column."""
        count = self.rows if rows else self.columns
        vector = self.c.let("arange", count, dtype=element)
        return self.c.let("reshape", vector, [count, 1]) if rows else vector

    def allow(self, mask: Name) -> None:
        """A bool tensor that is true where a query may look."""
        self.allowed.append(mask)

    def operand(self, mask: Name) -> None:
        """A mask of the file: of bool, or added to the scores; what it lacks of the keys is hidden."""
        c = self.c
        if not c.shape(mask):
            raise c.error("its mask has rank 0, expected at least 1")
        missing = self.columns - c.shape(mask)[-1]
        if missing < 0 or (missing and c.shape(mask)[-1] == 1 < self.columns):
            missing = 0
        element = c.element(mask)
        if missing:
            hidden = c.let(
                "full", [*c.shape(mask)[:-1], missing], False if element == "bool" else FAR[element], dtype=element
            )
            mask = c.let("concat", [mask, hidden], len(c.shape(mask)) - 1)
        (self.allowed if element == "bool" else self.added).append(mask)

    def window(self, offset: int, left: int, right: int) -> None:
        """Query i sees keys i + offset - left to i + offset + right; a negative side has no end."""
        if right == 0 and left < 0 and offset == 0:
            self.causal = True
        elif right >= 0:
            self.allow(self.c.let("causal_mask", self.rows, self.columns, offset + right))
        if left >= 0:
            before = self.c.let("causal_mask", self.rows, self.columns, offset - left - 1)
            self.allow(self.c.let("logical_not", before))

    def window_from(self, offset: Name, left: int, right: int) -> None:
        """As `window`, for an offset of each sample [batch, 1, 1, 1]."""
        c, element = self.c, self.c.element(offset)
        place = c.let("add", self.places(element, rows=True), offset)
        for side, far, function in ((right, right, "less_equal"), (left, -left, "greater_equal")):
            if side >= 0:
                last = c.let("add", place, far) if far else place
                self.allow(c.let(function, self.places(element), last))

    def whole(self) -> Name | None:
        """All that is allowed, as one bool tensor without the order of time."""
        total: Name | None = None
        for mask in self.allowed:
            total = mask if total is None else self.c.let("logical_and", total, mask)
        return total

    def bias(self) -> Name | None:
        """All that is added to the scores."""
        total: Name | None = None
        for mask in self.added:
            total = mask if total is None else self.c.let("add", total, mask)
        return total


@dataclass(frozen=True)
class Attention:
    """
    Attention of queries [batch, heads, m, size], keys and values [batch, groups, n, size].

    `scale` is 1 / sqrt(size) where it is None, `cap` limits the scores by tanh, the weights are computed in
    `precision`. With `empty_rows` a query that may look nowhere gets zeros.
    """

    c: OnnxContext
    query: Name
    key: Name
    value: Name
    scale: float | None = None
    cap: float = 0.0
    precision: str | None = None
    empty_rows: bool = False

    @property
    def rows(self) -> int:
        """The number of queries."""
        return self.c.shape(self.query)[2]

    @property
    def columns(self) -> int:
        """The number of keys."""
        return self.c.shape(self.key)[2]

    def result(self, masks: Masks, shown: int | None = None) -> tuple[Name | Call, Name | None]:
        """
        The result, and the scores that are asked for.

        0: query keyᵀ scaled, 1: after the cap, 2: after the masks, 3: the weights.
        """
        other = self.precision is not None and self.precision != self.c.element(self.query)
        if self.cap or shown is not None or other:
            return self._spelt(masks, shown)
        c, allowed, bias = self.c, masks.whole(), masks.bias()
        named: dict[str, bool | float | Name] = {} if self.scale is None else {"scale": self.scale}
        if masks.causal and allowed is None and bias is None:
            named["causal"] = True
        elif masks.causal:
            seen = c.let("causal_mask", self.rows, self.columns)
            allowed = seen if allowed is None else c.let("logical_and", allowed, seen)
        mask = allowed
        if bias is not None:
            mask = bias if allowed is None else c.let("where", allowed, bias, FAR[c.element(bias)])
        if mask is not None:
            named["mask"] = mask
        out = c.call("scaled_dot_product_attention", self.query, self.key, self.value, **named)
        return self._with_empty_rows(out, mask if allowed is None else allowed), None

    def _with_empty_rows(self, out: Name | Call, mask: Name | None) -> Name | Call:
        if mask is None or not self.empty_rows:
            return out
        c, far = self.c, c_far(self.c, mask)
        known = c.script.numbers(mask)
        if known is not None and bool((known if known.dtype == bool else known > far).any(-1).all()):
            return out
        if c.element(mask) == "bool":
            looks = c.let(
                "greater", c.let("amax", c.let("cast", mask, to=c.element(self.query)), axis=-1, keepdim=True), 0
            )
        elif known is None:
            return out  # numbers that are added hide nothing for certain
        else:
            looks = c.let("greater", c.let("amax", mask, axis=-1, keepdim=True), far)
        return c.call("where", looks, c.held(out), 0.0)

    def _spelt(self, masks: Masks, shown: int | None) -> tuple[Name | Call, Name | None]:
        """With all its steps, as the language's own function has no results between."""
        c, element = self.c, self.c.element(self.query)
        batch, heads, rows, size = c.shape(self.query)
        groups, columns = c.shape(self.key)[1:3]
        scaled = c.let("mul", self.query, size**-0.5 if self.scale is None else self.scale)
        grouped = scaled if groups == heads else c.let("reshape", scaled, [batch, groups, -1, size])
        scores = c.let("matmul", grouped, self.key, transpose_b=True)
        if groups != heads:
            scores = c.let("reshape", scores, [batch, heads, rows, columns])
        stages = [scores]
        if self.cap:
            scores = c.let("mul", c.let("tanh", c.let("div", scores, self.cap)), self.cap)
        stages.append(scores)
        allowed, bias = masks.whole(), masks.bias()
        if masks.causal:
            seen = c.let("causal_mask", rows, columns)
            allowed = seen if allowed is None else c.let("logical_and", allowed, seen)
        if bias is not None:
            scores = c.let("add", scores, bias)
        if allowed is not None:
            scores = c.let("where", allowed, scores, FAR[element])
            if shown == 2:
                raise c.error("returns scores that are minus infinity where they are masked, which has no counterpart")
        stages.append(scores)
        precise = scores if self.precision in (None, element) else c.let("cast", scores, to=self.precision)
        weights = c.let("softmax", precise, -1)
        if precise is not scores:
            weights = c.let("cast", weights, to=element)
        if allowed is not None and self.empty_rows:
            weights = c.held(self._with_empty_rows(weights, allowed))
        stages.append(weights)
        if groups != heads:
            weights = c.let("reshape", weights, [batch, groups, -1, columns])
        out = c.call("matmul", weights, self.value)
        if groups != heads:
            out = c.call("reshape", c.held(out), [batch, heads, rows, -1])
        return out, None if shown is None else stages[shown]


def c_far(c: OnnxContext, mask: Name) -> float:
    """What a mask that is added has where it hides for certain."""
    element = c.element(mask)
    return 0.0 if element == "bool" else FAR[element] / 2
