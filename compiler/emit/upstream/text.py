"""
Modules as MLIR's generic form, a line for an operation.

The same as xDSL's printer writes but for the names of values, and much faster: an attribute that many operations share
becomes text once.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.printer import Printer

_INDENT = "  "


def text_of(module: ModuleOp) -> str:
    """
    A module in the generic form of its operations, which MLIR and xDSL read alike.

    Regions have at most one block. Each value has its hint as a name where no other one has it, else a number.
    """
    writer = _Writer()
    writer.operation(module, "")
    writer.lines.append("")
    return "\n".join(writer.lines)


class _Writer:
    """The lines of a text, the names of values, and what attributes are as text, by the objects that they are."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._values: dict[int, str] = {}
        self._hints: set[str] = set()
        self._attributes: dict[int, str] = {}
        self._equal: dict[Attribute, str] = {}

    def operation(self, op: Operation, indent: str) -> None:
        """Append the lines of an operation."""
        known = self._values
        operands = ", ".join([known[id(value)] for value in op.operands])
        results = f"{', '.join([self._name(value) for value in op.results])} = " if op.results else ""
        properties = f" <{self._dictionary(op.properties)}>" if op.properties else ""
        attributes = f" {self._dictionary(op.attributes)}" if op.attributes else ""
        head, tail = f'{indent}{results}"{op.name}"({operands}){properties}', f"{attributes} : {self._type(op)}"
        if not op.regions:
            self.lines.append(head + tail)
            return
        self.lines.append(f"{head} ({{")
        for number, region in enumerate(op.regions):
            if number:
                self.lines.append(f"{indent}}}, {{")
            self._region(region, indent)
        self.lines.append(f"{indent}}}){tail}")

    def _region(self, region: Region, indent: str) -> None:
        if not region.blocks:
            return
        (block,) = region.blocks
        if block.args:
            args = ", ".join([f"{self._name(arg)} : {self._attribute(arg.type)}" for arg in block.args])
            self.lines.append(f"{indent}^bb0({args}):")
        for op in block.ops:
            self.operation(op, indent + _INDENT)

    def _name(self, value: SSAValue) -> str:
        """Name a value that becomes known."""
        hint = value.name_hint
        if hint is None or hint in self._hints:
            found = f"%{len(self._values)}"
        else:
            self._hints.add(hint)
            found = f"%{hint}"
        self._values[id(value)] = found
        return found

    def _attribute(self, attribute: Attribute) -> str:
        found = self._attributes.get(id(attribute))
        if found is None:
            found = self._equal.get(attribute)
            if found is None:
                text = io.StringIO()
                Printer(text).print_attribute(attribute)
                found = self._equal[attribute] = text.getvalue()
            self._attributes[id(attribute)] = found
        return found

    def _dictionary(self, attributes: Mapping[str, Attribute]) -> str:
        parts = [
            _key(name) if isinstance(one, UnitAttr) else f"{_key(name)} = {self._attribute(one)}"
            for name, one in attributes.items()
        ]
        return f"{{{', '.join(parts)}}}"

    def _type(self, op: Operation) -> str:
        """The types of operands and results, those of several in parentheses."""
        before = ", ".join([self._attribute(value.type) for value in op.operands])
        after = self._types([value.type for value in op.results])
        return f"({before}) -> {after}"

    def _types(self, types: Sequence[Attribute]) -> str:
        """The types of results: one alone stands without parentheses."""
        found = ", ".join([self._attribute(type) for type in types])
        return found if len(types) == 1 else f"({found})"


@lru_cache(maxsize=256)
def _key(name: str) -> str:
    """The name of an attribute; one that is no identifier is quoted."""
    text = io.StringIO()
    Printer(text).print_identifier_or_string_literal(name)
    return text.getvalue()
