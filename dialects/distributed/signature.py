"""
The shardings of the arguments and results of a function on a mesh: their attributes `dist.sharding`.

    func.func @step(%w: tensor<8x8xf32> {train.param = "w", dist.sharding = #dist.sharding<[[0], []]>})
        -> (tensor<8x8xf32> {train.updates = 0 : i64, dist.sharding = #dist.sharding<[[0], []]>})
        attributes {dist.mesh = #dist.mesh<[2]>}

Types are those of one device. An argument or result without the attribute is replicated.
"""

from collections.abc import Iterator

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from npuc.dialects.distributed.mesh import MESH, Mesh, mesh_of
from npuc.dialects.distributed.sharding import SHARDING, Sharding, ShardingAttr
from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.signature import Entries, argument_entries, arguments_of, result_entries, results_of


def argument_shardings(func: FuncOp) -> list[Sharding]:
    """The sharding of each argument of a function."""
    return [argument_sharding(func, index) for index in range(len(func.function_type.inputs.data))]


def result_shardings(func: FuncOp) -> list[Sharding]:
    """The sharding of each result of a function."""
    return [result_sharding(func, index) for index in range(len(func.function_type.outputs.data))]


def argument_sharding(func: FuncOp, index: int) -> Sharding:
    """The sharding of an argument of a function, given by number."""
    return _sharding(func.arg_attrs, index, func.function_type.inputs.data[index])


def result_sharding(func: FuncOp, index: int) -> Sharding:
    """The sharding of a result of a function, given by number."""
    return _sharding(func.res_attrs, index, func.function_type.outputs.data[index])


def _sharding(attrs: ArrayAttr[DictionaryAttr] | None, index: int, type: Attribute) -> Sharding:
    given = () if attrs is None else attrs.data
    entries: Entries = given[index].data if index < len(given) else {}
    attr = entries.get(SHARDING)
    return attr.data if isinstance(attr, ShardingAttr) else Sharding.whole(len(_shape(type)))


def _shape(type: Attribute) -> tuple[int, ...]:
    return type.get_shape() if isinstance(type, TensorType) else ()


def global_type(mesh: Mesh, sharding: Sharding, local: Tensor) -> Tensor:
    """The global type of a tensor whose type on a device is `local`."""
    return tensor_of(local.element_type, sharding.global_shape(mesh, local.get_shape()))


def sharding_problems(func: FuncOp) -> Iterator[str]:
    """What is wrong with the mesh of a function and the shardings of its arguments and results, a sentence each."""
    stated, mesh = func.attributes.get(MESH), mesh_of(func)
    if stated is not None and mesh is None:
        yield f"{MESH} is {stated}, expected #dist.mesh<[…]>"
        return
    names = {a.index: f"argument '{a.name}'" for a in arguments_of(func)}
    problems: list[str] = []
    for number, entries in enumerate(argument_entries(func)):
        place = names.get(number, f"argument {number}")
        problems += [f"{place}: {p}" for p in _problems(mesh, entries, func.function_type.inputs.data[number])]
    for number, entries in enumerate(result_entries(func)):
        problems += [f"result {number}: {p}" for p in _problems(mesh, entries, func.function_type.outputs.data[number])]
    yield from problems
    if mesh is not None and not problems:
        yield from _disagreements(func, names)


def _problems(mesh: Mesh | None, entries: Entries, type: Attribute) -> Iterator[str]:
    """What is wrong with the sharding of one argument or result."""
    attr = entries.get(SHARDING)
    if attr is None:
        return
    if mesh is None:
        yield f"it has {SHARDING}, the function has no {MESH}"
    elif not isinstance(attr, ShardingAttr):
        yield f"{SHARDING} is {attr}, expected #dist.sharding<[…]>"
    else:
        yield from attr.data.problems(mesh, _shape(type))


def _disagreements(func: FuncOp, names: dict[int, str]) -> Iterator[str]:
    """Results whose sharding differs from that of the argument which they update or whose gradient they are."""
    arguments, results = argument_shardings(func), result_shardings(func)
    for number, sharding in enumerate(arguments):
        if sharding.partial:
            yield f"{names.get(number, f'argument {number}')}: it holds addends, expected a whole or cut value"
    for result in results_of(func):
        sharding = results[result.index]
        if sharding.partial and (result.loss or result.updates is not None):
            yield f"result {result.index}: it holds addends, expected a whole or cut value"
        number = result.gradient if result.updates is None else result.updates
        if number is not None and 0 <= number < len(arguments) and sharding.axes != arguments[number].axes:
            what = "which it updates" if result.gradient is None else "whose gradient it is"
            place = names.get(number, f"argument {number}")
            yield f"result {result.index} is sharded as {sharding}, {place}, {what}, as {arguments[number]}"
