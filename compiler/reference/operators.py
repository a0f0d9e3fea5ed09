"""What becomes of the operators of imported graphs: one function of the language, several, or a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from npuc.compiler.reference.written_calls import written_functions

DIRECT, COMPOSED, FOLDED, REFUSED = "direct", "composed", "folded", "refused"
FORMS: Mapping[str, str] = {
    DIRECT: "one function of the language, but for changes of type and shape; by its arguments others",
    COMPOSED: "several functions, or one of several by its arguments",
    FOLDED: "nothing is computed in a step: a copy, a check, or a value that is known when the file is read",
    REFUSED: "not read; the reason",
}
FORMULA, TENSORS, NO = "formula", "tensors", "no"
OPAQUE: Mapping[str, str] = {
    FORMULA: "priced by a formula that ships with npuc, or one of your own",
    TENSORS: "priced by a formula of your own, else as an operation an element of its largest tensor",
    NO: "not priced, either: it has no tensor of a type that the language knows, or none at all",
}
"""What `--opaque` makes of operators that are refused."""
_BESIDE = frozenset({"cast", "reshape", "squeeze", "unsqueeze", "expand"})
"""What does not count beside another function."""


@dataclass(frozen=True)
class OperatorPage:
    """
    An operator of a format, what becomes of it, and the functions that it becomes, or the reason of a refusal.

    `others` are the functions that it becomes with other arguments, where it is one of its own as a rule. `opaque` is
    what `--opaque` makes of one that is refused, one of `OPAQUE`.
    """

    name: str
    format: str
    form: str
    functions: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    reason: str = ""
    opaque: str = ""

    @property
    def told(self) -> str:
        """The functions or the reason, as tables show them."""
        others = f"; else {', '.join(self.others)}" if self.others else ""
        return self.reason or ", ".join(self.functions) + others


def operator_pages() -> list[OperatorPage]:
    """All operators that are read or refused by name, in the order of formats and names."""
    return [*_onnx(), *_torch()]


def _onnx() -> Iterator[OperatorPage]:
    from npuc.frontends.onnx.operators import meanings
    from npuc.frontends.onnx.operators.refused import QUANTISED, REASONS, TEXT
    from npuc.frontends.onnx.walk import EVALUATED

    known = meanings()
    read = [_page(name, "onnx", written_functions(meaning)) for name, meaning in known.items()]
    folded = [OperatorPage(name, "onnx", FOLDED) for name in EVALUATED if name not in known]
    refused = [
        OperatorPage(name, "onnx", REFUSED, reason=reason, opaque=_opaque(name, none=reason in (QUANTISED, TEXT)))
        for name, reason in REASONS.items()
        if name not in known and name not in EVALUATED
    ]
    yield from sorted([*read, *folded, *refused], key=lambda page: page.name)


def _torch() -> Iterator[OperatorPage]:
    from npuc.frontends.torch.graphs.control import CONTROL
    from npuc.frontends.torch.operators import meanings
    from npuc.frontends.torch.refused import COMPLEX, QUANTISED, REASONS, SPARSE, STEERS

    read = [_page(name, "pt2", written_functions(meaning)) for name, meaning in meanings().items()]
    none = (COMPLEX, QUANTISED, SPARSE, STEERS)
    refused = [
        OperatorPage(name, "pt2", REFUSED, reason=reason, opaque=_opaque(name, none=reason in none))
        for name, reason in REASONS.items()
    ]
    blocks = [OperatorPage(name, "pt2", FOLDED) for name in CONTROL]
    yield from sorted([*read, *blocks, *refused], key=lambda page: page.name)


def _opaque(name: str, *, none: bool) -> str:
    from npuc.frontends.script.opaque.file import known_entries

    return FORMULA if name in known_entries() else NO if none else TENSORS


def _page(name: str, format: str, functions: list[str]) -> OperatorPage:
    counted = [one for one in functions if one not in _BESIDE] or functions
    if not functions:
        return OperatorPage(name, format, FOLDED)
    alike = [one for one in counted if _bare(one) == _bare(name)] or counted[: len(counted) == 1]
    own = next((one for one in alike if one == _word(name)), alike[0] if alike else None)
    if own is None:
        return OperatorPage(name, format, COMPOSED, tuple(counted))
    return OperatorPage(name, format, DIRECT, (own,), tuple(one for one in counted if one != own))


def _bare(name: str) -> str:
    """The name of an operator or function without its format, overload, underscores, axes and `loss`."""
    return re.sub(r"(\dd)?(loss)?$", "", _word(name).lower().replace("_", ""))


def _word(name: str) -> str:
    return name.split(".")[1] if "." in name else name
