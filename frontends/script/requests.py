"""Losses and optimizers that a user names beside a graph, `cross_entropy(axis=1)` or `adamw(lr=1e-4)`, as syntax."""

from __future__ import annotations

from npuc.compiler.core.errors import SourceError, SourceErrors, UsageError
from npuc.frontends.dsl.syntax import Argument, Call, Loss, Name, Optimizer
from npuc.frontends.dsl.syntax.parser import parse
from npuc.frontends.source_text import Diagnostics, SourceText


def loss_call(text: str) -> Call:
    """The call of a loss that a text names, without its operands. Raises `UsageError`."""
    return _call("loss", text, "cross_entropy or mse(reduction=sum)")


def optimizer_call(text: str) -> Call:
    """The call that sets an optimizer, by a text. Raises `UsageError`."""
    return _call("optimizer", text, "sgd(lr=0.1)")


def with_operands(call: Call, *operands: Name) -> Call:
    """A call with some operands before its arguments."""
    first = tuple(Argument(operand.at, None, operand) for operand in operands)
    return Call(call.at, call.function, (*first, *call.arguments))


def _call(word: str, text: str, example: str) -> Call:
    """The call in a statement of one word and a text; a bare name is one without arguments."""
    diagnostics = Diagnostics()
    called = text if "(" in text else f"{text}()"
    file = parse(SourceText(f"network n() {{ {word} {called}\n}}", f"--{word}"), diagnostics)
    statements = [s for definition in file.definitions for s in definition.body]
    if not len(diagnostics) and len(file.definitions) == 1 and len(statements) == 1 and not file.imports:
        (statement,) = statements
        if isinstance(statement, Loss) and isinstance(statement.value, Call):
            return statement.value
        if isinstance(statement, Optimizer):
            return statement.call
    raise UsageError(f"--{word}: found '{text}', expected a name, or a call of literals", hint=f"for example {example}")


def refusal(word: str, text: str, error: SourceError | SourceErrors) -> UsageError:
    """The error of a statement that a text asked for: the mistake is in the text, not in the graph."""
    first = error.errors[0] if isinstance(error, SourceErrors) else error
    return UsageError(f"--{word} {text}: {first.message}", hint=first.hint)
