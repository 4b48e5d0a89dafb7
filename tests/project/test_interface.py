"""The public interface is what docs/reference.rst lists: that, and nothing else, is in the `__all__` of public modules."""

import re
from pathlib import Path
from pkgutil import resolve_name

import elliptope

DOCS = Path(__file__).parents[2] / "docs"
# Not names of `elliptope`, but given to users by functions that are.
ELSEWHERE = ["cli.load_pipeline", "estimators.path.BandwidthPath"]
# Modules that are shown as a whole.
WHOLE = ["anndata", "datasets", "theory"]


def resolve(name):
    return resolve_name(f"elliptope.{name}")


def listed():
    """Names in the reference: the entries of its tables, and modules that are shown as a whole."""
    tables, modules = ((DOCS / page).read_text("utf-8") for page in ("reference.rst", "reference_modules.rst"))
    names = re.findall(r"^   ([A-Za-z_][\w.]+)$", tables.split("Modules\n---")[0], re.MULTILINE)
    return [*names, *re.findall(r"automodule:: elliptope\.(\w+)", modules)]


def public():
    """Names in the `__all__` of the package and of the modules in it."""
    modules = [name for name in elliptope.__all__ if hasattr(resolve(name), "__all__")]
    names = [name for name in elliptope.__all__ if name not in modules and name != "__version__"]
    inner = [f"{module}.{name}" for module in modules if module not in WHOLE for name in resolve(module).__all__]
    return [*names, *inner, *WHOLE, *ELSEWHERE]


def test_every_public_name_is_in_the_reference_and_no_other():
    found, wanted = ({id(resolve(name)): name for name in names} for names in (listed(), public()))
    assert [wanted[key] for key in wanted.keys() - found.keys()] == []
    assert [found[key] for key in found.keys() - wanted.keys()] == []
    assert len(found) == len(listed()), "a name stands in the reference twice"


def test_public_names_are_documented():
    for name in public():
        assert (resolve(name).__doc__ or "").strip(), f"{name} has no docstring"


def test_names_that_are_not_there_are_refused():
    assert not hasattr(elliptope, "no_such_name")
    assert {"SDPEmbedding", "datasets", "load"} <= set(dir(elliptope))
