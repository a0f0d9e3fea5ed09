"""Docstrings in parts; those of methods that xDSL wraps and thereby hides, and those under fields."""

import ast
import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from textwrap import dedent

INDENT = "    "


@dataclass(frozen=True)
class Documentation:
    """A docstring: its first paragraph, the others, and the last indented block, which is an example."""

    summary: str
    details: tuple[str, ...] = ()
    example: str | None = None


def documentation(thing: type) -> Documentation:
    """The documentation of a class by its own docstring."""
    own: object = vars(thing).get("__doc__")
    # Python gives a dataclass without a docstring its signature.
    written = isinstance(own, str) and not own.startswith(f"{thing.__name__}(")
    blocks = blocks_of(str(own) if written else "")
    code = [block for block in blocks if is_code(block)]
    prose = [block for block in blocks if not is_code(block)]
    return Documentation(prose[0] if prose else "", tuple(prose[1:]), dedent(code[-1]) if code else None)


def blocks_of(docstring: str) -> list[str]:
    """The paragraphs of a docstring, a line each, and its indented blocks and lists as they are."""
    found: list[str] = []
    for part in filter(str.strip, inspect.cleandoc(docstring).split("\n\n")):
        part = part.strip("\n")
        if found and is_code(found[-1]) and is_code(part):
            found[-1] += "\n\n" + part  # a blank line within a block does not end it
        else:
            found.append(part if is_code(part) or part.startswith("- ") else " ".join(part.split()))
    return found


def is_code(block: str) -> bool:
    """Whether a block of a docstring is indented."""
    return block.startswith(INDENT)


def field_documentation(cls: type, name: str) -> str | None:
    """What the docstring under a field of a class says, of the class itself or of a base; None for nothing."""
    said = (_fields(base.__module__).get((base.__name__, name)) for base in cls.__mro__)
    return next((" ".join(text.split()) for text in said if text), None)


def method_documentation(cls: type, name: str) -> list[str]:
    """What a class and its bases say of a method that they define, bases first: a paragraph a class that does."""
    said = (_methods(base.__module__).get((base.__name__, name)) for base in reversed(cls.__mro__))
    return list(dict.fromkeys(" ".join(text.split()) for text in said if text))


@cache
def _classes(module: str) -> Sequence[ast.ClassDef]:
    """The classes that a module defines; none where there is no source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):
        return ()
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]


@cache
def _methods(module: str) -> Mapping[tuple[str, str], str]:
    """The docstrings of the methods of a module's classes, by class and method."""
    return {
        (outer.name, inner.name): ast.get_docstring(inner) or ""
        for outer in _classes(module)
        for inner in outer.body
        if isinstance(inner, ast.FunctionDef)
    }


@cache
def _fields(module: str) -> Mapping[tuple[str, str], str]:
    """The docstrings under the fields of a module's classes, by class and field."""
    found: dict[tuple[str, str], str] = {}
    for outer in _classes(module):
        for field, below in pairwise(outer.body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                    found[outer.name, name] = text
                case _:
                    pass
    return found
