"""
`npu.contract`: matrix work as a loop nest over named dimensions, with its schedule.

    %y = npu.contract (m = 64, n = 512, k = 784) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n] from %b[n]) do(Y += X * W)
         loops [m : 64, n : 128, k : 128] keep(W = 1) spm 160000 bytes
         {layer = "fc1"} : (tensor<64x784xf32>, tensor<784x512xf32>, tensor<512xf32>) -> tensor<64x512xf32>
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.mapping import ClustersAttr, MaestroAttr
from npuc.dialects.npu.attrs import NestAttr, ScheduleAttr, shared_nest, shared_schedule
from npuc.dialects.npu.epilogue import incomplete_reason
from npuc.dialects.npu.footprint import block_bytes, footprint, room_of
from npuc.dialects.npu.mapped import mapping_problem
from npuc.dialects.npu.nest import Nest, Schedule, Tensor
from npuc.dialects.npu.resident import (
    NO_RESIDENTS,
    HasResidency,
    Resident,
    ResidentAttr,
    check_block,
    check_moved_once,
    check_names,
    parse_resident,
    resident_attr,
)
from npuc.dialects.npu.schedule_syntax import parse_schedule, schedule_text
from npuc.dialects.npu.sums import check_sums
from npuc.dialects.npu.syntax import ParsedTensor, parse_nest, parse_types, print_nest, print_tail
from npuc.dialects.npu.units.attr import UNITS_OF, UnitsAttr, check_units, taken_units
from npuc.dialects.npu.widths import Width, counted, widths_of
from npuc.dialects.provenance import MAPPING, Mappable
from npuc.dialects.structural import StructurallyComparable
from npuc.dialects.tensors import tensor_of

_EMPTY = Schedule()


@lru_cache(maxsize=4096)
def _schedule_problem(nest: Nest, schedule: Schedule, bits: tuple[int, ...]) -> str | None:
    """The first thing that is wrong with a schedule of a right nest whose elements have so many bits in SPM."""
    for problem in schedule.problems(nest):
        return problem
    if schedule.spm is not None:
        held = block_bytes(nest, schedule, bits)
        total = sum(held.values())
        if total > schedule.spm:
            parts = ", ".join(f"{name} {count}" for name, count in held.items())
            return f"blocks take {total} bytes ({parts}), spm promises {schedule.spm}"
    return None


def _schedule_attr(schedule: Schedule | ScheduleAttr | None) -> ScheduleAttr | None:
    """The shared attribute of a schedule."""
    return shared_schedule(schedule) if isinstance(schedule, Schedule) else schedule


@irdl_op_definition
class ContractOp(StructurallyComparable, HasResidency, Mappable, IRDLOperation):
    """
    One or more contraction statements over one loop nest.

    Operands are the nest's inputs in order, then the starts of the outputs that have one; results are the outputs.
    Without a schedule the nest runs as one tile, as it does with the one that has no loops (`loops []`); but the pass
    `schedule` looks for a schedule only where there is none. A mapping on processing elements stands in the dictionary
    of attributes: `{mapping = #mapping.clusters<…>}`, and so do the units that share it: `{units = #npu.units<…>}`.

        %y = npu.contract (m = 64, n = 128, k = 784) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n] from %b[n])
            do(Y += X * W) loops [n : 32, k : 56] keep(X = 2) spm 262144 bytes
            : (tensor<64x784xf32>, tensor<784x128xf32>, tensor<128xf32>) -> tensor<64x128xf32>
    """

    name = "npu.contract"

    args = var_operand_def(AnyAttr())
    outs = var_result_def(AnyAttr())
    nest_attr = prop_def(NestAttr, prop_name="nest")
    schedule_attr = opt_prop_def(ScheduleAttr, prop_name="schedule")
    resident_attr = opt_prop_def(ResidentAttr, prop_name="resident")

    mapping_attr = opt_prop_def(MaestroAttr | ClustersAttr, prop_name=MAPPING)
    units_attr = opt_prop_def(UnitsAttr, prop_name=UNITS_OF)

    traits = traits_def(Pure())

    def __init__(
        self,
        operands: Sequence[SSAValue | Operation],
        nest: Nest | NestAttr,
        element_types: Attribute | Sequence[Attribute],
        schedule: Schedule | ScheduleAttr | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ):
        """`element_types` is one for all results or one each; a `NestAttr` or `ScheduleAttr` is shared, not copied."""
        shared = nest if isinstance(nest, NestAttr) else shared_nest(nest)
        outs = shared.data.outs
        elements = [element_types] * len(outs) if isinstance(element_types, Attribute) else element_types
        properties: dict[str, Attribute] = {"nest": shared}
        kept = _schedule_attr(schedule)
        if kept is not None:
            properties["schedule"] = kept
        # Not the generic initialisation of xDSL, which sorts arguments into groups: there is one group of each here.
        Operation.__init__(
            self,
            operands=[o if isinstance(o, SSAValue) else SSAValue.get(o) for o in operands],
            result_types=[tensor_of(e, out.shape) for e, out in zip(elements, outs, strict=True)],
            properties=properties,
            attributes={} if attributes is None else attributes,
        )

    @property
    def nest(self) -> Nest:
        """The loop nest, with the passes of its products on the machine that it is compiled for."""
        return counted(self.nest_attr.data, self)

    @property
    def schedule(self) -> Schedule:
        """The schedule; the one without loops if there is none, which `schedule_attr` tells."""
        attr = self.schedule_attr
        return _EMPTY if attr is None else attr.data

    @schedule.setter
    def schedule(self, schedule: Schedule | ScheduleAttr | None) -> None:
        self.schedule_attr = _schedule_attr(schedule)

    @property
    def resident(self) -> Resident:
        """The tensors resident before and after."""
        attr = self.resident_attr
        return NO_RESIDENTS if attr is None else attr.data

    @resident.setter
    def resident(self, resident: Resident | ResidentAttr | None) -> None:
        self.resident_attr = resident_attr(resident)

    def named_operands(self) -> dict[str, SSAValue]:
        return {t.name: value for t, value in zip(self.nest.ins, self.operands, strict=False)}

    def named_results(self) -> dict[str, SSAValue]:
        return {t.name: value for t, value in zip(self.nest.outs, self.results, strict=True)}

    def spm_element_bits(self) -> tuple[Width, ...]:
        """The bits of an element in SPM of each tensor, in the order of `nest.tensors`; outputs are partial sums."""
        widths = widths_of(self)
        operands = [widths.element_bits(value.type) for value in self.operands]
        inputs = len(self.nest.ins)
        return (*operands[:inputs], *(widths.sum_bits(value.type) for value in self.results), *operands[inputs:])

    def own_spm_bytes(self) -> int:
        if not self.is_well_formed():
            return 0
        held, tensors = footprint(self.nest, self.schedule), self.nest.tensors
        whole = {name: tensors[name].elements for name in self.resident.names if name in held}
        return sum(room_of(held | whole, self.nest, self.spm_element_bits()).values())

    def is_well_formed(self) -> bool:
        """Whether nest and schedule are each valid, whatever the operands."""
        return not self.nest_attr.problems and next(self.schedule.problems(self.nest), None) is None

    def promised_spm(self) -> int | None:
        return self.schedule.spm

    def is_resident_operand(self, index: int) -> bool:
        return index < len(self.nest.ins) and self.nest.ins[index].name in self.resident.ins

    def adds_in_place(self) -> bool:
        return True

    def is_context_free(self) -> bool:
        return self.resident_attr is None

    def result_of(self, tensor: str) -> SSAValue:
        """The result of an output, by its name in the nest."""
        return self.results[[t.name for t in self.nest.outs].index(tensor)]

    def verify_(self) -> None:
        """
        Operands and results fit the tensors of the nest; its index maps stay within them; loops have steps within their
        dimensions, depths of `keep` within the loops, and blocks fit `spm`; residents and a mapping name what is there.
        """
        attr = self.nest_attr
        nest = attr.data
        tensors = operand_tensors(nest)
        if len(tensors) != len(self.operands):
            raise VerifyException(f"the nest has {len(tensors)} inputs and starts, got {len(self.operands)} operands")
        if len(nest.outs) != len(self.results):
            raise VerifyException(f"the nest has {len(nest.outs)} outputs, got {len(self.results)} results")
        if attr.problems:
            raise VerifyException(attr.problems[0])
        for tensor, value in zip((*tensors, *nest.outs), (*self.operands, *self.results), strict=True):
            _check_shape(tensor, value)
        check_sums(nest, (*self.operands, *self.results))
        schedule = self.schedule_attr
        if schedule is not None:
            bits = () if schedule.data.spm is None else self.spm_element_bits()
            problem = _schedule_problem(nest, schedule.data, bits)
            if problem is not None:
                raise VerifyException(problem)
        if self.resident_attr is not None:
            self._check_resident()
        if self.mapping_attr is not None:
            problem = mapping_problem(nest, self.mapping_attr)
            if problem is not None:
                raise VerifyException(problem)
        if self.units_attr is not None:
            others = {"schedule": schedule, "residency": self.resident_attr, MAPPING: self.mapping_attr}
            check_units(self, nest, self.units_attr, others)

    def _check_resident(self) -> None:
        """Raise for tensors that cannot be resident."""
        check_names(self)
        if self.resident.over:
            raise VerifyException("only results of vector work are written over an operand")
        if self.schedule.outer:
            level = self.schedule.outer[0].level
            raise VerifyException(f"blocks in {level}: a resident tensor is in SPM, and comes through no other memory")
        if self.schedule.core_depth:
            raise VerifyException("loops over cores: a resident tensor would be split among the SPMs of all cores")
        check_moved_once(self, lambda name: incomplete_reason(self.nest, self.schedule, name))
        check_block(self)

    @classmethod
    def parse(cls, parser: Parser) -> "ContractOp":
        def no_place() -> UnresolvedOperand | None:
            return None

        def operand() -> UnresolvedOperand | None:
            return parser.parse_unresolved_operand()

        parsed = parse_nest(parser, operand, no_place)
        schedule = parse_schedule(parser, [name for name, _ in parsed.dims])
        resident = resident_attr(parse_resident(parser))
        before = parser.pos
        attributes = dict(parser.parse_optional_attr_dict())
        mapping = attributes.pop(MAPPING, None)
        if mapping is not None and not isinstance(mapping, MaestroAttr | ClustersAttr):
            parser.raise_error(f"{MAPPING} is {mapping}, expected #mapping.maestro or #mapping.clusters", before)
        properties = taken_units(parser, attributes, before)
        inputs, outputs, start = parse_types(parser)
        starts = [t for t in parsed.starts if t is not None]
        placed = [*parsed.ins, *starts]
        unresolved = [t.place for t in placed if t.place is not None]
        values = parser.resolve_operands(unresolved, inputs, start)
        if len(outputs) != len(parsed.outs):
            parser.raise_error(f"expected {len(parsed.outs)} result types but had {len(outputs)}", start, parser.pos)
        types = {t.name: type_ for t, type_ in zip((*placed, *parsed.outs), (*inputs, *outputs), strict=True)}

        def shape_of(tensor: ParsedTensor[UnresolvedOperand | None]) -> tuple[int, ...]:
            type_ = types[tensor.name]
            if not isinstance(type_, TensorType):
                parser.raise_error(f"{tensor.name} must be a tensor, got {type_}", start, parser.pos)
            return cast(TensorType[Attribute], type_).get_shape()

        properties["nest"] = shared_nest(parsed.nest(shape_of))
        if schedule is not None:
            properties["schedule"] = shared_schedule(schedule)
        if resident is not None:
            properties["resident"] = resident
        if mapping is not None:
            properties[MAPPING] = mapping
        return cls.create(operands=values, result_types=outputs, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        values = dict(zip((t.name for t in operand_tensors(self.nest)), self.operands, strict=True))
        printer.print_string(" ")
        print_nest(printer, self.nest, lambda t: printer.print_operand(values[t.name]), lambda t: None)
        if self.schedule_attr is not None:
            printer.print_string(f" {schedule_text(self.schedule)}")
        if self.resident_attr is not None:
            printer.print_string(f" {self.resident}")
        noted = ((MAPPING, self.mapping_attr), (UNITS_OF, self.units_attr))
        print_tail(printer, self, [(name, attr) for name, attr in noted if attr is not None])


def operand_tensors(nest: Nest) -> tuple[Tensor, ...]:
    """The tensors of a nest that are operands of its contraction, in their order: inputs, then starts."""
    return (*nest.ins, *(s for s in nest.starts if s is not None))


def _check_shape(tensor: Tensor, value: SSAValue) -> None:
    """Raise unless `value` is a tensor of the shape that the nest says."""
    type_ = value.type
    if not isinstance(type_, TensorType):
        raise VerifyException(f"{tensor.name} must be a tensor, got {type_}")
    shape = cast(TensorType[Attribute], type_).get_shape()
    if shape != tensor.shape:
        raise VerifyException(
            f"{tensor.name} has shape {'x'.join(map(str, tensor.shape))} in the nest, its type is {type_}"
        )
