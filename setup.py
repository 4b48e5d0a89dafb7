"""The optional C extension; all else is in pyproject.toml."""

from setuptools import setup

# Extensions with `optional=True` go here: the package works without them, and pip hides the warning of a build that fails.
setup(ext_modules=[])
