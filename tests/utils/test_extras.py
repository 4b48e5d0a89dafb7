"""Optional libraries that are not there: errors name the module, and the extra that has it."""

import sys
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import elliptope
from elliptope import SDPEmbedding
from elliptope._utils import arrays
from elliptope.cli.tables.parquet import pyarrow
from elliptope.distributed.cluster import find_client
from elliptope.plotting import LearnedKernelDisplay

X = np.random.default_rng(0).standard_normal((30, 2))
FOR_DEVELOPERS = {"test", "benchmarks", "audit", "release", "docs", "dev"}


class Tensor:
    """Of a library that NumPy can read."""

    def __dlpack__(self): ...


TASKS = {
    "plot": lambda: LearnedKernelDisplay(np.eye(2)).plot(),
    "cli": pyarrow,
    "anndata": lambda: elliptope.anndata.embed(None),
    "dask": find_client,
    "torch": lambda: arrays.namespace(Tensor()),
    "gpu": lambda: SDPEmbedding(device="cuda").fit(X),
}
MODULES = [
    ("plot", "matplotlib"),
    ("cli", "pyarrow"),
    ("cli", "pyarrow.parquet"),
    ("anndata", "anndata"),
    ("dask", "dask.distributed"),
    ("torch", "array_api_compat"),
    ("gpu", "array_api_compat"),
    ("gpu", "torch"),
    ("gpu", "triton"),
]


@pytest.mark.parametrize(("extra", "module"), MODULES)
def test_the_module_and_its_extra_are_named(extra, module, monkeypatch):
    for there in ("torch", "triton", "dask"):
        monkeypatch.setitem(sys.modules, there, ModuleType(there))
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"needs? {module}, of the extra `{extra}`: pip install 'elliptope\[{extra}\]'"):
        TASKS[extra]()


def test_every_extra_is_tried():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(project["optional-dependencies"]) - FOR_DEVELOPERS == TASKS.keys() == {extra for extra, _ in MODULES}
