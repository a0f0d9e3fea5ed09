"""
On which units of a machine a contraction runs: `#npu.units<n [eie : 352, matraptor : 160] stage 3>`.

    #npu.units<[eie : 512]>                 one unit has all of it
    #npu.units<k [tpu : 300, eie : 212]>    two share what is summed, and add their parts

M, N, K and batch are those of the product that the contraction is (`gemm.py`), each in the order of its dimensions:
parts follow each other along the axis. Products of one stage depend on none of each other; those that one unit has run
side by side with those of other units, and then those that several share, one after the other. Names are those of the
module's `npu.units`, which says what the units are.
"""

from npuc.dialects.npu.units.assignment import AXES, UNITS, Assignment, UnitAxis, UnitPart
from npuc.dialects.npu.units.attr import UnitsAttr, check_units, taken_units

__all__ = ["AXES", "UNITS", "Assignment", "UnitAxis", "UnitPart", "UnitsAttr", "check_units", "taken_units"]
