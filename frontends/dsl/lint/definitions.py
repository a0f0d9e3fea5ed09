"""Rules about definitions and imports: never called, never needed, hiding a layer."""

from collections.abc import Iterator

from npuc.compiler.core.errors import NpucError
from npuc.compiler.layers import get_functions
from npuc.frontends.dsl.blocks import library_names
from npuc.frontends.dsl.calls import BUILT_IN
from npuc.frontends.dsl.lint.findings import Remark, Rule, Subject
from npuc.frontends.dsl.program import load_program
from npuc.frontends.dsl.syntax import Call, Definition, walk


def _called(definition: Definition) -> frozenset[str]:
    """The functions and blocks that a definition calls."""
    nodes = walk(*definition.defaults, *definition.body)
    return frozenset(node.function for node in nodes if isinstance(node, Call))


def _unused_blocks(subject: Subject) -> Iterator[Remark]:
    """Blocks of a program that its network does not reach; files of blocks are for import."""
    if subject.program is None:
        return
    blocks = subject.program.blocks
    pending, reached = [subject.program.network.definition], set[str]()
    while pending:
        for name in _called(pending.pop()):
            if name in blocks and name not in reached:
                reached.add(name)
                pending.append(blocks[name].definition)
    for definition in subject.definitions:
        name = definition.name.text
        if not definition.is_network and name not in reached and not name.startswith("_"):
            yield Remark(definition.name.at, f"the network does not call block '{name}'", "call it or remove it")


def _unused_imports(subject: Subject) -> Iterator[Remark]:
    called = frozenset[str]().union(*map(_called, subject.definitions))
    lines: dict[str, int] = {}
    for one in subject.file.imports:
        if one.path in lines:
            yield Remark(one.at, f"'{one.path}' is imported twice, first in line {lines[one.path]}", "remove one")
            continue
        lines[one.path] = one.at.line
        try:
            importing = f'import "{one.path}"\nnetwork _() {{ }}\n'
            provided = load_program(importing, subject.source.filename).blocks
        except NpucError:
            continue
        if called.isdisjoint(provided):
            yield Remark(one.at, f"no block of '{one.path}' is called here", "remove the import")


def _shadowed(subject: Subject) -> Iterator[Remark]:
    layers, library = {*get_functions(), *BUILT_IN}, set(library_names())
    for definition in subject.definitions:
        name = definition.name.text
        if not definition.is_network and (name in layers or name in library):
            what = "layer" if name in layers else "library's block"
            message = f"block '{name}' shadows the {what} of that name in the whole program"
            yield Remark(definition.name.at, message, "give it another name")


RULES = (
    Rule("unused-block", "the network does not call a block, nor do the blocks that it calls", _unused_blocks),
    Rule("unused-import", "no block of an imported file is called, or a file is imported twice", _unused_imports),
    Rule("shadowed-layer", "a block has the name of a layer, of a function, or of a block of the library", _shadowed),
)
