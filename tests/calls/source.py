"""A call as a program of the language."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from npuc.frontends.dsl.values import literal_text
from tests.calls import Call


def literal(value: Any) -> str:
    """A Python value as the language writes it; all items of a list."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(literal(item) for item in cast(Sequence[Any], value))}]"
    return literal_text(value)


def program(call: Call, replaced: Mapping[str, str] | None = None) -> str:
    """
    A network that takes the operands of a call as inputs and whose last line but one is the call, `r = f(…)`.

    `replaced` gives the texts of some arguments instead.
    """
    inputs: list[str] = []
    texts: dict[str, str] = {}
    for name, shape in call.tensors.items():
        shapes = shape if isinstance(shape, list) else [shape]
        names = [f"{name}_{i}" for i in range(len(shapes))]
        inputs += [f"input {n}: f64{literal(one)}" for n, one in zip(names, shapes, strict=True)]
        texts[name] = f"[{', '.join(names)}]" if isinstance(shape, list) else names[0]
    for name, index in call.indices.items():
        many = index if isinstance(index, list) else [index]
        names = [f"{name}_{i}" for i in range(len(many))]
        inputs += [f"input {n}: i32{literal(shape)}" for n, (shape, _) in zip(names, many, strict=True)]
        texts[name] = f"[{', '.join(names)}]" if isinstance(index, list) else names[0]
    for name, shape in call.masks.items():
        inputs.append(f"input {name}_0: bool{literal(shape)}")
        texts[name] = f"{name}_0"
    outputs = [f"output o{number} = {line.split()[1].rstrip(':')}" for number, line in enumerate(inputs)]
    texts |= {name: literal(value) for name, value in call.arguments.items()}
    texts |= replaced or {}
    arguments = ", ".join(f"{name}={text}" for name, text in texts.items())
    lines = ["other = arange(batch)", *inputs, *outputs, f"r = {call.function}({arguments})"]
    body = "\n".join(f"  {line}" for line in lines)
    return f"network net(batch=1) {{\n{body}\n  output other\n}}\n"
