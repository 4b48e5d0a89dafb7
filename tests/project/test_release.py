"""What a release consists of agrees: versions, requirements, workflows; and the package starts quickly."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import elliptope

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# In these files, a version by itself is the version of the package.
VERSIONS = {
    "CITATION.cff": r"^version: (\S+)$",
    "recipe/recipe.yaml": r'^  version: "(\S+)"$',
    "CHANGELOG.md": r"^## \[(\d\S*)\]",
}


def first(pattern, path):
    return re.search(pattern, (ROOT / path).read_text("utf-8"), re.MULTILINE)[1]


def test_all_files_have_the_same_version():
    found = {path: first(pattern, path) for path, pattern in VERSIONS.items()}
    assert found == dict.fromkeys(VERSIONS, elliptope.__version__)


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text("utf-8")
    asked = re.findall(r"^    - ([\w-]+) (>=[\d.]+)$", recipe.split("  run:")[1].split("tests:")[0], re.MULTILINE)
    assert [f"{name}{version}" for name, version in asked] == PROJECT["dependencies"]
    assert PROJECT["description"] in recipe


def test_actions_are_pinned_to_commits():
    text = "".join(path.read_text("utf-8") for path in WORKFLOWS)
    used = re.findall(r"uses: (\S+)(.*)$", text, re.MULTILINE)
    assert len(used) > 10
    for action, comment in used:
        if not action.startswith("./"):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action), f"{action} is not pinned to a commit"
            assert re.fullmatch(r"  # v[\d.]+", comment), f"{action} does not tell its version"


def test_workflows_run_targets_that_there_are():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"run: make ([\w-]+)", "".join(path.read_text("utf-8") for path in WORKFLOWS))
    assert {"test", "test-lowest", "wheel", "docs"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"there is no `make {target}`"


def test_every_library_of_an_extra_for_users_has_a_lowest_version():
    developers = {"benchmarks", "dev", "docs", "release", "test"}
    for extra, requirements in PROJECT["optional-dependencies"].items():
        if extra not in developers:
            assert all(">=" in requirement for requirement in requirements), f"extra {extra}: {requirements}"


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_help_and_the_package_wait_for_no_library():
    heavy = "print(sorted({'numpy', 'scipy', 'sklearn', 'pandas'} & set(sys.modules)))"
    assert run(f"import sys, elliptope; {heavy}") == "[]\n"
    shown = run(f"import sys; from elliptope.cli import main; main(['--help']); {heavy}")
    assert shown.startswith("usage: elliptope")
    assert shown.endswith("[]\n")


def test_estimators_need_few_modules():
    """NumPy, SciPy and what scikit-learn's base class needs; all else is imported when it is needed."""
    slow = "{'matplotlib', 'pyarrow', 'dask', 'torch', 'sklearn.metrics', 'sklearn.neighbors'}"
    loaded = run(
        f"import sys; sys.modules['pandas'] = None; from elliptope import SDPEmbedding; print({slow} & set(sys.modules))"
    )
    assert loaded == "set()\n"
