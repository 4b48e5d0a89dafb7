"""All cases of the matrix of faults, by kind."""

from faults import commands, files, inputs, numerics, runtime, security, tables
from faults.case import Case

CASES: list[Case] = [
    *inputs.CASES,
    *numerics.CASES,
    *runtime.CASES,
    *files.CASES,
    *tables.CASES,
    *commands.CASES,
    *security.CASES,
]
