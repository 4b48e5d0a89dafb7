"""The compiled steps of the solver; all else is in pyproject.toml.

They make small problems up to twice as fast. The package works without them: pip hides the warning of a build that fails,
and `elliptope info` and the Makefile say whether there are compiled steps. One build serves every Python from 3.11 on,
except those without a global lock, which have no stable ABI.
"""

import sys
import sysconfig

from setuptools import Extension, setup

STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            "elliptope.sdp._steps",
            ["src/elliptope/sdp/_steps.c"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
            extra_compile_args=[] if sys.platform == "win32" else ["-O3", "-fopenmp-simd"],
            py_limited_api=STABLE,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
