"""
The process that has JAX's MLIR: it reads a module from its input and writes it as plain data.

It is a process of its own because the reader is native code: a hostile file may end it, never npuc. Nothing of the
program is executed.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import re
import sys
from typing import Any

import msgspec

from npuc.frontends.jax.program import Answer, Failure, HloDense, HloFunction, HloModule, HloOp, HloRegion, HloType

BYTECODE = b"ML\xefR"
PORTABLE = b"StableHLO_v"
MAX_VALUES = 2_000_000
_STACK = re.compile(r'loc\("((?:[^"\\]|\\.)*)"(?:\(|\))')
_LINE = re.compile(r'"([^"\n]+)":(\d+):(\d+)')
_FIELD = re.compile(r"(\w+) = (?:\[([^\]]*)\]|(-?\d+))")
_CHOICE = re.compile(r"#\w+<\w+ (\w+)>")
_TEXT = "-"
"""MLIR's name of the text that it reads: places in it are those of a module that has no names of its sources."""
_AT = re.compile(r'^.*?"-":(\d+):(\d+): ')
_LONGEST = 400
"""The characters of a place that are looked at."""


class _Reader:
    """One run over a module."""

    def __init__(self, module: Any):
        from jaxlib.mlir import ir

        self.ir = ir
        self.module = module
        self.types: list[HloType] = []
        self.numbers: dict[Any, int] = {}
        self.kinds: dict[str, HloType | None] = {}

    def run(self) -> Answer:
        functions: dict[str, HloFunction] = {}
        public: list[str] = []
        for op in self.module.body.operations:
            op = op.operation
            if op.name != "func.func":
                continue
            name = self.ir.StringAttr(op.attributes["sym_name"]).value
            visibility = op.attributes["sym_visibility"] if "sym_visibility" in op.attributes else None
            if visibility is None or self.ir.StringAttr(visibility).value == "public":
                public.append(name)
            if not op.regions[0].blocks:
                return Answer(failure=Failure(f"the function '{name}' has no body"))
            functions[name] = self._function(name, op)
        main = "main" if "main" in functions else public[0] if len(public) == 1 else None
        if main is None:
            return Answer(failure=Failure(f"found {len(public)} public functions, expected one or 'main'"))
        return Answer(module=HloModule(functions, main, tuple(self.types)))

    def _function(self, name: str, op: Any) -> HloFunction:
        if len(op.regions[0].blocks) != 1:
            raise _Unreadable(f"the function '{name}' has {len(op.regions[0].blocks)} blocks, expected one")
        block = op.regions[0].blocks[0]
        body = self._region(block)
        names = tuple(self._place(argument.location)[0] for argument in block.arguments)
        given = self._named(op, "arg_attrs")
        results = self._named(op, "res_attrs")
        return HloFunction(name, body, given if any(given) else names, results)

    def _named(self, op: Any, key: str) -> tuple[str, ...]:
        """The names that arguments or results have by attributes: JAX's, or npuc's own."""
        if key not in op.attributes:
            return ()
        found: list[str] = []
        for one in self.ir.ArrayAttr(op.attributes[key]):
            entries = self.ir.DictAttr(one)
            own = next((name for name in ("jax.result_info", "npuc.name") if name in entries), None)
            found.append(self.ir.StringAttr(entries[own]).value if own else "")
        return tuple(found)

    def _region(self, block: Any) -> HloRegion:
        arguments = tuple(self._value(argument) for argument in block.arguments)
        return HloRegion(arguments, tuple(self._op(op.operation) for op in block.operations))

    def _op(self, op: Any) -> HloOp:
        operands = tuple(self.numbers[value] for value in op.operands)
        regions = []
        for region in op.regions:
            if len(list(region.blocks)) != 1:
                raise _Unreadable(f"a region of {op.name} has other than one block")
            regions.append(self._region(region.blocks[0]))
        results = tuple(self._value(value) for value in op.results)
        ints: dict[str, list[int]] = {}
        texts: dict[str, str] = {}
        dense: dict[str, HloDense] = {}
        for one in op.attributes:
            name = one if isinstance(one, str) else one.name
            self._attribute(name, op.attributes[name], ints, texts, dense)
        stack, line, at = self._place(op.location)
        return HloOp(op.name, operands, results, ints, texts, dense, tuple(regions), stack, line, at)

    def _attribute(self, name: str, attr: Any, ints: Any, texts: Any, dense: Any) -> None:
        ir = self.ir
        if isinstance(attr, ir.DenseI64ArrayAttr | ir.DenseBoolArrayAttr):
            ints[name] = [int(number) for number in attr]
        elif isinstance(attr, ir.IntegerAttr | ir.BoolAttr):
            ints[name] = [int(attr.value)]
        elif isinstance(attr, ir.StringAttr):
            texts[name] = attr.value
        elif isinstance(attr, ir.DenseElementsAttr):
            dense[name] = self._dense(attr)
        else:
            text = str(attr)
            choice = _CHOICE.fullmatch(text)
            texts[name] = choice.group(1) if choice else text
            if text.startswith("#stablehlo."):
                for field, listed, number in _FIELD.findall(text):
                    ints[field] = [int(part) for part in (listed or number).replace(",", " ").split()]

    def _dense(self, attr: Any) -> HloDense:
        import numpy as np

        type = self._type(attr.type)
        if attr.is_splat:
            value = attr.get_splat_value()
            found = np.array(value.value if hasattr(value, "value") else np.nan)
        else:
            found = np.asarray(attr)
        element = type.element
        if element in ("f16", "bf16"):
            found = found.astype("float32")
        elif element in ("bool",):
            found = found.astype("bool")
        elif element in ("f32", "f64"):
            found = found.astype("float32" if element == "f32" else "float64")
        elif element[:1] in "iu" and element.lstrip("ui").isdigit():
            bits = element.lstrip("ui")
            wanted = f"{'uint' if element.startswith('ui') else 'int'}{bits}"
            found = found.astype(wanted if bits in ("8", "16", "32", "64") else "int64")
        else:
            raise _Unreadable(f"found a constant of {element}, expected numbers")
        return HloDense(type.shape, element, found.dtype.str, found.tobytes())

    def _value(self, value: Any) -> int:
        if len(self.types) >= MAX_VALUES:
            raise _Unreadable(f"found more than {MAX_VALUES:,} values")
        self.numbers[value] = number = len(self.types)
        self.types.append(self._type(value.type))
        return number

    def _type(self, type: Any) -> HloType:
        text = str(type)
        if text not in self.kinds:
            self.kinds[text] = self._kind(type)
        found = self.kinds[text]
        if found is None:
            raise _Unreadable(f"found a value of type {text}, expected a tensor of known sizes")
        return found

    def _kind(self, type: Any) -> HloType | None:
        ir = self.ir
        if not isinstance(type, ir.RankedTensorType) or not type.has_static_shape:
            return None
        element = str(type.element_type)
        return HloType(tuple(type.shape), "bool" if element == "i1" else element)

    def _place(self, location: Any) -> tuple[str, str, tuple[int, int] | None]:
        """JAX's name of a place, and the line of the source, or line and column of the module's own text."""
        text = str(location)[: _LONGEST * 10]
        stack, line = _STACK.match(text), _LINE.search(text)
        name = stack.group(1)[:_LONGEST] if stack else ""
        if line is None or line.group(1) == _TEXT:
            return name, "", (int(line.group(2)), int(line.group(3))) if line else None
        return name, f"{line.group(1)}:{line.group(2)}", None


class _Unreadable(Exception):
    """A module that has what no network has."""


def read(data: bytes) -> Answer:
    """The module in a file's bytes."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo

    context = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    sdy.register_dialect(context)
    mhlo.register_mhlo_dialect(context)
    chlo.register_dialect(context)
    stablehlo.register_dialect(context)
    with context:
        try:
            if data.startswith(BYTECODE) and PORTABLE in data[:64]:
                module = stablehlo.deserialize_portable_artifact(context, data)
            else:
                module = ir.Module.parse(data if data.startswith(BYTECODE) else data.decode())
            return _Reader(module).run()
        except _Unreadable as error:
            return Answer(failure=Failure(str(error)))
        except (ir.MLIRError, ValueError, KeyError) as error:
            return Answer(failure=Failure(_first(str(error)), "expected a module of StableHLO, as JAX 0.10 writes it"))


def _first(text: str) -> str:
    """The first line of a message that says what is wrong."""
    lines = [line.strip() for line in text.splitlines() if "error:" in line] or [text.strip().splitlines()[0]]
    line = lines[0].partition("error: ")[2] or lines[0]
    return _AT.sub(lambda at: "" if at[1] == "0" else f"line {at[1]}, column {at[2]}: ", line)


def main() -> None:
    """
    Read a module from the input, write it to the output.

    The arguments are the most bytes of address space, and the most seconds of a processor.
    """
    try:
        import resource

        limit, seconds = map(int, sys.argv[1:])
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    except (ImportError, ValueError, OSError):
        pass  # a system without such limits
    try:
        answer = read(sys.stdin.buffer.read())
    except ImportError as error:
        answer = Answer(failure=Failure(f"cannot load JAX's MLIR: {error}", 'pip install "npuc[jax]"'))
    except (MemoryError, RecursionError):
        answer = Answer(failure=Failure("found a module that takes too much memory"))
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    main()
