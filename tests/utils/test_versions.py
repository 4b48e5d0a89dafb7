"""Versions of the software in use."""

import platform

import numpy as np
import pytest
import scipy
import sklearn

import elliptope
from elliptope._utils.versions import versions


def test_versions():
    required = {"numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__}
    expected = {"elliptope": elliptope.__version__, "python": platform.python_version(), **required}
    assert versions() == expected
    found = versions("pytest", "no-such-library")
    assert found == {**expected, "pytest": pytest.__version__, "no-such-library": None}
