"""Formulas in LaTeX become MathML, which browsers draw by themselves: no script, no font."""

from __future__ import annotations

import re

from latex2mathml.converter import convert

# A formula of its own, in lines that begin and end with $$ and may have a number behind: $$ … $$ (2.3)
_DISPLAYED = re.compile(r"^\$\$(.+?)\$\$(?: \((\w+\.\d+)\))?$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<![\\$\w])\$([^$\n`]+?)\$(?![\w$])")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.DOTALL | re.MULTILINE)


def with_formulas(text: str) -> str:
    """The page with its formulas as MathML; code is left as it is."""
    parts = _CODE.split(text)
    parts[::2] = [_INLINE.sub(_inline, _DISPLAYED.sub(_displayed, part)) for part in parts[::2]]
    return "".join(parts)


def _inline(found: re.Match[str]) -> str:
    return f"<span>{convert(found[1].strip())}</span>"  # a line that begins with <math> would be a paragraph


def _displayed(found: re.Match[str]) -> str:
    formula = convert(" ".join(found[1].split()), display="block")
    if not found[2]:
        return f'<div class="formula">{formula}</div>'
    anchor = f"formula-{found[2]}"
    return f'<div class="formula" id="{anchor}">{formula}<a href="#{anchor}">({found[2]})</a></div>'
