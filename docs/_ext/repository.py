"""Pages that lie elsewhere in the repository, and links that hold there and in the built pages alike.

Markdown files are also read where the repository is hosted, so their links are those of the repository. Here, links to files
that have a page go to that page, and links to other files become their names.
"""

import os
import re
import shutil
from pathlib import Path, PurePosixPath

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")
PICTURES = {".png", ".svg"}


def copy_pages(app: Sphinx) -> None:
    """Copy Markdown pages, and the pictures beside them, into the source tree of the documentation."""
    for source, page in app.config.repository_pages.items():
        origin, copy = ROOT / source, Path(app.srcdir, page)
        if origin.suffix != ".md":
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        pictures = [file for file in origin.parent.iterdir() if file.suffix in PICTURES]
        for file, target in [(origin, copy), *((file, copy.parent / file.name) for file in pictures)]:
            if not (target.exists() and same(file, target)):  # what has not changed is not built again
                shutil.copy2(file, target)


def same(a: Path, b: Path) -> bool:
    return a.read_bytes() == b.read_bytes()


def relink(app: Sphinx, docname: str, source: list[str]) -> None:
    """Rewrite the links of a Markdown page."""
    if app.env.doc2path(docname).suffix != ".md":
        return
    pages = app.config.repository_pages
    page = f"{docname}.md"
    origin = next((file for file, copy in pages.items() if copy == page), f"docs/{page}")

    def replace(match: re.Match) -> str:
        text, target, anchor = match["text"], match["target"], match["anchor"] or ""
        file = os.path.normpath(PurePosixPath(origin).parent / target)
        if file in pages:
            here = pages[file]
        elif file.startswith("docs/") and (ROOT / file).exists():
            here = file.removeprefix("docs/")
        elif PurePosixPath(file).suffix in PICTURES and PurePosixPath(file).parent == PurePosixPath(origin).parent:
            here = str(PurePosixPath(page).parent / PurePosixPath(file).name)
        else:
            return f"`{file}`" if text.strip("`") in (file, target) else f"{text} (`{file}`)"
        return f"[{text}]({os.path.relpath(here, PurePosixPath(page).parent)}{anchor})"

    source[0] = LINK.sub(replace, source[0])


def setup(app: Sphinx) -> dict:
    app.add_config_value("repository_pages", {}, "env")
    app.connect("builder-inited", copy_pages)
    app.connect("source-read", relink)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
