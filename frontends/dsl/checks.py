"""Checks that need no elaboration: misplaced statements, unknown functions, recursion, names that nothing uses."""

from collections.abc import Collection, Iterator

from npuc.frontends.dsl.program import LoadedProgram, Routine
from npuc.frontends.dsl.spellings import layer_hint
from npuc.frontends.dsl.syntax import (
    Assignment,
    Call,
    Declaration,
    Loss,
    Optimizer,
    Output,
    Return,
    Statement,
    reads,
    walk,
)
from npuc.frontends.source_text import Diagnostics, Place


def check(program: LoadedProgram, functions: Collection[str], diagnostics: Diagnostics) -> bool:
    """Report mistakes that need no elaboration; false if the program must not be elaborated, as it would not end."""
    for routine in (program.network, *program.blocks.values()):
        _check_parameters(routine, diagnostics)
        _check_statements(routine, diagnostics)
        _check_calls(routine, program, functions, diagnostics)
        _check_weights(routine, diagnostics)
    return _check_recursion(program, diagnostics)


def _reads(routine: Routine) -> frozenset[str]:
    """The names that a definition uses."""
    return reads(*routine.definition.defaults, *routine.definition.body)


def _check_parameters(routine: Routine, diagnostics: Diagnostics) -> None:
    seen: set[str] = set()
    used = _reads(routine)
    kind = "network" if routine.definition.is_network else "block"
    for parameter in routine.definition.parameters:
        name = parameter.name
        if name in seen:
            diagnostics.add(routine.source.error(parameter.at, f"parameter '{name}' is there twice"))
        elif name not in used:
            message = f"parameter '{name}' of {kind} '{routine.definition.name.text}' is not used"
            diagnostics.add(routine.source.error(parameter.at, message, "use it or remove it"))
        seen.add(name)


_NETWORK_ONLY = {
    Declaration: "inputs and labels",
    Loss: "the loss",
    Output: "outputs",
    Optimizer: "the optimizer",
}


def _check_statements(routine: Routine, diagnostics: Diagnostics) -> None:
    definition, source = routine.definition, routine.source
    returns = False
    for node in walk(*definition.body):
        if isinstance(node, Return):
            returns = True
            if definition.is_network:
                hint = "a network says what it computes with 'loss' and 'output'"
                diagnostics.add(source.error(node.at, "found 'return' in a network, expected it in a block", hint))
        elif isinstance(node, Declaration | Loss | Output | Optimizer) and not definition.is_network:
            what = _NETWORK_ONLY[type(node)]
            message = f"found a statement for {what} in block '{definition.name.text}', expected it in the network"
            diagnostics.add(source.error(node.at, message))
    if not definition.is_network and not returns:
        message = f"block '{definition.name.text}' has no 'return'"
        diagnostics.add(source.error(definition.name.at, message))


def _check_calls(
    routine: Routine, program: LoadedProgram, functions: Collection[str], diagnostics: Diagnostics
) -> None:
    for call in _calls(routine):
        if call.function not in functions and call.function not in program.blocks:
            hint = layer_hint(call.function, {*functions, *program.blocks})
            message = f"found the unknown layer or block '{call.function}'"
            diagnostics.add(routine.source.error(call.at, message, hint))


def _calls(routine: Routine) -> Iterator[Call]:
    """The calls of layers and blocks in a definition, without that of the optimizer."""
    definition = routine.definition
    optimizers: set[int] = set()
    for node in walk(*definition.defaults, *definition.body):
        if isinstance(node, Optimizer):
            optimizers.add(id(node.call))
        elif isinstance(node, Call) and id(node) not in optimizers:
            yield node


def _check_weights(routine: Routine, diagnostics: Diagnostics) -> None:
    used = _reads(routine)
    for at, name, what in _weights_and_inputs(routine.definition.body):
        if name not in used:
            diagnostics.add(routine.source.error(at, f"{what} '{name}' is not used", "use it or remove it"))


def _weights_and_inputs(body: tuple[Statement, ...]) -> Iterator[tuple[Place, str, str]]:
    for node in walk(*body):
        if isinstance(node, Declaration):
            yield node.name.at, node.name.text, "labels" if node.labels else "input"
        elif isinstance(node, Assignment) and isinstance(node.value, Call) and node.value.function == "param":
            yield node.targets[0].at, node.targets[0].text, "weight"


def _check_recursion(program: LoadedProgram, diagnostics: Diagnostics) -> bool:
    """Depth-first over the call graph; each cycle is reported at the call that closes it."""
    finished: set[str] = set()
    sound = True
    for root in program.blocks:
        path: list[str] = []
        pending: list[tuple[str, Iterator[Call]]] = []
        if root not in finished:
            path.append(root)
            pending.append((root, _calls(program.blocks[root])))
        while pending:
            name, calls = pending[-1]
            call = next(calls, None)
            if call is None:
                pending.pop()
                path.pop()
                finished.add(name)
            elif call.function in path:
                cycle = " -> ".join((*path[path.index(call.function) :], call.function))
                message = f"found a call of '{call.function}' inside itself: {cycle}"
                hint = "blocks cannot be recursive; repeat with 'for'"
                diagnostics.add(program.blocks[name].source.error(call.at, message, hint))
                sound = False
            elif call.function in program.blocks and call.function not in finished:
                path.append(call.function)
                pending.append((call.function, _calls(program.blocks[call.function])))
    return sound
