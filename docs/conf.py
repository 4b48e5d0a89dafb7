"""Sphinx configuration. ``make docs`` builds the pages; nothing is fetched, neither to build nor to read them."""

import sys
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

import elliptope

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "elliptope"
author = "The elliptope developers"
copyright = author
version = release = elliptope.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "members",
    "repository",
    "versions",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

# Pages that lie elsewhere in the repository, and where they go; links between them are rewritten (see _ext/repository.py).
repository_pages = {
    "CONTRIBUTING.md": "repository/contributing.md",
    "CHANGELOG.md": "repository/changelog.md",
    "experiments/README.md": "repository/experiments.md",
    "experiments/results/report.md": "repository/reproduction/report.md",
    "examples": "gallery/index.rst",
}

myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"  # docstrings state types and shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the class template lists members
html_math_renderer = "mathml"
highlight_language = "none"  # blocks without a language are commands and output

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"demo\.py$",  # writes files: `make demo`
    "within_subsection_order": ExplicitOrder(
        [
            "plot_idea.py",
            "plot_outliers.py",
            "plot_bandwidth_path.py",
            "plot_new_points.py",
            "plot_certificate.py",
            "plot_smoothness.py",
            "max_cut.py",
            "z2_synchronization.py",
            "community_detection.py",
        ]
    ),
    "abort_on_example_error": True,
    "capture_repr": (),
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "copyfile_regex": r".*\.rst",
    "doc_module": ("elliptope",),
    "reference_url": {"elliptope": None},
    "download_all_examples": False,
    "min_reported_time": 60,
}

html_theme = "pydata_sphinx_theme"
html_title = "elliptope"
html_static_path = ["_static"]
html_css_files = ["elliptope.css"]
html_show_sourcelink = False
html_sidebars = {"quickstart": []}  # a page without others in its section
html_theme_options = {
    "show_prev_next": True,
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
