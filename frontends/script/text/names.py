"""Names of variables and blocks that the language takes."""

from __future__ import annotations

import re

_KEYWORDS = frozenset(("and", "else", "false", "for", "if", "in", "none", "not", "or", "return", "true"))
RESERVED = _KEYWORDS | {
    "block",
    "error",
    "frozen",
    "import",
    "input",
    "labels",
    "loss",
    "network",
    "optimizer",
    "output",
}
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WORD = re.compile(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])")


def is_identifier(text: str) -> bool:
    """Whether a text can be the name of a variable."""
    return _NAME.fullmatch(text) is not None and text not in RESERVED


def is_word(text: str) -> bool:
    """Whether a text can be the name of an input, which may also be a word that begins statements."""
    return _NAME.fullmatch(text) is not None and text not in _KEYWORDS


def identifier(text: str) -> str:
    """A text as the name of a variable."""
    plain = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_") or "value"
    if plain[0].isdigit():
        plain = f"n{plain}"
    return f"{plain}_" if plain in RESERVED else plain


def snake_case(text: str) -> str:
    """The name of a class as that of a block: `LlamaDecoderLayer` is llama_decoder_layer."""
    return identifier(_WORD.sub(lambda m: "_".join(g for g in m.groups() if g), text).lower())
