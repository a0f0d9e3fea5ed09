"""
Contractions that run round-robin, one tile operation each, in one SPM.

Each keeps its own order and tiles. A block that several of them keep whole is held once and read once. They share one
SPM, so that what is promised of it stands on the operation and not on its contractions.

At the level of tiles the streams of tile operations are regions, with the shared blocks loaded before them:

    %dx, %dw = npu.streams { … npu.yield %f : tensor<6x8xf32> } and { … npu.yield %g : tensor<8x4xf32> }
      : (tensor<6x8xf32>, tensor<8x4xf32>)
"""

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.npu.contract import ContractOp
from npuc.dialects.npu.groups.held import HoldsInSpm
from npuc.dialects.npu.resident import HasResidency
from npuc.dialects.npu.schedule_syntax import parse_promise, promise_text
from npuc.dialects.npu.shared import RoundRobin, held_bytes, joint_bytes, number_values
from npuc.dialects.npu.widths import Width
from npuc.dialects.structural import StructurallyComparable


@irdl_op_definition
class YieldOp(StructurallyComparable, HasResidency, IRDLOperation):
    """
    What the contractions of an `npu.interleave`, a stream of an `npu.streams`, or a body of an `npu.group`, compute.

        %y, %z = npu.streams {
          npu.yield %a : tensor<6x8xf32>
        } and {
          npu.yield %b : tensor<4xf32>
        } : (tensor<6x8xf32>, tensor<4xf32>)
    """

    name = "npu.yield"

    values = var_operand_def(AnyAttr())

    traits = traits_def(IsTerminator(), Pure())

    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, values: Sequence[SSAValue]):
        # Not the generic initialisation of xDSL, which sorts arguments into groups: there is one group.
        Operation.__init__(self, operands=values)

    def is_context_free(self) -> bool:
        """Where it is at the end of its block, as it must be."""
        return self.parent is not None and self.next_op is None

    def is_resident_operand(self, index: int) -> bool:
        """Of a group: its sums stay in SPM until the last micro-batch."""
        around = self.parent_op()
        return isinstance(around, HoldsInSpm) and around.is_held_result(index)


@irdl_op_definition
class InterleaveOp(StructurallyComparable, HasResidency, IRDLOperation):
    """
    Independent contractions that run round-robin, one tile operation each, until all are done.

    `spm` is the budget in bytes that the schedules of all of them together promise to keep.

        %dx, %dw = npu.interleave spm 168 bytes {
          %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
              loops [m : 2, k : 2, n : 2] keep(dY = 3) : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
          %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
              loops [n : 2, k : 2, m : 3] keep(dY = 3) : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
          npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
        } : (tensor<6x8xf32>, tensor<8x4xf32>)
    """

    name = "npu.interleave"

    body = region_def("single_block")
    outs = var_result_def(AnyAttr())
    spm_attr = opt_prop_def(IntegerAttr, prop_name="spm")

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, body: Region, spm: int | None = None):
        """`body` is a block of contractions that ends with an `npu.yield` of their results."""
        ending = body.block.last_op
        types = [value.type for value in ending.operands] if ending is not None else []
        Operation.__init__(self, regions=[body], result_types=types)
        self.spm = spm

    @property
    def spm(self) -> int | None:
        """The promised budget, in bytes."""
        return None if self.spm_attr is None else self.spm_attr.value.data

    @spm.setter
    def spm(self, spm: int | None) -> None:
        self.spm_attr = None if spm is None else _spm_attr(spm)

    @property
    def contracts(self) -> tuple[ContractOp, ...]:
        """The contractions, in their order."""
        return tuple(op for op in self.body.block.ops if isinstance(op, ContractOp))

    @property
    def round_robin(self) -> RoundRobin:
        """The nests with their schedules, and which of their inputs are the same value."""
        contracts = self.contracts
        inputs = [op.operands[: len(op.nest.ins)] for op in contracts]
        return RoundRobin(
            tuple(op.nest for op in contracts), tuple(op.schedule for op in contracts), number_values(inputs)
        )

    def own_spm_bytes(self) -> int:
        right = all(op.is_well_formed() for op in self.contracts)
        return held_bytes(self.round_robin, self.spm_element_bits()) if right else 0

    def spm_element_bits(self) -> tuple[tuple[Width, ...], ...]:
        """The bits of an element in SPM of each tensor of each nest."""
        return tuple(op.spm_element_bits() for op in self.contracts)

    def promised_spm(self) -> int | None:
        return self.spm

    def verify_(self) -> None:
        """
        Two contractions or more and an `npu.yield` of all their results in order; none reads what another computes, has
        loops over cores, residents, blocks outside of SPM or an `spm` of its own; their blocks fit `spm` together.
        """
        *ops, ending = self.body.block.ops or [None]
        if not isinstance(ending, YieldOp):
            raise VerifyException("its body must end with npu.yield")
        for op in ops:
            if not isinstance(op, ContractOp):
                name = op.name if isinstance(op, Operation) else "nothing"
                raise VerifyException(f"only npu.contract may stand in it, got {name}")
        contracts = self.contracts
        if len(contracts) < 2:
            raise VerifyException(f"expected two contractions or more, got {len(contracts)}")
        results = [result for op in contracts for result in op.results]
        for op in contracts:
            for value in op.operands:
                if value in results:
                    raise VerifyException(
                        "a contraction in it reads what another one computes: they cannot run round-robin"
                    )
            if op.schedule.core_depth:
                raise VerifyException("a contraction in it has loops over cores: in turn they run on one core")
            if op.resident_attr is not None:
                raise VerifyException("a contraction in it finds or leaves something in SPM: in turn they may not")
            if op.schedule.outer:
                level = op.schedule.outer[0].level
                raise VerifyException(
                    f"a contraction in it keeps blocks in {level}: in turn they keep them in SPM alone"
                )
            if op.schedule.spm is not None:
                raise VerifyException(
                    "spm stands on a contraction in it, but they share one SPM: write it on npu.interleave"
                )
        if list(ending.operands) != results:
            raise VerifyException("npu.yield must name the results of all its contractions, in their order")
        if list(self.result_types) != [value.type for value in results]:
            raise VerifyException("its result types must be those of npu.yield")
        if self.spm is not None and self.spm < 1:
            raise VerifyException(f"spm is {self.spm} bytes, expected at least 1")
        if self.spm is not None and not any(op.nest_attr.problems for op in contracts):
            problem = _room_problem(self.round_robin, self.spm_element_bits(), self.spm)
            if problem is not None:
                raise VerifyException(problem)

    @classmethod
    def parse(cls, parser: Parser) -> "InterleaveOp":
        spm = parse_promise(parser)
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type, " in result types")
        properties: dict[str, Attribute] = {} if spm is None else {"spm": _spm_attr(spm)}
        return cls.create(result_types=types, regions=[body], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.spm is not None:
            printer.print_string(f" {promise_text(self.spm)}")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        _print_results(printer, self)


@lru_cache(maxsize=256)
def _spm_attr(spm: int) -> IntegerAttr:
    """The shared attribute of a budget."""
    return IntegerAttr(spm, i64)


@lru_cache(maxsize=1024)
def _room_problem(together: RoundRobin, bits: tuple[tuple[int, ...], ...], spm: int) -> str | None:
    """What is said of contractions whose blocks take more than they promise together."""
    for nest, schedule in zip(together.nests, together.schedules, strict=True):
        if next(schedule.problems(nest), None) is not None:
            return None  # Said of the contraction itself.
    held = joint_bytes(together, bits)
    total = sum(sum(blocks.values()) for blocks in held)
    if total <= spm:
        return None
    parts = "; ".join(", ".join(f"{name} {count}" for name, count in blocks.items()) for blocks in held)
    return f"blocks take {total} bytes ({parts}), spm promises {spm}"


def _print_results(printer: Printer, op: Operation) -> None:
    """Print what follows the regions: attributes and the types of the results in parentheses."""
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    with printer.in_parens():
        printer.print_list(op.result_types, printer.print_attribute)


@irdl_op_definition
class StreamsOp(IRDLOperation):
    """
    Streams of tile operations, a region each, of which one operation runs at a time, in turn.

    Nothing that one of them does depends on another, so that results and traffic are the same in any order.

        %y, %z = npu.streams {
          %e = npu.empty : tensor<6x4xf32>
          %b = npu.zero [m, n] over (m = 0 : 6, n = 0 : 4) : !npu.block<6x4xf32>
          %y1 = npu.store %b into %e[m, n] over (m = 0 : 6, n = 0 : 4) : !npu.block<6x4xf32>, tensor<6x4xf32>
          npu.yield %y1 : tensor<6x4xf32>
        } and {
          npu.yield %x : tensor<6x8xf32>
        } : (tensor<6x4xf32>, tensor<6x8xf32>)
    """

    name = "npu.streams"

    streams = var_region_def("single_block")
    outs = var_result_def(AnyAttr())

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, streams: Sequence[Region]):
        endings = [stream.block.last_op for stream in streams]
        types = [value.type for ending in endings if ending is not None for value in ending.operands]
        super().__init__(regions=[streams], result_types=[types])

    def verify_(self) -> None:
        """Two streams or more, each ending with `npu.yield`; the results are theirs, one after another."""
        if len(self.streams) < 2:
            raise VerifyException(f"expected two streams or more, got {len(self.streams)}")
        types: list[Attribute] = []
        for stream in self.streams:
            ending = stream.block.last_op
            if not isinstance(ending, YieldOp):
                raise VerifyException("each stream must end with npu.yield")
            types += ending.operand_types
        if list(self.result_types) != types:
            raise VerifyException("its result types must be those of the streams' npu.yield, one after another")

    @classmethod
    def parse(cls, parser: Parser) -> "StreamsOp":
        regions = [parser.parse_region()]
        while parser.parse_optional_keyword("and"):
            regions.append(parser.parse_region())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type, " in result types")
        return cls.create(result_types=types, regions=regions, attributes=attributes)

    def print(self, printer: Printer) -> None:
        for number, stream in enumerate(self.streams):
            printer.print_string(" and " if number else " ")
            printer.print_region(stream, print_entry_block_args=False)
        _print_results(printer, self)
