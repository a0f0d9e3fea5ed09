"""What a pass does: its text, its options, and an example that runs."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.plugins import PassFactory
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.passes import read_pipeline, run_pipeline
from npuc.compiler.driver.watch.watcher import Watcher, ir_text
from npuc.compiler.reference.docstrings import blocks_of, documentation, field_documentation
from npuc.compiler.transforms import get_all_patterns
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.frontends import read_source
from npuc.frontends.mlir import make_context

NETWORK = """\
network mlp(batch=32, width=64) {
  input  x: f32[batch, width]
  labels y: i32[batch]
  h = relu(linear(x, 32))
  loss cross_entropy(linear(h, 16), y)
  optimizer sgd(lr=0.1)
}
"""
"""What the examples of passes start from, where a pass has no `EXAMPLE_NETWORK`."""
MACHINE = 'set-target{rows=16 cols=16 spm-bytes=16384 clock-mhz=1000 gb-per-s=10 lanes=16 dataflow="ws"}'
"""What they run on."""
LONGEST = 6
"""So many lines before and after a pass are shown."""


@dataclass(frozen=True)
class PassOption:
    """An option: what it may be in words, what it means, its default as a pipeline writes it (None: it has none)."""

    name: str
    type: str
    meaning: str | None
    default: str | None
    required: bool = False


@dataclass(frozen=True)
class PassExample:
    """What the last pass of a pipeline changes in a network: the lines that go and those that come."""

    before: str
    step: str
    gone: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class PatternPage:
    """A rewrite that a pass is made of: name, class in `npuc.compiler.patterns`, paragraphs, arguments as options."""

    name: str
    class_name: str
    of: str
    """The pass."""
    text: tuple[str, ...]
    arguments: tuple[PassOption, ...]


@dataclass(frozen=True)
class PassPage:
    """What a pass does. `text` are paragraphs; those that are indented are code, as of the rewrite that it is."""

    name: str
    summary: str
    text: tuple[str, ...]
    options: tuple[PassOption, ...]
    patterns: tuple[PatternPage, ...]
    pipeline: str | None
    """The pipeline of its example, whose last pass it is."""
    network: str | None = None
    """The network of its example, where that is not `NETWORK`."""


def pass_named(name: str, available: dict[str, PassFactory]) -> type[ModulePass]:
    """The pass of a name. Raises `UsageError` with the nearest."""
    if name not in available:
        raise UsageError(f"there is no pass '{name}'", hint=did_you_mean(name, list(available)))
    return available[name]()


def pass_page(found: type[ModulePass]) -> PassPage:
    """What a pass does, by its definition and the text of its module."""
    own = documentation(found)
    around = blocks_of(sys.modules[found.__module__].__doc__ or "")
    pipeline, network = (getattr(found, name, None) for name in ("EXAMPLE", "EXAMPLE_NETWORK"))
    return PassPage(
        found.name,
        own.summary or "It has no description.",
        (*own.details, *around[1:]),
        tuple(_options(found, dataclasses.fields(found))),
        tuple(pattern_page(found.name, pattern) for pattern in get_all_patterns().get(found.name, ())),
        pipeline if isinstance(pipeline, str) else None,
        network if isinstance(network, str) else None,
    )


def pattern_named(name: str) -> tuple[str, type[NamedPattern]]:
    """The pass and the pattern of a name, or of the name of its class. Raises `UsageError` with the nearest."""
    known = {pattern.name: (step, pattern) for step, own in get_all_patterns().items() for pattern in own}
    classes = {pattern.__name__: known[pattern.name] for _, pattern in known.values()}
    if name not in known and name not in classes:
        raise UsageError(f"there is no pattern '{name}'", hint=did_you_mean(name, list(known)))
    return known[name] if name in known else classes[name]


def pattern_page(step: str, found: type[NamedPattern]) -> PatternPage:
    """What a pattern of a pass does, by its docstring and those of its fields."""
    text = tuple(blocks_of(found.__doc__ or ""))
    arguments = tuple(_options(found, dataclasses.fields(found))) if dataclasses.is_dataclass(found) else ()
    return PatternPage(found.name, found.__name__, step, text, arguments)


def _options(found: type[object], fields: Sequence[dataclasses.Field[Any]]) -> list[PassOption]:
    types = get_type_hints(found)
    return [
        PassOption(
            field.name.replace("_", "-") if issubclass(found, ModulePass) else field.name,
            _type_text(types[field.name]),
            field.metadata.get("meaning") or field_documentation(found, field.name),
            _default(field),
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in fields
        if field.name != "name" and field.init
    ]


def _default(field: dataclasses.Field[Any]) -> str | None:
    value = field.default
    if value in (dataclasses.MISSING, None, ()):
        return None
    if callable(value):
        return value.__name__
    return str(value).lower() if isinstance(value, bool) else str(value)


_WORDS = {int: "integer", float: "number", str: "string", bool: "true or false"}


def _type_text(hint: Any) -> str:
    """The type of an option in words."""
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        names = [name for name in get_args(hint) if name is not type(None)]
        if {int, float} <= set(names):
            names.remove(int)
        return " or ".join(map(_type_text, names))
    if get_origin(hint) is Literal:
        return " or ".join(f"`{word}`" for word in get_args(hint))
    if get_origin(hint) in (tuple, Sequence):
        return f"list of {_type_text(get_args(hint)[0])}s"
    if get_origin(hint) is Mapping:
        return f"{_type_text(get_args(hint)[1])} by name"
    if get_origin(hint) is Callable:
        (given,), result = get_args(hint)
        return f"function of {_classes_text(given)} that gives {_classes_text(result)}"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def _classes_text(hint: Any) -> str:
    """The classes that a value may be of."""
    return " or ".join(
        getattr(one, "__name__", str(one)).replace("NoneType", "None") for one in get_args(hint) or (hint,)
    )


def example_of(page: PassPage, available: dict[str, PassFactory]) -> PassExample | None:
    """Run the example of a pass, if it has one. Raises what its passes raise."""
    if page.pipeline is None:
        return None
    passes = read_pipeline(f"{MACHINE},{page.pipeline}", available)
    module = read_source(page.network or NETWORK, format="dsl")
    seen = _Around(passes[-1])
    run_pipeline(module, passes, make_context(), SourceTexts({}), verify_each=True, watch=seen)
    gone, new = _changed(seen.texts)
    return PassExample(",".join(str(one) for one in passes[1:-1]), str(passes[-1]), gone, new)


class _Around(Watcher):
    """Keeps the text of the program before and after one pass."""

    def __init__(self, step: ModulePass):
        self.step = step
        self.texts: list[str] = []

    def before(self, step: ModulePass, module: Any) -> None:
        """Keep what it starts from."""
        if step is self.step:
            self.texts.append(ir_text(module))

    def after(self, step: ModulePass, module: Any) -> None:
        """Keep what it made."""
        if step is self.step:
            self.texts.append(ir_text(module))


def _changed(texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The operations that differ, without their types, on both sides; the module itself where only that does."""
    before, after = (text.splitlines() for text in texts)
    matches = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    gone = [line for tag, a, b, _, _ in matches if tag != "equal" for line in before[a:b]]
    new = [line for tag, _, _, a, b in matches if tag != "equal" for line in after[a:b]]
    shown = tuple(
        tuple(_TYPES.sub(" : …", line.strip()) for line in side if _OPERATION.match(line)) for side in (gone, new)
    )
    return (shown[0], shown[1]) if any(shown) else (tuple(gone), tuple(new))


_OPERATION = re.compile(r"\s+(%.* = |npu\.|scf\.|\})")
_TYPES = re.compile(r" : \(?(tensor|!npu\.block)<.*$")


def cut(lines: Sequence[str]) -> list[str]:
    """The first lines of one side of an example, and how many more there are."""
    more = len(lines) - LONGEST
    return [*lines[:LONGEST], f"… {more} more lines"] if more > 1 else list(lines)
