"""A switch between versions of the documentation, as soon as ``[project.urls]`` of pyproject.toml has ``Documentation``.

That address is the folder of all versions, for instance ``https://elliptope.example/en``, in which every version has a
folder. Without it there is no switch, and nothing else changes.
"""

import json
import os
import tomllib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
# Those that Read the Docs keeps by itself: the main branch, and the newest release.
VERSIONS = ("latest", "stable")
LIST = "_static/versions.json"


def address() -> str | None:
    urls = tomllib.loads(PYPROJECT.read_text())["project"].get("urls", {})
    return urls["Documentation"].rstrip("/") if "Documentation" in urls else None


def add_switch(app: Sphinx, config: Config) -> None:
    base = address()
    if base is None:
        return
    options = config.html_theme_options
    options["switcher"] = {
        "json_url": f"{base}/latest/{LIST}",
        "version_match": os.environ.get("READTHEDOCS_VERSION", "latest"),
    }
    options["check_switcher"] = False  # the list is fetched by readers; builds fetch nothing
    options["navbar_end"] = ["version-switcher", *options["navbar_end"]]


def write_list(app: Sphinx, error: Exception | None) -> None:
    base = address()
    if base is not None and error is None:
        entries = [{"name": version, "version": version, "url": f"{base}/{version}/"} for version in VERSIONS]
        (Path(app.outdir) / LIST).write_text(json.dumps(entries, indent=2))


def setup(app: Sphinx) -> dict:
    app.connect("config-inited", add_switch)
    app.connect("build-finished", write_list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
