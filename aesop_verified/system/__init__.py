"""System descriptions: from a YAML file, or from arrays, to the exact objects of the kernel."""

from aesop_verified.system.arrays import SystemArrays
from aesop_verified.system.constructors import (
    box,
    box_summand,
    from_arrays,
    from_control,
    quadratic_costs,
    region_to_synthesise,
    region_with_law,
)
from aesop_verified.system.describe import facet_text, point_text, set_lines, summary
from aesop_verified.system.description import SystemDescription
from aesop_verified.system.errors import Position, Problem, SystemFileError
from aesop_verified.system.exact_arrays import bounds_polytope, exact_doubles, rows_polytope, shortest_decimals
from aesop_verified.system.parts import (
    Box,
    Costs,
    DescribedSummand,
    GivenSet,
    RecoveryRegion,
    SynthesisRequest,
    Variable,
)
from aesop_verified.system.reading import load, loads
from aesop_verified.system.times import whole_steps
from aesop_verified.system.writing import to_yaml

__all__ = [
    "Box",
    "Costs",
    "DescribedSummand",
    "GivenSet",
    "Position",
    "Problem",
    "RecoveryRegion",
    "SynthesisRequest",
    "SystemArrays",
    "SystemDescription",
    "SystemFileError",
    "Variable",
    "bounds_polytope",
    "box",
    "box_summand",
    "exact_doubles",
    "facet_text",
    "from_arrays",
    "from_control",
    "load",
    "loads",
    "point_text",
    "quadratic_costs",
    "region_to_synthesise",
    "region_with_law",
    "rows_polytope",
    "set_lines",
    "shortest_decimals",
    "summary",
    "to_yaml",
    "whole_steps",
]
