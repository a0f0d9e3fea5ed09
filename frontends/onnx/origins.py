"""Where the initial values of a model come from, as exporters tell it: parameters, buffers, or computed constants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Literal, TypeAlias

from npuc.frontends.onnx.container.model import OnnxModel, ValueInfo

Origin: TypeAlias = Literal["parameter", "buffer", "constant"]
_KIND = "pkg.torch.export.graph_signature.InputSpec.kind"
_FOLDED = "pkg.onnxscript.optimizer.folded_from"
_STEPS = frozenset(
    "abs add alias and arange bitwise cast cat ceil clamp clone convert copy cos cumsum detach diff div eq exp expand"
    " flip floor full gather ge getitem gt index isin le lift log logical lt masked max maximum min minimum mul ne neg"
    " new ones permute pow reciprocal remainder repeat reshape round rsqrt rsub scalar select sign sin slice sqrt"
    " squeeze stack sub sum to transpose tril triu unsqueeze val view where zeros".split()
)
"""First words of the names that PyTorch gives the results of calls that make and move constants."""


class Origins:
    """Where the initial values of the top graph come from."""

    def __init__(self, model: OnnxModel):
        self._model = model

    @cached_property
    def _said(self) -> Mapping[str, ValueInfo]:
        return self._model.graph.described() if self._model.producer.startswith("pytorch") else {}

    def of(self, name: str) -> Origin:
        """
        The origin of an initial value; a parameter where the file does not tell.

        What the exporter computed of a parameter is one, too, as the transpose of a weight is.
        """
        if not self._tells:
            return "parameter"
        entries = self._entries(name)
        kind = entries.get(_KIND)
        if kind is not None:
            return "parameter" if kind == "PARAMETER" else "buffer"
        sources = _names(entries.get(_FOLDED, "")) or [name]
        return "constant" if all(_is_step(source) for source in sources) else "parameter"

    def _entries(self, name: str) -> Mapping[str, str]:
        said = self._said.get(name)
        return {} if said is None else said.metadata.entries()

    @cached_property
    def _tells(self) -> bool:
        """Whether the file tells of its parameters that they are such."""
        return any(_KIND in self._entries(name) for name in self._model.graph.initializers if name in self._said)


def _names(text: str) -> list[str]:
    """The names in a list as the exporter writes it."""
    return re.findall(r"'([^']*)'", text)


def _is_step(name: str) -> bool:
    return "." not in name and name.strip("_").split("_")[0] in _STEPS
