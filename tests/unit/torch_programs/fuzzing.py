"""Exported programs with mistakes: changed bytes, changed JSON, changed expressions of sizes, archives of odd files."""

from __future__ import annotations

import io
import json
import random
import zipfile
import zlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

DATA = Path(__file__).parents[2] / "oracle" / "data" / "torch"
NAMES = ("writes", "recurrent", "decoder", "cnn")
NUMBERS = (0, -1, 1, 3, 2**31, 2**53, 2**62, -(2**63), 2**64, 1e308, 0.5, float("nan"), float("inf"))
TEXTS = ("", "x", "torch.ops.aten.add.Tensor", "torch.ops.aten.cat.default", "self", "s27", "f" * 400, "é\u0000", "()")
OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [[]], {"as_int": 3}, {"as_tensor": {"name": "x"}})
EXPRESSIONS = (
    "s27",
    "2*s27 + 1",
    "s27//0",
    "2**(2**(2**64))",
    "((((((((((s27))))))))))",
    "(" * 500,
    "Mul(Integer(2), Symbol('s27', integer=True))",
    "Pow(Integer(9), Pow(Integer(9), Integer(99)))",
    "__import__('os').system('true')",
    "Max(1, Min(s27, 2)) % 0",
    "s27" + "+s27" * 5000,
    "1e400",
    "-s27",
    "s99",
)


class Archive:
    """The files of an exported program: its JSON, and the bytes of the others."""

    def __init__(self, path: Path):
        self.data = path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            self.files = {name: archive.read(name) for name in archive.namelist()}
        self.model = next(name for name in self.files if "/models/" in name)
        self.program: Any = json.loads(self.files[self.model])

    def packed(self, program: Any, changed: dict[str, bytes] | None = None, method: int = zipfile.ZIP_STORED) -> bytes:
        """The archive with another program, and with other files."""
        out = io.BytesIO()
        files = {**self.files, **(changed or {}), self.model: json.dumps(program).encode()}
        with zipfile.ZipFile(out, "w", method) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return out.getvalue()


def archives() -> list[Archive]:
    """The programs that are changed."""
    return [Archive(DATA / f"{name}.pt2") for name in NAMES]


def _keys(node: Any) -> list[Any]:
    """The keys of an object, the places of an array; none for other values."""
    if isinstance(node, dict):
        return list(cast("dict[str, Any]", node))
    return list(range(len(cast("list[Any]", node)))) if isinstance(node, list) else []


def _somewhere(program: Any, rng: random.Random) -> tuple[Any, Any]:
    """A container in a program, and a key of it."""
    node, stop = program, rng.uniform(0.02, 0.3)
    while True:
        key = rng.choice(_keys(node))
        if rng.random() < stop or not _keys(node[key]):
            return node, key
        node = node[key]


def _value(program: Any, rng: random.Random) -> Any:
    """A value of any kind: a number, a text, or one from elsewhere in the program."""
    match rng.randrange(6):
        case 0:
            return rng.choice(NUMBERS)
        case 1:
            return rng.choice(TEXTS)
        case 2:
            return deepcopy(rng.choice(OTHERS))
        case 3:
            return {"as_expr": {"expr_str": rng.choice(EXPRESSIONS), "hint": {"as_int": rng.choice((1, 4, 2**62))}}}
        case _:
            node, key = _somewhere(program, rng)
            return deepcopy(node[key])


def _changed_json(archive: Archive, rng: random.Random) -> bytes:
    program = deepcopy(archive.program)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        node, key = _somewhere(program, rng)
        match rng.randrange(4):
            case 0 if isinstance(node, list):
                del node[key]
            case 1 if isinstance(node, dict):
                del node[key]
            case 2 if isinstance(node, list):
                entries = cast("list[Any]", node)
                entries.insert(key, deepcopy(entries[key]))
            case _:
                node[key] = _value(program, rng)
    return archive.packed(program)


def _changed_sizes(archive: Archive, rng: random.Random) -> bytes:
    """A size of a tensor as an expression or another number."""
    program = deepcopy(archive.program)
    tensors = program["graph_module"]["graph"]["tensor_values"]
    for _ in range(rng.choice((1, 2))):
        one = tensors[rng.choice(list(tensors))]
        field = one[rng.choice(["sizes", "strides"])]
        text = rng.choice(EXPRESSIONS)
        if rng.random() < 0.4:
            text = "".join(rng.choice("s270123+-*/%(), '=<>.eMaxin") for _ in range(rng.randrange(1, 40)))
        size = (
            {"as_int": rng.choice((0, 1, 3, -1, 2**40, 2**62))}
            if rng.random() < 0.4
            else {"as_expr": {"expr_str": text, "hint": {"as_int": rng.choice((1, 4, 2**62))}}}
        )
        if field and rng.random() < 0.8:
            field[rng.randrange(len(field))] = size
        else:
            field.append(size)
    return archive.packed(program)


def _changed_calls(archive: Archive, rng: random.Random) -> bytes:
    """An argument of a call that is another's, or another operator."""
    program = deepcopy(archive.program)
    nodes = program["graph_module"]["graph"]["nodes"]
    for _ in range(rng.choice((1, 2, 4))):
        node, other = rng.choice(nodes), rng.choice(nodes)
        match rng.randrange(3):
            case 0:
                node["target"] = other["target"]
            case 1 if node["inputs"] and other["inputs"]:
                node["inputs"][rng.randrange(len(node["inputs"]))] = deepcopy(rng.choice(other["inputs"]))
            case _ if node["inputs"]:
                rng.choice(node["inputs"])["arg"] = rng.choice(
                    [
                        {"as_int": rng.choice((-1, 0, 7, 2**62))},
                        {"as_ints": [rng.choice((-1, 0, 1, 2**40)) for _ in range(rng.randrange(5))]},
                        {"as_float": rng.choice((0.0, -1.5, "NaN", "Infinity"))},
                        {"as_bool": True},
                        {"as_none": True},
                        {"as_string": "sum"},
                    ]
                )
            case _:
                nodes.remove(node)
    return archive.packed(program)


WRONG: tuple[Any, ...] = (
    *(
        None,
        True,
        -1,
        2**62,
        2**64,
        1.5,
        "",
        "s27",
        [],
        {},
        [None],
        [{}],
        {"name": None},
        {"name": 5},
        {"as_none": False},
    ),
    *({"as_int": "x"}, {"as_ints": None}, {"as_tensor": None}, {"as_tensors": [{"name": "x"}] * 3}, {"as_graph": None}),
    *({"as_sym_int": {"as_name": "s27"}}, {"as_sym_ints": [{"as_int": 2**62}]}, {"as_expr": {"expr_str": 5}}),
    *({"as_graph": {"name": "g", "graph": None}}, {"as_optional_tensors": [None]}, {"as_scalar_type": 99}),
)
"""Values that are of another type than a program has, or say less than they should."""
GRAPHS = (
    "wrap_with_set_grad_enabled",
    "wrap_with_autocast",
    "cond",
    "while_loop",
    "scan",
    "map_impl",
    "wrap",
    "invoke_subgraph",
)
"""Operators that take graphs."""


def _changed_types(archive: Archive, rng: random.Random) -> bytes:
    """Values of other types, as deep in the program as any."""
    program = deepcopy(archive.program)
    for _ in range(rng.choice((1, 1, 2, 3))):
        node, path = program, list[tuple[Any, Any]]()
        while _keys(node):
            path.append((node, rng.choice(_keys(node))))
            node = path[-1][0][path[-1][1]]
        around, key = rng.choice(path)
        around[key] = deepcopy(rng.choice(WRONG))
    return archive.packed(program)


def _changed_graphs(archive: Archive, rng: random.Random) -> bytes:
    """Calls in another order, or inside of graphs that calls of graphs take, many deep."""
    program = deepcopy(archive.program)
    graph = program["graph_module"]["graph"]
    if rng.random() < 0.3:
        rng.shuffle(graph["nodes"])
        return archive.packed(program)
    names, inner = list(graph["tensor_values"]), deepcopy(graph)
    call: Any = None
    for _ in range(rng.choice((1, 3, 20, 60))):
        name = rng.choice(names)
        given = [{"as_bool": False}, {"as_graph": {"name": "g", "graph": inner}}, {"as_tensors": [{"name": name}]}]
        given += [{"as_graph": {"name": "h", "graph": None}}, {"as_tensor": {"name": name}}]
        rng.shuffle(given)
        inputs = [{"name": "", "arg": one, "kind": 1} for one in given]
        target = f"torch.ops.higher_order.{rng.choice(GRAPHS)}"
        call = {"target": target, "inputs": inputs, "outputs": [{"as_tensor": {"name": name}}], "metadata": {}}
        inner = {**graph, "inputs": [], "outputs": call["outputs"], "nodes": [call]}
    graph["nodes"].insert(rng.randrange(len(graph["nodes"])), call)
    return archive.packed(program)


def _changed_bytes(archive: Archive, rng: random.Random) -> bytes:
    data = bytearray(archive.data)
    match rng.randrange(4):
        case 0:
            del data[rng.randrange(len(data)) :]
        case 1:
            at = rng.randrange(len(data))
            data[at:at] = rng.randbytes(rng.randrange(1, 40))
        case 2:  # the directory at the end, which says where all lies
            for _ in range(rng.randrange(1, 6)):
                data[-rng.randrange(1, min(600, len(data)))] = rng.randrange(256)
        case _:
            for _ in range(rng.randrange(1, 9)):
                data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def _changed_archive(archive: Archive, rng: random.Random) -> bytes:
    """Other files: doubled, missing, with odd names, or that inflate to far more."""
    names = list(archive.files)
    match rng.randrange(4):
        case 0:
            files = {rng.choice(names): zlib.compress(bytes(rng.randrange(200_000)))}
            return archive.packed(archive.program, files, zipfile.ZIP_DEFLATED)
        case 1:
            folder = archive.model.partition("/")[0]
            odd = rng.choice(("../x", "/etc/passwd", f"{folder}/models/other.json", f"{folder}/" + "n" * 3000, "é/x"))
            return archive.packed(archive.program, {odd: b"{}"})
        case 2:
            gone = Archive.__new__(Archive)
            vars(gone).update(vars(archive))
            gone.files = {name: data for name, data in archive.files.items() if name != rng.choice(names)}
            return gone.packed(archive.program)
        case _:
            text = json.dumps(archive.program)
            cut = text[: rng.randrange(len(text))] + rng.choice(("", "]" * 50, "[" * 5000, '{"a":' * 3000, "\\ud800"))
            gone = Archive.__new__(Archive)
            vars(gone).update(vars(archive))
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as written:
                for name, content in archive.files.items():
                    written.writestr(name, cut.encode() if name == archive.model else content)
            return out.getvalue()


CHANGES: tuple[Callable[[Archive, random.Random], bytes], ...] = (
    _changed_json,
    _changed_sizes,
    _changed_calls,
    _changed_types,
    _changed_graphs,
    _changed_bytes,
    _changed_archive,
)


def programs(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """So many changed programs, each with what tells it apart in a message."""
    rng, sources = random.Random(seed), archives()
    for number in range(count):
        change, archive = CHANGES[number % len(CHANGES)], rng.choice(sources)
        yield f"{change.__name__} {number} of seed {seed}", change(archive, rng)
