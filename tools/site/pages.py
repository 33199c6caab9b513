"""Changes the Markdown of the repository into the Markdown of the site.

- Links lead to the pages of the site. A link to a file that the site does not have becomes text.
- Lists are indented by four spaces and have a blank line before them, as Python-Markdown requires.
- State diagrams become SVG.
- Comments with instructions for tests are removed.
"""

import posixpath
import re

import diagrams

FENCE = re.compile(r"^( *)```.*?^\1```[^\n]*$", re.S | re.M)


def page_of(path, pages):
    """The page of the site for a path in the repository, or None."""
    return pages.get(path.rstrip("/"))


def with_links(text, source, page, pages):
    """`source` is the path in the repository, and `page` is the path of the page on the site."""

    def link(match):
        image, label, target = match[1], match[2], match[3]
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return match[0]
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if image:
            destination = path.removeprefix("docs/")
        else:
            destination = page_of(path, pages)
            if destination is None:
                return label
        relative = posixpath.relpath(destination, posixpath.dirname(page) or ".")
        return f"{image}[{label}]({relative}{'#' + anchor if anchor else ''})"

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", link, text)


def with_lists(text):
    """Outside of fences. Fences in lists have been indented before."""
    out, in_list = [], False
    for line in text.split("\n"):
        item = re.match(r"^( *)(?:[-*]|\d+\.) ", line)
        if item and not in_list and out and out[-1].strip():
            out.append("")
        if item:
            in_list = True
        elif line.strip() and not line.startswith(" "):
            # A paragraph ends the list, unless it continues an item without indentation.
            in_list = in_list and bool(out) and bool(out[-1].strip())
        if in_list and line.startswith(" "):
            spaces = len(line) - len(line.lstrip())
            line = " " * (4 * ((spaces + 1) // 2 if item else max(1, spaces // 2))) + line.lstrip()
        out.append(line)
    return "\n".join(out)


def adapted(text, source, page, pages):
    text = re.sub(r"^<!-- test.*?-->\n", "", text, flags=re.S | re.M)
    parts, position = [], 0
    for fence in FENCE.finditer(text):
        parts.append(with_links(with_lists(text[position : fence.start()]), source, page, pages))
        block = fence[0]
        if block.startswith("```mermaid"):
            svg = diagrams.svg_of(re.search(r"```mermaid\n(.*?)```", block, re.S)[1])
            block = f'<div class="diagram">{svg}</div>'
        elif fence[1]:
            block = re.sub(r"^ {1,3}(?=\S)", "    ", block, flags=re.M)
        parts.append(block)
        position = fence.end()
    parts.append(with_links(with_lists(text[position:]), source, page, pages))
    return "".join(parts)
