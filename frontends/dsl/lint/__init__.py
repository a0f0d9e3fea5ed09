"""
Remarks on programs that are valid, but most likely not what was meant: `npuc lint`.

A rule looks at the syntax tree, or at the forward graph that the program builds. Rules are meant to be certain: each
finding holds for every value of the parameters, or, where the graph is looked at, for the given ones.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import cast

import msgspec

from npuc.compiler.core.options import MAX_OPS
from npuc.dialects.train.signature import training_functions
from npuc.frontends import read_source
from npuc.frontends.dsl.budget import MAX_NESTING
from npuc.frontends.dsl.lint import branches, definitions, graph, values
from npuc.frontends.dsl.lint.findings import Finding, Rule, Subject, ignored
from npuc.frontends.dsl.program import load_program
from npuc.frontends.dsl.syntax import Argument, File, Loss, walk
from npuc.frontends.dsl.syntax.parser import parse
from npuc.frontends.dsl.values import Value
from npuc.frontends.source_text import Diagnostics, Place, SourceText

__all__ = ["RULES", "Finding", "Rule", "lint_source"]

RULES: Mapping[str, Rule] = {
    rule.name: rule for rules in (values.RULES, definitions.RULES, branches.RULES, graph.RULES) for rule in rules
}


def lint_source(
    text: str,
    filename: str,
    *,
    defines: Mapping[str, Value] | None = None,
    rules: Collection[str] | None = None,
    max_ops: int = MAX_OPS,
) -> Sequence[Finding]:
    """
    What the rules (all of them by default) find in a program or a file of blocks, in the order of the source.

    Raises SourceError or SourceErrors for a wrong program, UsageError for wrong `defines`.
    """
    source = SourceText(text, filename)
    subject = _subject(source, defines, max_ops)
    silenced = ignored(source)
    found: set[Finding] = set()
    for name, rule in RULES.items():
        if rules is not None and name not in rules:
            continue
        for remark in rule.check(subject):
            names = silenced.get(remark.at.line, frozenset())
            if names is not None and name not in names:
                line = source.lines[remark.at.line - 1]
                found.add(Finding(name, source.location(remark.at), remark.message, remark.hint, line))
    return sorted(found, key=lambda f: (f.location, f.rule, f.message))


def _subject(source: SourceText, defines: Mapping[str, Value] | None, max_ops: int) -> Subject:
    """The file, parsed, and with a network in it also built."""
    diagnostics = Diagnostics()
    file = parse(source, diagnostics)
    diagnostics.raise_if_any()
    _check_nesting(source, file)
    network = next((definition for definition in file.definitions if definition.is_network), None)
    if network is None and file.definitions:
        return Subject(source, file)
    program = load_program(source.text, source.filename)
    has_loss = network is not None and any(isinstance(node, Loss) for node in walk(*network.body))
    module = read_source(source.text, filename=source.filename, defines=defines, training=has_loss, max_ops=max_ops)
    (function,) = training_functions(module)
    return Subject(source, file, program, function)


def _check_nesting(source: SourceText, file: File) -> None:
    """Raise SourceError for statements and expressions nested deeper than any that can be built."""
    pending: list[tuple[object, int]] = [(file.definitions, 0)]
    while pending:
        node, depth = pending.pop()
        if isinstance(node, tuple) and not isinstance(node, Place):
            pending += [(one, depth) for one in cast("tuple[object, ...]", node)]
        elif isinstance(node, msgspec.Struct):
            at: object = getattr(node, "at", None)
            depth += not isinstance(node, Argument)
            if depth > MAX_NESTING and isinstance(at, Place):
                raise source.error(at, f"expressions and statements are nested more than {MAX_NESTING} deep")
            pending += [(getattr(node, name), depth) for name in node.__struct_fields__]
