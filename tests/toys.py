"""The tasks of the house: of each a small addition, as a contributor would write it, and the files that it touches."""

from dataclasses import dataclass

from tests.tree_copy import Addition

SOURCES = {
    "dialect": '''"""The third power of each element."""

from xdsl.irdl import irdl_op_definition

from npuc.dialects.train.unary import FloatUnaryOp, UnaryGradOp


@irdl_op_definition
class CubeOp(FloatUnaryOp):
    """`train.cube %x`: the third power."""

    name = "train.cube"


@irdl_op_definition
class CubeGradOp(UnaryGradOp):
    """`train.cube_grad %dy, %x`: 3 x^2 dy."""

    name = "train.cube_grad"
''',
    "layer": '''"""The third power of each element."""

from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.base import PerElementLayer
from npuc.dialects.train.cube import CubeGradOp, CubeOp


class CubeLayer(PerElementLayer[CubeOp]):
    """x^3."""

    op = CubeOp
    elementwise = True
    steps = 2

    def evaluate(self, op, x):
        return (x * x * x,)

    def vjp(self, op, grads, needs, emit):
        return [emit(CubeGradOp(grads[0], op.x)).dx]


class CubeGradLayer(PerElementLayer[CubeGradOp]):
    """3 x^2 dy."""

    op = CubeGradOp
    elementwise = True
    steps = 3

    def evaluate(self, op, dy, x):
        return (3 * x * x * dy,)


def cube(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """The third power of each element."""
    return b.emit(CubeOp(x)).out


LAYERS = (CubeLayer(), CubeGradLayer())
FUNCTIONS = (cube,)
''',
    "update": '''

@irdl_op_definition
class SignOp(TrainOp):
    """`%w1 = train.sign_step %w, %dw lr 0.5`: w1 = w - lr sign(dw)."""

    name = "train.sign_step"

    param = operand_def(TensorType)
    grad = operand_def(TensorType)
    lr = prop_def(FloatAttr)
    new_param = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(param: Tensor, grad: Tensor, *, lr: float) -> Types:
        check_like(param, grad)
        return (param,)
''',
    "rule": '''
class SignLayer(PerElementLayer[SignOp]):
    """A step of one size against the gradient's sign."""

    op = SignOp
    elementwise = True
    steps = 3

    def evaluate(self, op: SignOp, *arrays: Array) -> tuple[Array, ...]:
        w, grad = arrays
        return (w - w.dtype.type(op.lr.value.data) * ((grad > 0).astype(w.dtype) - (grad < 0).astype(w.dtype)),)

''',
    "pass": '''"""Pass `say-count`: says how many operations a module has."""

from dataclasses import dataclass

from xdsl.passes import ModulePass


@dataclass(frozen=True)
class SayCountPass(ModulePass):
    """Say how many operations there are."""

    name = "say-count"

    def apply(self, ctx, op):
        print(f"{self.name}: {sum(1 for _ in op.walk()) > 1}")
''',
    "collective": '''"""A thousand steps around a switch."""

from npuc.compiler.analysis.interconnect.algorithm import Algorithm, TransferCost


class Slow(Algorithm):
    """A thousand steps."""

    kinds = ("switch",)

    def scatter(self, group):
        return TransferCost(1000)

    def exchange(self, group):
        return TransferCost(1000)

    def message(self, group, pairs):
        return TransferCost(1000)


ALGORITHM = Slow()
''',
    "frontend": '''"""Widths of a multi-layer perceptron."""

from dataclasses import replace

from npuc.frontends.base import Frontend
from npuc.frontends.dsl.frontend import FRONTEND as LANGUAGE


class Widths(Frontend):
    """Widths of linear layers, separated by spaces."""

    name = "widths"
    title = "a list of widths"

    def read(self, source, request):
        first, *others = map(int, source.text.split())
        text = f"network mlp(batch=4) {{\\n  input x: f32[batch, {first}]\\n  h = x\\n"
        text += "".join(f"  h{n} = linear({f'h{n - 1}' if n else 'h'}, {width})\\n" for n, width in enumerate(others))
        text += f"  input y: f32[batch, {others[-1]}]\\n  loss mse(h{len(others) - 1}, y)\\n"
        text += "  optimizer sgd(lr=0.1)\\n}\\n"
        return LANGUAGE.read(replace(source, content=text), request)


FRONTEND = Widths()
''',
    "keys": '''"""Its hardware key."""

from npuc.hardware import Key, Real

KEYS = (Key("even.seconds", Real(10), "time of an operation, s"),)
''',
    "backend": '''"""Every operation takes the same time."""

from npuc.backends.base import Backend
from npuc.compiler.report import OpRow, make_report
from npuc.dialects.provenance import layer_of, location_text, role_of
from npuc.dialects.train.base import TrainOp


class Even(Backend):
    """The same time for all."""

    name = "even"
    level = "train"

    def supports(self, op):
        return None

    def score(self, module, hardware):
        seconds = hardware.require("even.seconds", float, backend=self.name)
        rows = [
            OpRow(
                index=index,
                name=layer_of(op),
                op=op.name,
                loc=location_text(op),
                phase=role_of(op).value,
                kind="vector",
                seconds=seconds,
            )
            for index, op in enumerate(op for op in module.walk() if isinstance(op, TrainOp))
        ]
        return make_report(self.name, hardware.as_dict(), rows)


BACKEND = Even()
''',
    "mapper": '''"""The mapper `unseeded`: random mappings, the same ones for every seed."""

from npuc.compiler.explore.mapping.mapper import Algorithm
from npuc.compiler.explore.mapping.mappers.random import RandomMapper


class Unseeded(Algorithm):
    """The same random mappings for every seed."""

    def mapper(self, request):
        return RandomMapper(request.space, 0, request.capacity)


MAPPER = Unseeded()
''',
}


@dataclass(frozen=True)
class Toy:
    """
    An addition for a task, a row in "What a change touches" of docs/architecture.md.

    `uses` are files where only its use is: what fills a column, say.
    """

    task: str
    additions: tuple[Addition, ...]
    uses: frozenset[str] = frozenset()

    @property
    def files(self) -> frozenset[str]:
        """The files that it touches."""
        return frozenset(file for file, _, _ in self.additions)


MACHINE = "compiler/analysis/machine"
OPTIMIZER = "compiler/layers/optimizer.py"
TOYS = (
    Toy(
        "a layer",
        (("dialects/train/cube.py", "", SOURCES["dialect"]), ("compiler/layers/cube.py", "", SOURCES["layer"])),
    ),
    Toy(
        "an optimizer",
        (
            ("dialects/train/optimizer.py", "", SOURCES["update"]),
            (OPTIMIZER, "import AdamBase, AdamOp, AdamwOp, IncrementOp, SgdOp", ", SignOp"),
            (OPTIMIZER, "_OWN: dict[str, OptimizerRule] = {\n", '    "sign": OptimizerRule(SignOp, {"lr": None}),\n'),
            (OPTIMIZER, '"""The optimizers by name."""\n', SOURCES["rule"]),
            (OPTIMIZER, "\nLAYERS = (", "SignLayer(), "),
        ),
    ),
    Toy("a pass", (("compiler/transforms/say_count/__init__.py", "", SOURCES["pass"]),)),
    Toy(
        "a dataflow of the array",
        (
            (f"{MACHINE}/array.py", 'Dataflow = Literal["os"', ', "sums"'),
            (f"{MACHINE}/array.py", '    "os": ("m", "n", "k"),\n', '    "sums": ("m", "n", "k"),\n'),
        ),
    ),
    Toy(
        "a hardware key that schedules depend on",
        (
            (
                f"{MACHINE}/table.py",
                "    energy: Energy | None = None\n",
                '    wake_cycles: Annotated[int, FromKey("dram.wake_cycles", Integer(0, 99), "cycles before")] = 0\n',
            ),
            (f"{MACHINE}/table.py", "return -(-moved * rate.denominator // rate.numerator)", " + self.wake_cycles"),
        ),
    ),
    Toy(
        "a collective algorithm",
        (("compiler/analysis/interconnect/algorithms/slow.py", "", SOURCES["collective"]),),
    ),
    Toy(
        "a column of a report",
        (
            (
                "compiler/report/sections.py",
                "    first_load_bytes: int | None = None\n",
                "    twice_moved: int | None = None\n",
            ),
            ("backends/cycle/contract.py", "TransferFacts(\n", "            twice_moved=2 * (read + written),\n"),
            (
                "compiler/report/text/table.py",
                "        print_grid(list(_columns(report, shown)), console, notes=[folded_note(lines, shown)])\n",
                '        console.print("twice", sum(row.native.get("twice_moved", 0) for row in report.ops))\n',
            ),
        ),
        uses=frozenset({"backends/cycle/contract.py"}),
    ),
    Toy(
        "a frontend",
        (("frontends/widths/__init__.py", "", ""), ("frontends/widths/frontend.py", "", SOURCES["frontend"])),
    ),
    Toy(
        "a backend",
        (
            ("backends/even/__init__.py", "", ""),
            ("backends/even/backend.py", "", SOURCES["backend"]),
            ("backends/even/keys.py", "", SOURCES["keys"]),
        ),
    ),
    Toy(
        "a search algorithm of mappings",
        (("compiler/explore/mapping/mappers/unseeded.py", "", SOURCES["mapper"]),),
    ),
)
