"""
What users say of densities: `weights=0.1; layer4.*.weight=2:4; activations=0.5 bitmap`.

    rules ::= rule (`;` rule)*       rule ::= key `=` density word*
    key   ::= weights | activations | gradients | a glob of layers or parameters
    density ::= a number above 0 and at most 1 | N/M | N:M, which is a pattern
    word  ::= a format: bitmap, csr, csc, rle[<bits>], nm[<indices>], blocks[<sizes>]
            | a pattern: magnitude, uniform, blockwise, as-is
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Final

from npuc.compiler.transforms.quantize.formats import ACTIVATIONS, GRADIENTS, KINDS, WEIGHTS
from npuc.dialects.densities import read_density
from npuc.dialects.sparse_formats import (
    INDICES,
    Bitmap,
    Blocks,
    CompressedColumns,
    CompressedRows,
    RunLength,
    SparseFormat,
    Structured,
    format_problem,
    matrix_shape,
    parse_sparse_format,
)

FORMATS: Final = ("bitmap", "csr", "csc", "rle", "nm", "blocks")
RUN_BITS: Final = 5
"""The bits of a run where nothing is said; [recalled] those of Eyeriss (Chen et al., ISSCC 2016)."""
BLOCK: Final = 16
"""Elements of a block of a tensor without kernels where nothing is said: our choice."""
BY_MAGNITUDE, BY_CHANCE, BLOCKWISE, AS_IS = PATTERNS = ("magnitude", "uniform", "blockwise", "as-is")
"""How weights are pruned without N:M: the largest, any, the largest blocks; or not: they have their zeros already."""
EXAMPLE: Final = "for example weights=0.1, 'layer4.*.weight=2:4', 'activations=0.5 bitmap'"
_WORD = re.compile(r"([a-z]+)(?:<([0-9a-z, ]*)>)?")


@dataclass(frozen=True)
class Rule:
    """
    What is said of the operands that `key` names.

    `kept` and `of` are the N and M of a density that is written so; `format` is one of `FORMATS` with its parameters as
    written, `pattern` one of `PATTERNS`.
    """

    key: str
    density: Fraction
    nm: tuple[int, int] | None = None
    format: str = "bitmap"
    parameters: str = ""
    pattern: str = BY_MAGNITUDE

    @property
    def is_glob(self) -> bool:
        """Whether it names layers or parameters, not a kind of operand."""
        return self.key not in KINDS

    @property
    def is_dense(self) -> bool:
        """Whether it says that nothing is dropped: operands stay as they are."""
        return self.density == 1

    def format_of(self, shape: tuple[int, ...], axis: int) -> SparseFormat:
        """The format of a tensor of a shape, N:M along an axis. Raises `ValueError` for one that does not fit."""
        rows, columns = matrix_shape(shape)
        match self.format:
            case "csr":
                return CompressedRows(columns)
            case "csc":
                return CompressedColumns(rows)
            case "rle":
                return RunLength(int(self.parameters or RUN_BITS))
            case "nm":
                assert self.nm is not None
                return Structured(*self.nm, (axis,), self.parameters == INDICES)
            case "blocks":
                found = parse_sparse_format(f"blocks<{self.parameters}>") if self.parameters else blocks_of(shape)
                if problem := format_problem(found, shape):
                    raise ValueError(problem)
                return found
            case _:
                return Bitmap()


def blocks_of(shape: tuple[int, ...]) -> Blocks:
    """Blocks of a tensor: the kernels of a convolution, else `BLOCK` elements along its second or last axis."""
    if len(shape) > 2:
        kernel = shape[2:]
        return Blocks(kernel if prod(kernel) > 1 else (min(BLOCK, shape[1]), *kernel))
    return Blocks((min(BLOCK, *shape[-1:], BLOCK),))


def parse_rules(text: str | None) -> tuple[Rule, ...]:
    """The rules of a text, none of None. Raises `ValueError`, which says what is wrong with one of them."""
    if text is None:
        return ()
    rules = tuple(_rule(one.strip()) for one in text.split(";"))
    for number, rule in enumerate(rules):
        if any(rule.key == other.key for other in rules[:number]):
            raise ValueError(f"'{rule.key}' is named twice")
    return rules


def parse_density(key: str, text: str) -> Rule:
    """The rule of a text without its key: `0.1 csr`. Raises `ValueError` for another."""
    return _rule(f"{key}={text}")


def _rule(text: str) -> Rule:
    key, equals, said = text.partition("=")
    words = _words(said)
    if not equals or not key.strip() or not words:
        raise ValueError(
            f"'{text}' says no density, expected weights, activations, gradients or a glob, = and a number"
        )
    density, nm = read_density(words[0])
    found, name = Rule(key.strip(), density, nm, "bitmap" if nm is None else "nm"), None
    for word in words[1:]:
        if word in PATTERNS:
            found = _with_pattern(found, word)
            continue
        if name is not None:
            raise ValueError(f"'{text}' names two formats, {name} and {word}")
        name, found = word, _with_format(found, word)
    _check(found)
    return found


def _words(text: str) -> list[str]:
    """The words of a text; what is in angle brackets is part of one."""
    return re.findall(r"[^\s<]+(?:\s*<[^>]*>?)?", text)


def _with_pattern(rule: Rule, word: str) -> Rule:
    return Rule(rule.key, rule.density, rule.nm, rule.format, rule.parameters, word)


def _with_format(rule: Rule, word: str) -> Rule:
    found = _WORD.fullmatch(word)
    if found is None or found[1] not in FORMATS:
        raise ValueError(f"'{word}' is no format or pattern; known: {', '.join((*FORMATS, *PATTERNS))}")
    name, parameters = found[1], found[2] or ""
    allowed = {"nm": ("", INDICES)}.get(name)
    if (allowed is not None and parameters not in allowed) or (name in ("bitmap", "csr", "csc") and "<" in word):
        raise ValueError(f"'{word}' has parameters that are not its own; the lengths follow from the tensor")
    if parameters and name in ("rle", "blocks"):
        parse_sparse_format(f"{name}<{parameters}>")
    return Rule(rule.key, rule.density, rule.nm, name, parameters, rule.pattern)


def _check(rule: Rule) -> None:
    """Raise for words that do not go together."""
    if rule.format == "nm" and rule.nm is None:
        raise ValueError(f"nm stores N:M, the density of '{rule.key}' is {rule.density}: write it as N:M, as in 2:4")
    if rule.nm is not None and rule.pattern != BY_MAGNITUDE:
        raise ValueError(f"N:M keeps the largest magnitudes of each group, '{rule.pattern}' does not apply")
    if rule.pattern == BLOCKWISE and rule.format != "blocks":
        raise ValueError(f"'{BLOCKWISE}' keeps whole blocks, expected the format blocks, got {rule.format}")
    if rule.key in (ACTIVATIONS, GRADIENTS) and (rule.nm is not None or rule.pattern not in (BY_MAGNITUDE, AS_IS)):
        raise ValueError(f"{rule.key} are not pruned: state their density as a number, without a pattern")


def by_precedence(rules: Sequence[Rule]) -> tuple[list[Rule], dict[str, Rule]]:
    """Globs, the last first, and rules by kind: a glob wins over a kind, a later glob over an earlier one."""
    return [rule for rule in reversed(rules) if rule.is_glob], {r.key: r for r in rules if not r.is_glob}


__all__ = ["EXAMPLE", "WEIGHTS", "Rule", "blocks_of", "by_precedence", "parse_density", "parse_rules"]
