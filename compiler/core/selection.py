"""
Keeping some layers of a program and dropping the rest: what `--only` does before anything is scheduled or scored.

    %h = train.matmul %x, %w {layer = "fc1"}                          func.func @net(%x, %w, %v, %h) {
    %y = train.matmul %h, %v {layer = "fc2"}      --only fc2  ->        %y = train.matmul %h, %v {layer = "fc2"}
    func.return %y                                                      func.return

What a kept operation reads of a dropped one becomes an argument, so each kept layer starts cold and a dropped one
cannot fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.options import Only
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.train.signature import ArgumentKind, arguments_of, training_functions


def layer_names(module: ModuleOp) -> list[str]:
    """
    The names of the program's layers in order; the parameters that updates and casts are named after are not among
    them.
    """
    params = _parameters(module)
    names = dict.fromkeys(layer_of(op) for op in _operations(module) if role_of(op) is not Role.UPDATE)
    return [name for name in names if name and name not in params]


def _parameters(module: ModuleOp) -> set[str]:
    """The names of the program's parameters."""
    functions = training_functions(module)
    return {a.name for func in functions for a in arguments_of(func) if a.kind is ArgumentKind.PARAM}


def _operations(module: ModuleOp) -> Iterator[Operation]:
    """The operations of function bodies, without what is nested in them."""
    for func in module.ops:
        if isinstance(func, FuncOp) and not func.is_declaration:
            yield from func.body.block.ops


def patterns_of(only: Only) -> list[str]:
    """The patterns that the option `only` gives: one or several; empty when nothing is selected."""
    return [str(only)] if isinstance(only, str | int) else list(only or ())


def select(names: Sequence[str], patterns: Sequence[str]) -> set[int]:
    """
    The numbers of the names that one of the patterns means: a glob, or an index (`#3`, or `3` where no layer has that
    name).

    Raises `UsageError` for a pattern that means none.
    """
    chosen: set[int] = set()
    for pattern in patterns:
        digits = pattern.removeprefix("#")
        found = [number for number, name in enumerate(names) if fnmatchcase(name, pattern)]
        if not found and digits.isdecimal() and digits.isascii():
            index = int(digits[-10:])
            found = [index] if len(digits) <= 10 and index < len(names) else []
            if not found:
                raise UsageError(f"--only {pattern}: there are {len(names)} layers, the last is #{len(names) - 1}")
        if not found:
            raise UsageError(f"--only {pattern}: it matches no layer", hint=did_you_mean(pattern, names))
        chosen.update(found)
    return chosen


def keep_layers(module: ModuleOp, patterns: Sequence[str]) -> None:
    """Keep the operations of the layers that `patterns` mean, and the updates of their parameters; in place."""
    names = layer_names(module)
    chosen = {names[number] for number in select(names, patterns)}
    params = _parameters(module)
    for func in module.ops:
        if isinstance(func, FuncOp) and not func.is_declaration:
            _keep(func, chosen | {name for name in params if name.rpartition(".")[0] in chosen})


def _is_kept(op: Operation, chosen: set[str]) -> bool:
    name = layer_of(op)
    owner = name.rpartition(".")[0] if role_of(op) is Role.UPDATE else name
    return name in chosen or owner in chosen


def _keep(func: FuncOp, chosen: set[str]) -> None:
    block = func.body.block
    ops = [op for op in block.ops if not isinstance(op, ReturnOp)]
    dropped = [op for op in ops if not _is_kept(op, chosen)]
    last = block.last_op
    if isinstance(last, ReturnOp):
        block.erase_op(last)
    for op in dropped:
        for result in op.results:
            if _is_needed(result, chosen):
                _become_argument(result, block)
    for op in reversed(dropped):
        block.erase_op(op, safe_erase=False)
    block.add_op(ReturnOp())
    missing = len(block.args) - len(func.function_type.inputs.data)
    func.function_type = FunctionType.from_lists([arg.type for arg in block.args], [])
    if func.arg_attrs is not None:
        func.arg_attrs = ArrayAttr([*func.arg_attrs.data, *[DictionaryAttr({})] * missing])
    func.res_attrs = None


def _is_needed(value: SSAValue, chosen: set[str]) -> bool:
    home = value.owner if isinstance(value.owner, Block) else value.owner.parent
    users = (use.operation if home is None else home.find_ancestor_op_in_block(use.operation) for use in value.uses)
    return any(user is not None and _is_kept(user, chosen) for user in users)


def _become_argument(result: SSAValue, block: Block) -> None:
    argument = block.insert_arg(result.type, len(block.args))
    argument.name_hint = result.name_hint
    result.replace_all_uses_with(argument)
