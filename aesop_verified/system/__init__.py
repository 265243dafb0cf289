"""System descriptions: from a YAML file, or from arrays, to the exact objects of the kernel."""

from aesop_verified.system.arrays import SystemArrays
from aesop_verified.system.description import SystemDescription
from aesop_verified.system.errors import Position, Problem, SystemFileError
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
    "load",
    "loads",
]
