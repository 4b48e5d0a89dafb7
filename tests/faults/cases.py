"""All cases of the matrix of faults, by kind."""

from faults import commands, files, functions, inputs, kernels, numerics, parameters, runtime, security, surroundings, tables
from faults.case import Case

CASES: list[Case] = [
    *parameters.CASES,
    *inputs.CASES,
    *kernels.CASES,
    *functions.CASES,
    *numerics.CASES,
    *runtime.CASES,
    *surroundings.CASES,
    *files.CASES,
    *tables.CASES,
    *commands.CASES,
    *security.CASES,
]
