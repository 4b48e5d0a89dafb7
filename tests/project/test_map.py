"""The map in CONTRIBUTING.md names every package and module of the library, and nothing else."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "elliptope"


def names_of_files():
    """Folders, with a slash at the end, modules, and C sources. A package stands for its ``__init__``."""
    found = set()
    for path in SOURCE.rglob("*"):
        name = path.relative_to(SOURCE).as_posix()
        if path.is_dir() and path.name != "__pycache__":
            found.add(f"{name}/")
        elif path.suffix == ".py" and path.stem != "__init__":
            found.add(name.removesuffix(".py"))
        elif path.suffix == ".c":
            found.add(name)
    return found


def names_in_map():
    """A line has names, separated by commas, and then what they are for; two spaces of indentation per folder."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Architecture")[1].split("```")[1]
    folders, found = [], []
    for indentation, names in re.findall(r"^( *)([\w.]+/?(?:, [\w.]+/?)*)", text, re.MULTILINE):
        depth = len(indentation) // 2
        found += ["".join(folders[:depth]) + name for name in names.split(", ")]
        folders[depth:] = [names]
    return found


def test_the_map_is_complete():
    files, names = names_of_files(), names_in_map()
    missing, unknown = sorted(files - set(names)), sorted(set(names) - files)
    assert not missing, f"add to the map in CONTRIBUTING.md: {', '.join(missing)}"
    assert not unknown, f"delete from the map in CONTRIBUTING.md: {', '.join(unknown)}"
    assert len(names) == len(files), "the map in CONTRIBUTING.md has a name twice"


def test_other_files_that_the_page_names_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    paths = re.findall(r"(?:tests|docs|examples|experiments)/[\w/]+\.(?:py|md)", text)
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []
