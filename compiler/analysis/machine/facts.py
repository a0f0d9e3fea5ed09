"""
The facts of a machine in the IR: the dictionary attribute `npu.target` of a module.

A pass so needs nothing but the program:

    builtin.module attributes {npu.target = {rows = 128 : i64, cols = 128 : i64, dataflow = "os", …}} { … }
"""

from collections.abc import Mapping
from functools import lru_cache

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp, StringAttr, f64, i1, i64
from xdsl.ir import Attribute

from npuc.compiler.analysis.machine.fact import Fact as Fact
from npuc.compiler.analysis.machine.table import PES, Machine, machine_from
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.verify import location_of
from npuc.dialects.npu.widths import MANTISSA_BITS
from npuc.dialects.npu.widths import TARGET as TARGET

OF_MAPPINGS = frozenset((PES, MANTISSA_BITS))
"""The facts of a target that says no more than mappings depend on."""


def target_attr(facts: Mapping[str, Fact]) -> DictionaryAttr:
    """The facts as an attribute."""
    return DictionaryAttr({key: _fact_attr(value) for key, value in facts.items()})


@lru_cache(maxsize=1024, typed=True)
def _fact_attr(value: Fact) -> Attribute:
    match value:
        case bool():
            return IntegerAttr(int(value), i1)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value + 0.0, f64)  # -0.0, which is equal, as 0.0
        case _:
            return StringAttr(str(value))


@lru_cache(maxsize=64)
def machine_of_attr(attr: DictionaryAttr) -> Machine:
    """The machine of an `npu.target` attribute. Raises `UsageError` as `machine_from` does."""
    return machine_from(facts_in(attr))


def facts_in(attr: DictionaryAttr) -> dict[str, Fact]:
    """The facts of an attribute, by name. Raises `UsageError` for what is none."""
    facts: dict[str, Fact] = {}
    for key, value in attr.data.items():
        match value:
            case IntegerAttr():
                facts[key] = bool(value.value.data) if value.type == i1 else value.value.data
            case FloatAttr():
                facts[key] = value.value.data
            case StringAttr():
                facts[key] = value.data
            case _:
                raise UsageError(f"{TARGET}: {key} is {value}, expected a number, a string or a boolean")
    return facts


def processing_elements_of(module: ModuleOp) -> int | None:
    """The processing elements of the machine that a module was compiled for, None where it does not say."""
    attr = module.attributes.get(TARGET)
    found = attr.data.get(PES) if isinstance(attr, DictionaryAttr) else None
    return found.value.data if isinstance(found, IntegerAttr) else None


def machine_of(module: ModuleOp) -> Machine | None:
    """
    The machine that a module was compiled for, None where it does not say.

    One that is described for mappings alone is none here. Raises `UsageError`, at the module's place, as `machine_from`
    does.
    """
    attr = module.attributes.get(TARGET)
    if attr is None or (isinstance(attr, DictionaryAttr) and PES in attr.data and attr.data.keys() <= OF_MAPPINGS):
        return None
    try:
        if not isinstance(attr, DictionaryAttr):
            raise UsageError(f"{TARGET} is {attr}, expected a dictionary")
        return machine_of_attr(attr)
    except UsageError as e:
        raise UsageError(e.message, location=location_of(module), hint=e.hint) from None
