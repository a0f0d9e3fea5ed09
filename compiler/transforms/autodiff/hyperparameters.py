"""The hyperparameters of the optimizer that a forward function names."""

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, UnitAttr

from npuc.compiler.layers.optimizer import OptimizerRule, Option, option_problem, options_problem
from npuc.dialects.train.base import encode


def hyperparameters(spec: DictionaryAttr, rule: OptimizerRule) -> dict[str, Option]:
    """
    The hyperparameters that `train.optimizer` states, and the defaults that differ from the operation's own.

    Raises `ValueError` for what the optimizer does not take.
    """
    options: dict[str, Option] = {}
    for name, attr in spec.data.items():
        if name == "kind":
            continue
        if name in rule.defaults and isinstance(attr, UnitAttr if rule.takes_flag(name) else FloatAttr):
            options[name] = True if isinstance(attr, UnitAttr) else float(attr.value.data)
        else:
            raise ValueError(f" has a wrong option '{name}', {_expected(rule)}")
        problem = option_problem(name, options[name])
        if problem is not None:
            raise ValueError(f", option '{name}': {problem}")
    properties = rule.op.get_irdl_definition().properties
    for name, default in rule.defaults.items():
        if name in options:
            continue
        if default is None:
            raise ValueError(f" lacks {name}, {_expected(rule)}")
        if default and name in properties and properties[name].default_value != encode(default):
            options[name] = default
    conflict = options_problem(options)
    if conflict is not None:
        raise ValueError(f", option '{conflict[0]}': {conflict[1]}")
    return options


def _expected(rule: OptimizerRule) -> str:
    flags = [name for name in rule.defaults if rule.takes_flag(name)]
    numbers = [name for name in rule.defaults if name not in flags]
    text = f"expected floats among {', '.join(numbers)}"
    return f"{text} and units among {', '.join(flags)}" if flags else text
