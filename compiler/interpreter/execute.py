"""
Executing a function, such as a training step: named values in, named values out.

The function's arguments and results are found by the names that their attributes give, so the same call runs every
level of the IR.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from npuc.compiler.analysis.hetero.described import units_of
from npuc.compiler.core.display import Displayed
from npuc.compiler.core.display.shown import Shown
from npuc.compiler.core.errors import NpucError, SourceError, UsageError, did_you_mean
from npuc.compiler.core.foreign import summary
from npuc.compiler.core.stages import tell
from npuc.compiler.core.verify import location_of, the_function
from npuc.compiler.interpreter.accuracy import Hits, accuracy
from npuc.compiler.interpreter.border import array_type, entering, leaving
from npuc.compiler.interpreter.devices import Traffic, assemble, run_on_devices, sharding_of
from npuc.compiler.interpreter.groups import GroupFunctions
from npuc.compiler.interpreter.noted import Densities, Density, Executing, Gradients, Mantissas
from npuc.compiler.interpreter.npu import NpuFunctions
from npuc.compiler.interpreter.numbers import Numbers, bits_of, element_name, holds_integers
from npuc.compiler.interpreter.on_units import UnitCount, UnitProducts
from npuc.compiler.interpreter.parameters import initial_value, stacked, unstacked
from npuc.compiler.interpreter.shown import shown_run
from npuc.compiler.interpreter.tiles import TileFunctions
from npuc.compiler.interpreter.train import train_functions
from npuc.compiler.layers.base import Array, DataError
from npuc.dialects import get_all_dialects
from npuc.dialects.distributed import Sharding, argument_sharding, global_type, mesh_of, result_sharding
from npuc.dialects.npu import ApplyOp
from npuc.dialects.npu.widths import widths_of
from npuc.dialects.tensors import Tensor, shape_text
from npuc.dialects.train.signature import Argument, ArgumentKind, Result, arguments_of, results_of

_OF_DATA = (DataError, InterpretationError)
"""What operations raise for values that they cannot take; anything else is a defect of an operation of npuc."""


@dataclass(repr=False)
class Run(Displayed):
    """
    The results of one or several runs of a function, such as training steps: arrays by name.

    `losses` holds the loss of each step and `loss` the last one (None in inference); `outputs` are the last step's,
    `params` the values before the first, `gradients` the first step's, `updated` the parameters, states and
    statistics after the last. `traffic` is what devices read from each other in one step, None without a mesh.

    `accuracies` are the shares of rows that each step classifies right, before its update, empty without a loss of
    classes (of several losses the first counts); `held_out` is that of samples of a data set that were not trained on,
    after the last step, None where nothing says it. `mantissas` are the bits that FAST's controller gave each
    conversion in each step, `densities` what is there of sparse operands in each step, `unit_products` what units
    that share products multiplied. `data` says what the inputs are
    where nobody gave any, and `seconds` is how long all steps took here, which is nothing that the program computes.
    """

    losses: list[float] = field(default_factory=list[float])
    accuracies: list[float] = field(default_factory=list[float])
    outputs: dict[str, Array] = field(default_factory=dict[str, Array])
    params: dict[str, Array] = field(default_factory=dict[str, Array])
    gradients: dict[str, Array] = field(default_factory=dict[str, Array])
    updated: dict[str, Array] = field(default_factory=dict[str, Array])
    traffic: Traffic | None = None
    data: str | None = None
    held_out: float | None = None
    mantissas: list[dict[Operation, int]] = field(default_factory=list[dict[Operation, int]])
    densities: list[dict[Operation, Density]] = field(default_factory=list[dict[Operation, Density]])
    unit_products: list[dict[Operation, dict[str, UnitCount]]] = field(
        default_factory=list[dict[Operation, dict[str, UnitCount]]]
    )
    seconds: float = 0.0

    @property
    def loss(self) -> float | None:
        """The loss of the last step."""
        return self.losses[-1] if self.losses else None

    def shown(self) -> Shown:
        arrays = {"output": self.outputs, "gradient": self.gradients, "updated": self.updated}
        held_out = None if self.held_out is None else f"accuracy {self.held_out:.1%}"
        return shown_run(self.losses, self.accuracies, arrays, {"data": self.data, "held out": held_out})


def argument_type(func: FuncOp, argument: Argument) -> Tensor:
    """The tensor type of an argument: the whole tensor, of which each device of a mesh may have a part."""
    type = func.function_type.inputs.data[argument.index]
    return _whole_type(func, argument_sharding(func, argument.index), type, f"argument '{argument.name}'")


def result_type(func: FuncOp, result: Result) -> Tensor:
    """The tensor type of a result: the whole tensor, of which each device of a mesh may have a part."""
    type = func.function_type.outputs.data[result.index]
    return _whole_type(func, result_sharding(func, result.index), type, f"result {result.index}")


def _whole_type(func: FuncOp, sharding: Sharding, type: Attribute, what: str) -> Tensor:
    """The tensor type of a value at the border of a function. Raises `SourceError` for what has no numpy array."""
    local, mesh = array_type(type), mesh_of(func)
    if local is None:
        raise SourceError(f"{what} is {type}, expected a number, or a tensor of them", location=location_of(func))
    return local if mesh is None else global_type(mesh, sharding, local)


def argument_shape(func: FuncOp, argument: Argument) -> tuple[int, ...]:
    """The shape of an argument: of the whole tensor, of which each device of a mesh may have a part."""
    return argument_type(func, argument).get_shape()


def bind(func: FuncOp, given: Mapping[str, Array], numbers: Numbers, seed: int) -> list[Array]:
    """
    The values of all arguments: the given ones by name, the others their initial value.

    An unknown name, a wrong shape or a missing input is a UsageError.
    """
    arguments = arguments_of(func)
    if len(arguments) != len(func.body.block.args):
        raise SourceError("an argument of the function has no name, so that no value can be given for it")
    names = [a.name for a in arguments]
    for name in given:
        if name not in names:
            raise UsageError(f"unknown input '{name}'", hint=did_you_mean(name, names))
    values: list[Array] = []
    for argument in arguments:
        type = argument_type(func, argument)
        if argument.name in given:
            value = np.asarray(given[argument.name])
            _check_given(argument.name, value, type)
        elif argument.kind is ArgumentKind.INPUT:
            raise UsageError(f"no value for input '{argument.name}'", hint=f"give an array of {shape_text(type)}")
        else:
            value = initial_value(argument, type.get_shape(), seed)
        values.append(numbers.hold(value, type.element_type))
    return values


def _check_given(name: str, value: Array, type: Tensor) -> None:
    if value.shape != type.get_shape():
        found = "x".join(map(str, value.shape)) or "scalar"
        raise UsageError(f"input '{name}' has shape {found}, expected {shape_text(type)}")
    if value.dtype.kind not in "biuf":
        raise UsageError(f"input '{name}' has element type {value.dtype}, expected numbers")
    if holds_integers(type):
        if value.dtype.kind == "f" and np.any(value != np.trunc(value)):
            raise UsageError(f"input '{name}' has fractions, expected integers")
        bits, name_of = bits_of(type.element_type), element_name(type.element_type)
        low, high = (0, 1) if bits == 1 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        if value.size and not (low <= value.min() and value.max() <= high):
            raise UsageError(f"input '{name}' has values beyond {low} to {high}, the range of {name_of}")


def call(
    module: ModuleOp, func: FuncOp, values: Sequence[Array], numbers: Numbers, *listeners: Interpreter.Listener
) -> PythonValues:
    """
    Run a function on values of all its arguments, as global tensors also where a mesh shards them.

    The listeners hear of each device. Raises `SourceError` for data that an operation cannot take, and for
    whatever operations of other dialects than npuc's raise.
    """
    mesh = mesh_of(func)
    devices = 1 if mesh is None else mesh.devices
    return _run(func, values, [_interpreter(module, numbers, listeners) for _ in range(devices)], numbers)[0]


def _interpreter(module: ModuleOp, numbers: Numbers, listeners: Sequence[Interpreter.Listener]) -> Interpreter:
    interpreter = Interpreter(module, listeners=(*listeners, Executing()))
    for functions in (FuncFunctions(), ArithFunctions(), ScfFunctions(), TileFunctions(numbers)):
        interpreter.register_implementations(functions)
    interpreter.register_implementations(NpuFunctions(numbers))
    interpreter.register_implementations(GroupFunctions(numbers))
    interpreter.register_implementations(train_functions(numbers))
    return interpreter


def _run(
    func: FuncOp, values: Sequence[Array], interpreters: Sequence[Interpreter], numbers: Numbers
) -> tuple[PythonValues, Traffic | None]:
    """The results of a function, with an interpreter for each device, and the traffic between the devices of a mesh."""
    mesh = mesh_of(func)
    try:
        with np.errstate(all="ignore"):  # infinities and NaN are values like others, at every level
            if mesh is None:
                given = (entering(value, arg.type) for value, arg in zip(values, func.body.block.args, strict=True))
                return _whole(func, interpreters[0].call_op(func, tuple(given)), numbers), None
            outcome = run_on_devices(func, mesh, values, interpreters, numbers)
            return outcome.results, outcome.traffic
    except (NpucError, MemoryError):
        raise
    except Exception as error:  # a defect of npuc is raised again; what other dialects raise may be of any kind
        places = (listener for one in interpreters for listener in one.listeners if isinstance(listener, Executing))
        op = next((place.op for place in places if place.op is not None), None)
        if not isinstance(error, _OF_DATA) and (op is None or op.name.partition(".")[0] in get_all_dialects()):
            raise
        location = None if op is None else location_of(op)
        reason = str(error) if isinstance(error, _OF_DATA) else summary(error)
        if op is not None and not str(error):
            reason = f"{op.name} does not take it"
        raise SourceError(f"the program cannot run on this data: {reason}", location=location) from error


def _whole(func: FuncOp, results: PythonValues, numbers: Numbers) -> PythonValues:
    """The results of a function as arrays; its tensors must be whole."""
    if not all(isinstance(result, np.ndarray | np.generic | int | float) for result in results):
        raise InterpretationError("a tensor was returned before npu.finish, which ends its stores")
    types = func.function_type.outputs.data
    return tuple(leaving(result, type, numbers) for result, type in zip(results, types, strict=True))


def _gathered(func: FuncOp, noted: Sequence[Gradients]) -> dict[str, Array]:
    """
    The gradients that the updates of all devices read, each assembled.

    A gradient has the sharding of the parameter that the update reads, perhaps a slice of it. Where the sharding is not
    known, as for an update in blocks of a slice, the gradient is left out.
    """
    mesh = mesh_of(func)
    if mesh is None:
        return dict(sorted(noted[0].found.items()))
    arguments = {a.name: a for a in arguments_of(func)}
    found: dict[str, Array] = {}
    for name, op in sorted(noted[0].updates.items()):
        if name in arguments:
            sharding = None if isinstance(op, ApplyOp) else sharding_of(func, op.operands[0])
            parts = [one.found[name] for one in noted]
            sharding = sharding or argument_sharding(func, arguments[name].index)
            if sharding.global_shape(mesh, parts[0].shape) == argument_type(func, arguments[name]).get_shape():
                found[name] = assemble(mesh, sharding, parts, f"gradient {name}", location_of(func))
    return found


def execute(
    module: ModuleOp,
    given: Mapping[str, Array],
    *,
    steps: int = 1,
    seed: int = 0,
    double: bool = False,
    feed: Callable[[int], Mapping[str, Array]] | None = None,
) -> Run:
    """
    Run `steps` training steps (or one inference) on the same inputs, each from the updated values of the one before.

    `given` holds values of any arguments by name; missing parameters are drawn from `seed`. `feed` has those
    inputs of each step that may differ from step to step, of the same names each time. `double` computes every float in
    float64; otherwise matrix products are added up in accumulators as the module's `npu.target` says.
    """
    func, numbers = the_function(module), Numbers(double, widths_of(module).accumulator_bits)
    mesh = mesh_of(func)
    devices = 1 if mesh is None else mesh.devices
    fed: Mapping[str, Array] = {} if feed is None else feed(0)
    values = bind(func, stacked(func, {**given, **fed}, argument_shape, seed), numbers, seed)
    arguments, results = arguments_of(func), results_of(func)
    params = {a.name: values[a.index] for a in arguments if a.kind is ArgumentKind.PARAM}
    units = units_of(module)
    run = Run(params=unstacked(func, params))
    by_index, begin = {a.index: a.name for a in arguments}, monotonic()
    for step in range(steps):
        tell(f"step {step + 1:,} of {steps:,}" + (f", loss {run.losses[-1]:.4g}" if run.losses else ""))
        if feed is not None and step:
            before, fed = fed, feed(step)
            for one in arguments:
                if one.name in fed and fed[one.name] is not before[one.name]:
                    values[one.index] = numbers.hold(fed[one.name], argument_type(func, one).element_type)
        noted, hits = [Gradients(numbers) for _ in range(devices)], [Hits() for _ in range(devices)]
        listeners, chosen, stored = zip(noted, hits, strict=True), Mantissas(), Densities()
        on_units = None if units is None else UnitProducts(units)
        more = (chosen, stored) if on_units is None else (chosen, stored, on_units)
        out, traffic = _run(
            func, values, [_interpreter(module, numbers, (*both, *more)) for both in listeners], numbers
        )
        run.mantissas += [chosen.found] if chosen.found else []
        run.densities += [stored.found] if stored.found else []
        run.unit_products += [on_units.found] if on_units is not None and on_units.found else []
        found = accuracy(hits)
        run.accuracies += [] if found is None else [found]
        if step == 0:
            run.gradients, run.traffic = _gathered(func, noted), traffic
            run.gradients |= {by_index[r.gradient]: out[r.index] for r in results if r.gradient is not None}
            run.gradients = unstacked(func, run.gradients)
        for result in results:
            if result.loss:
                run.losses.append(float(out[result.index]))
            if result.output is not None:
                run.outputs[result.output] = out[result.index]
            if result.updates is not None:
                values[result.updates] = out[result.index]
    run.seconds = monotonic() - begin
    changed = {r.updates for r in results if r.updates is not None}
    run.updated = unstacked(func, {a.name: values[a.index] for a in arguments if a.index in changed})
    return run
