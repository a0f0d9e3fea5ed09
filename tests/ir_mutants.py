"""
Texts and programs that differ from one in a few places.

A mutant still looks like IR: a number, string, name, type or value stands where another one of its kind should, an
entry of a dictionary or an operand is missing or there twice, a line is gone, doubled or elsewhere.
"""

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|%[\w.$-]+|![\w.]+(?:<[^<>\n]*>)?|#[\w.]+|tensor<[^<>\n]*>|-?\d+\.\d[\de+-]*|'
    r"-?\d+|[A-Za-z_][\w.$-]*|->|\S"
)
NUMBERS = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "2147483648",
    "1152921504606846976",
    "9223372036854775807",
    "9" * 30,
    "0.0",
    "1e300",
]
TYPES = [
    "tensor<f32>",
    "tensor<0xf32>",
    "tensor<1xf32>",
    "tensor<?xf32>",
    "tensor<4x6xi32>",
    "f32",
    "i1",
    "index",
    "i64",
    "tensor<4x6xf16>",
    "memref<4xf32>",
    "tensor<1152921504606846976x4xf32>",
    "none",
    "tensor<4x6xcomplex<f32>>",
]
WORDS = ['"forward"', '"dx"', '"dxdw"', '"nonsense"', '""', "unit", "[]", "{}", "f32", "index", "true", "()"]
ATTRS = [
    'role = "nonsense"',
    'layer = "fc"',
    "repeat = -3 : i64",
    'role = "dw"',
    "repeat = 9223372036854775807 : i64",
    "recompute",
    'sparsity = "2:4"',
    'sparsity = "9:4"',
    "mapping = 3",
    "train.loss",
    'train.param = "fc"',
    "role = 3 : i64",
    "train.updates = 7 : i64",
    "train.gradient = -1 : i64",
    'train.state = "x"',
    "npu.target = {}",
    "layer",
    "repeat = 0 : i8",
]


def mutant(text: str, random: Random) -> str:
    """A text that differs from `text` in one to three places."""
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        text = random.choice(MUTATIONS)(text, random)
    return text


def _of_its_kind(text: str, random: Random) -> str:
    """One token is another one of its kind, from elsewhere in the text or from a pool."""
    found = random.choice(list(_TOKEN.finditer(text)) or [None])
    if found is None:
        return text
    token = found.group()
    tokens = _TOKEN.findall(text)
    if token[0].isdigit() or (token[0] == "-" and len(token) > 1 and token[1].isdigit()):
        pool = [*NUMBERS, str(random.randint(-9, 40))]
    elif token.startswith("tensor") or token[0] == "!":
        pool = [*TYPES, *(t for t in tokens if t.startswith(("tensor", "!")))]
    elif token[0] == "%":
        pool = [t for t in tokens if t[0] == "%"]
    elif token[0] == '"':
        pool = [*WORDS, *(t for t in tokens if t[0] == '"')]
    else:
        pool = [*WORDS, *(t for t in tokens if t[0].isalpha() or t[0] == "_")]
    return text[: found.start()] + random.choice(pool) + text[found.end() :]


def _number(text: str, random: Random) -> str:
    """Another number."""
    found = random.choice(list(re.finditer(r"(?<![%\w.])-?\d+(\.\d+)?(?![\w.])", text)) or [None])
    return text if found is None else text[: found.start()] + random.choice(NUMBERS) + text[found.end() :]


def _entry(text: str, random: Random) -> str:
    """An entry of a dictionary, a list or a list of operands less, twice, or one more."""
    found = random.choice(list(re.finditer(r"(?<=[,{(\[<])[^,{}()\[\]<>\n]+(,\s*)?", text)) or [None])
    if found is None:
        return text
    part = found.group()
    bare = part.strip().removesuffix(",")
    new = random.choice(["", f"{bare}, {part}", f"{random.choice(ATTRS)}, {part}", f"{random.choice(WORDS)}"])
    return text[: found.start()] + new + text[found.end() :]


def _value(text: str, random: Random) -> str:
    """Two values change places, or an operand is another value."""
    places = list(re.finditer(r"%[\w.$-]+", text))
    if len(places) < 2:
        return text
    a, b = sorted(random.sample(places, 2), key=lambda m: m.start())
    if random.random() < 0.5:
        return text[: a.start()] + b.group() + text[a.end() :]
    return text[: a.start()] + b.group() + text[a.end() : b.start()] + a.group() + text[b.end() :]


def _line(text: str, random: Random) -> str:
    """A line less, twice, or elsewhere."""
    lines = text.split("\n")
    place, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(3):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[place])
        case _:
            lines[place], lines[other] = lines[other], lines[place]
    return "\n".join(lines)


def _attribute(text: str, random: Random) -> str:
    """An operation or an argument has an attribute more."""
    found = random.choice(list(re.finditer(r"\{(?=[a-z]+[\w.]* *[=,}])", text)) or [None])
    return text if found is None else text[: found.end()] + random.choice(ATTRS) + ", " + text[found.end() :]


def _role(text: str, random: Random) -> str:
    """Another role, layer or kind."""
    found = random.choice(list(re.finditer(r'(role|layer|kind|sparsity|optimizer) = "[^"\n]*"', text)) or [None])
    if found is None:
        return text
    value = random.choice(['"nonsense"', '""', '"dx"', '"dw"', '"update"', '"comm"', '"dxdw"', "3 : i64", "unit", "[]"])
    return text[: found.start()] + f"{found.group(1)} = {value}" + text[found.end() :]


def _function(text: str, random: Random) -> str:
    """No function, or two."""
    start = text.find("func.func")
    end = text.rfind("}", 0, text.rfind("}"))
    if start < 0 or end < 0:
        return text
    body = text[start : end + 1]
    second = re.sub(r"@[\w.$-]+", "@second", body, count=1)
    new = random.choice(["", f"{body}\n{second}", re.sub(r"\{\n.*\}", "", body, flags=re.DOTALL), f"{body}\n{body}"])
    return text[:start] + new + text[end + 1 :]


MUTATIONS: Sequence[Callable[[str, Random], str]] = (
    _of_its_kind,
    _of_its_kind,
    _number,
    _entry,
    _entry,
    _value,
    _line,
    _attribute,
    _role,
    _function,
)


def changed(module: ModuleOp, random: Random) -> ModuleOp:
    """A copy of a module in which one to three attributes, operands, types or operations are others."""
    module = module.clone()
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        ops = [op for op in module.walk() if op is not module]
        if not ops:
            break
        random.choice([_put_attribute, _put_property, _put_property, _put_operand, _put_type, _put_op])(ops, random)
    return module


POOL: list[Attribute] = [
    *(IntegerAttr(n, i64) for n in (0, 1, -1, 2, 3, 7, 1 << 31, 1 << 60)),
    *(FloatAttr(x, f64) for x in (0.0, -1.0, 1e300, float("nan"), float("inf"))),
    *(StringAttr(s) for s in ("", "nonsense", "dx", "dw", "update", "fc", "2:4", "9:4", "mean", "sum")),
    *(ArrayAttr([]), ArrayAttr([IntegerAttr(1, i64)]), ArrayAttr([StringAttr("x")]), DictionaryAttr({}), UnitAttr()),
    *(DenseArrayBase.from_list(i64, values) for values in ([], [0], [1], [-1, 2], [1 << 60, 1], [0, 0, 0, 0], [9, 9])),
    *(i64, f32, IntegerAttr.from_bool(True)),
]
"""What an attribute may be instead."""
NAMED = ("role", "layer", "repeat", "sparsity", "mapping", "recompute", "tensor")


def _some_attribute(ops: list[Operation], random: Random) -> Attribute:
    """An attribute from the pool, or one that some operation has."""
    others = [a for op in ops for a in (*op.attributes.values(), *op.properties.values())]
    return random.choice(others) if others and random.random() < 0.4 else random.choice(POOL)


def _put_attribute(ops: list[Operation], random: Random) -> None:
    op = random.choice(ops)
    op.attributes[random.choice([*NAMED, *op.attributes])] = _some_attribute(ops, random)


def _put_property(ops: list[Operation], random: Random) -> None:
    """A property is another one, less, or another one inside of it."""
    op = random.choice([op for op in ops if op.properties] or ops)
    if not op.properties:
        return
    name = random.choice(list(op.properties))
    old = op.properties[name]
    if random.random() < 0.2:
        del op.properties[name]
    elif random.random() < 0.5:
        op.properties[name] = _within(old, ops, random)
    else:
        alike = [o.properties[name] for o in ops if name in o.properties]
        op.properties[name] = random.choice([random.choice(alike), _some_attribute(ops, random)])


def _within(attr: Attribute, ops: list[Operation], random: Random) -> Attribute:
    """An attribute in whose inside something is another one, less, or there twice."""
    if isinstance(attr, ArrayAttr) and (array := cast("ArrayAttr[Attribute]", attr)).data:
        items = list(array.data)
        place = random.randrange(len(items))
        items[place : place + 1] = random.choice(
            [[], [items[place]] * 2, [random.choice(items)], [_within(items[place], ops, random)]]
        )
        return ArrayAttr(items)
    if isinstance(attr, DictionaryAttr):
        entries = dict(attr.data)
        key = random.choice([*entries, *NAMED, "train.loss", "train.param", "train.updates", "kind", "eps", "lr"])
        if key in entries and random.random() < 0.4:
            del entries[key]
        else:
            entries[key] = _within(entries[key], ops, random) if key in entries else _some_attribute(ops, random)
        return DictionaryAttr(entries)
    if isinstance(attr, DenseArrayBase):
        values = [*map(int, attr.get_values())] or [1]
        values[random.randrange(len(values))] = random.choice([-1, 0, 1, 2, 5, 1 << 31, 1 << 60])
        return DenseArrayBase.from_list(i64, values[random.choice([0, 0, 0, 1]) :])
    if isinstance(attr, IntegerAttr):
        return IntegerAttr(random.choice([-1, 0, 1, 2, 5, 1 << 31, 1 << 60]), cast("IntegerAttr[Any]", attr).type)
    return _some_attribute(ops, random)


def _values(ops: list[Operation]) -> list[SSAValue]:
    """The values of a program."""
    arguments = [arg for op in ops for region in op.regions for block in region.blocks for arg in block.args]
    return [*arguments, *(result for op in ops for result in op.results)]


def _put_operand(ops: list[Operation], random: Random) -> None:
    """An operand is another value that is there before, of the same type more often than not."""
    op = random.choice([op for op in ops if op.operands] or ops)
    if not op.operands:
        return
    place = random.randrange(len(op.operands))
    before = _values(ops[: ops.index(op)])
    alike = [value for value in before if value.type == op.operands[place].type]
    pool = alike if alike and random.random() < 0.7 else before
    if pool:
        op.operands[place] = random.choice(pool)


def _put_type(ops: list[Operation], random: Random) -> None:
    """A value has another type: that of another value, or one with another size."""
    values = _values(ops)
    value, other = random.choice(values), random.choice(values).type
    old = value.type
    if random.random() < 0.6 and isinstance(old, TensorType) and old.get_shape():
        shape = list(old.get_shape())
        shape[random.randrange(len(shape))] = random.choice([-1, 0, 1, 2, 3, 5, 1 << 31, 1 << 60])
        other = TensorType(cast("TensorType[Attribute]", old).element_type, shape)
    Rewriter.replace_value_with_new_type(value, other)


def _put_op(ops: list[Operation], random: Random) -> None:
    """An operation less, twice, or elsewhere."""
    op = random.choice(ops)
    if op.parent is None:
        return
    if random.random() < 0.3:
        op.parent.insert_op_after(op.clone(), op)
    elif not any(result.uses for result in op.results):
        op.detach()
        op.erase()
