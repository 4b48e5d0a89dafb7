"""The code and the commands in README and documentation run; links lead to files; examples in docstrings are right."""

import contextlib
import doctest
import importlib
import io
import json
import pkgutil
import re
import shlex
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import elliptope
from elliptope.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
WINE = ROOT / "examples" / "wine.csv"
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
# Commands that are shown and not run here, with the reason.
NOT_RUN = {
    "python3 -m pip": "installs; docs/make_transcript.py runs it",
    "make ": "calls this very test, or what other tests cover",
    "unzip ": "a tool that need not be installed; tests/persistence/test_persistence.py reads the archive",
    "python3 -c": "another process; tests/persistence/test_persistence.py does the same",
}
SHELL = ("", "console", "sh")


def blocks(page):
    return FENCE.findall(page.read_text())


def commands(text):
    """Command lines of a block; in transcripts, those after the prompt."""
    lines = text.splitlines()
    if any(line.startswith("$ ") for line in lines):
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [line for line in lines if line.startswith(("elliptope ", *NOT_RUN))]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A folder with the table of the examples, where README and the other pages have it, and no windows of matplotlib."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    (tmp_path / "examples").mkdir()
    for place in ("wine.csv", "examples/wine.csv"):
        shutil.copy(WINE, tmp_path / place)
    yield tmp_path
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def runnable(page):
    return any(language == "python" or (language in SHELL and commands(text)) for language, text in blocks(page))


@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=lambda page: page.name)
def test_code_runs_in_order(page, folder, capsys):
    namespace: dict = {}
    for language, text in blocks(page):
        if language == "python":
            if "import scanpy" in text:
                pytest.importorskip("scanpy", reason="make test-cells installs it")
            exec(compile(text, page.name, "exec"), namespace)
        elif language in SHELL:
            for command in commands(text):
                if not command.startswith(tuple(NOT_RUN)):
                    assert main(shlex.split(command, comments=True)[1:]) == 0, capsys.readouterr().err
        elif not language.startswith("{"):  # as in {toctree}, for Sphinx
            pytest.fail(f"{page.name} has a block in {language!r}, which no test runs")


def test_python_can_be_run_again(folder):
    """Two pages save under the same names, and readers run them more than once."""
    for page in (ROOT / "README.md", ROOT / "docs" / "quickstart.md"):
        code = "\n".join(text for language, text in blocks(page) if language == "python")
        for _ in range(2):
            exec(compile(code, page.name, "exec"), {})


def test_the_table_of_the_examples_is_the_data(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    importlib.import_module("make_transcript").write_wine(tmp_path / "wine.csv")
    assert WINE.read_text() == (tmp_path / "wine.csv").read_text()


def test_the_pages_that_should_have_code_have_some():
    names = {page.name for page in PAGES if any(language == "python" for language, _ in blocks(page))}
    assert names >= {
        "README.md",
        "index.md",
        "quickstart.md",
        "outliers.md",
        "new_points.md",
        "large_data.md",
        "groups.md",
        "text.md",
    }


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_to_files(page):
    missing = [target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()]
    assert not missing


def test_transcript_has_two_commands_and_nothing_of_the_machine():
    text = (ROOT / "docs" / "quickstart.md").read_text()
    transcript = text.split("<!-- transcript")[1].split("<!-- end of transcript")[0]
    found = commands(blocks(ROOT / "docs" / "quickstart.md")[0][1])
    assert [command.split()[0] for command in found] == ["python3", "elliptope"]
    assert found[1].startswith("elliptope report wine.csv -o report.html")
    assert "written: report.html" in transcript
    assert "proved" in transcript
    assert not re.search(r"https?:|/tmp|/home|/work|localhost|index", transcript)


def test_versions_are_switched_once_there_is_an_address(monkeypatch, tmp_path):
    pytest.importorskip("sphinx", reason="make docs installs it")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    versions = importlib.import_module("versions")
    for urls, expected in {
        "": None,
        '[project.urls]\nDocumentation = "https://a.example/en/"': "https://a.example/en",
    }.items():
        (tmp_path / "pyproject.toml").write_text(f"[project]\n{urls}")
        monkeypatch.setattr(versions, "PYPROJECT", tmp_path / "pyproject.toml")
        assert versions.address() == expected
        app = SimpleNamespace(outdir=tmp_path)
        config = SimpleNamespace(html_theme_options={"navbar_end": ["theme-switcher"]})
        (tmp_path / "_static").mkdir(exist_ok=True)
        versions.add_switch(app, config)
        versions.write_list(app, None)
        assert ("switcher" in config.html_theme_options) == (tmp_path / versions.LIST).exists() == (expected is not None)
    assert config.html_theme_options["switcher"]["json_url"] == "https://a.example/en/latest/_static/versions.json"
    assert [entry["version"] for entry in json.loads((tmp_path / versions.LIST).read_text())] == ["latest", "stable"]


def modules_with_examples():
    for module in pkgutil.walk_packages(elliptope.__path__, "elliptope."):
        path = Path(elliptope.__file__).parent.joinpath(*module.name.split(".")[1:])
        source = path / "__init__.py" if module.ispkg else path.with_suffix(".py")
        if source.exists() and ">>> " in source.read_text():  # an extension has no source here
            yield module.name


@pytest.mark.parametrize("name", list(modules_with_examples()))
def test_examples_in_docstrings(name, folder):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0, output.getvalue()
    assert result.attempted > 0
