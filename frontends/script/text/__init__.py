"""
The text of a network that was read from a graph: modules as blocks, repeated ones as loops.

    flat.py        the statements that count, expressions nested
    tree.py        statements under one path as groups
    patterns.py    what a group does without its numbers; skeletons.py finds the groups that do the same, and loops
    sizes.py       the numbers that follow from the batch and other sizes of the network
    parameters.py  the numbers in which calls of a block differ
    write.py       blocks and the network; body.py writes the statements of one, calls.py single calls
    equal.py       whether two graphs are the same program

The program that the text compiles to is the one that was read, operation by operation, with the same names of layers
and parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuc.frontends.dsl.format import format_source
from npuc.frontends.dsl.syntax import Definition
from npuc.frontends.dsl.unparse import definition_text
from npuc.frontends.script.text.flat import flat
from npuc.frontends.script.text.sizes import FreeSize, sizes_in
from npuc.frontends.script.text.skeletons import Skeletons
from npuc.frontends.script.text.tree import Values, tree
from npuc.frontends.script.text.write import Blocks, network


def network_text(definition: Definition, classes: Mapping[str, str], free: Sequence[FreeSize]) -> str:
    """
    The text of a network of a script.

    `classes` are the classes of modules by their paths, `free` the sizes that may be parameters of the network.
    """
    lines = flat(definition)
    whole = tree(lines)
    values = Values(lines, whole)
    defaults, numbers = sizes_in(lines, free)
    skeletons = Skeletons(values, numbers)
    root = skeletons.code(whole)
    loop = skeletons.only_loop()
    if loop is not None and loop[0] not in defaults:
        name, count = loop
        defaults[name] = count
        skeletons = Skeletons(values, numbers, name)
        root = skeletons.code(whole)
    blocks = Blocks(classes)
    for skeleton in skeletons.found.values():
        if skeleton is not root.skeleton:
            blocks.add(skeleton)
    definitions = [*blocks.definitions, network(lines, root, blocks, defaults, numbers)]
    return format_source("\n".join(map(definition_text, definitions)), f"{lines.name}.dsl")
