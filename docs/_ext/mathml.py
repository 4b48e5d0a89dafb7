"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, no network, no LaTeX.

The translation is the one that docutils brings along. What it cannot translate is a warning, and with ``-W`` an error.
"""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)
# Sizes of parentheses, which MathML chooses by itself.
SIZES = re.compile(r"\\[bB]ig+[lr]?(?![a-zA-Z])")
# Subscripts of letters with a bar, which would be written below instead of beside.
BARS = re.compile(r"(\\bar\s*(?:\w|\\\w+))(?=_)")


def _translate(node: nodes.Element, as_block: bool) -> str:
    tex = BARS.sub(r"\1{}", SIZES.sub("", node.astext()))
    if as_block and "\\\\" in tex and "\\begin{" not in tex:
        tex = f"\\begin{{aligned}}{tex}\\end{{aligned}}"
    try:
        return tex2mathml(tex, as_block=as_block)
    except MathError as error:
        logger.warning("formula %r cannot be written as MathML: %s", tex, error, location=node)
        return f"<code>{tex}</code>"


def visit_inline(translator, node: nodes.math) -> None:
    translator.body.append(_translate(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{_translate(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
