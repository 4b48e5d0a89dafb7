"""Print the lowest versions that pyproject.toml declares, for pip's ``--constraint``: ``numpy>=2.0`` becomes ``numpy==2.0``.

The argument is a list of extras, separated by commas. Where two of them name a library, the higher version counts.
"""

import re
import sys
import tomllib
from pathlib import Path


def lowest_versions(project, extras):
    requirements = [*project["dependencies"]]
    for extra in extras:
        requirements += project["optional-dependencies"][extra]
    lowest = {}
    for requirement in requirements:
        name = re.match(r"[\w-]+", requirement)[0]
        bound = re.search(r">=([\d.]+)", requirement)
        if bound is None:
            sys.exit(f"pyproject.toml: {requirement!r} has no lowest version; write {name}>=... .")
        version = bound[1]
        lowest[name] = max(lowest.get(name, version), version, key=lambda v: [int(part) for part in v.split(".")])
    return lowest


if __name__ == "__main__":
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    for name, version in sorted(lowest_versions(tomllib.loads(text)["project"], sys.argv[1].split(",")).items()):
        print(f"{name}=={version}")
