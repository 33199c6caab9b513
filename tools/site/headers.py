"""Renders a public header as a Markdown page, from its comments.

The headers follow these rules (CONTRIBUTING.md): the comment at the top of a file introduces it. A
comment describes the declarations that follow it, up to the next comment or blank line. A comment
line that is indented by three spaces or more is code. `// --- TEXT` begins a group of members.
"""

import re

HIDDEN_NAMESPACE = re.compile(r"namespace (?:detail|recipes|client_impl|server_impl|runtime)\b")
CODE_WORD = re.compile(
    r"(?<![\w`/:.\[])(?:[A-Za-z_]\w*(?:::~?\w+)+(?:\(\))?|\w+\(\)|[a-z]\w*_\w*|__\w+|/[\w/.-]{3,})(?![\w`]|\.hpp)"
)


def prose(lines, known_headers):
    """Markdown for the text of a comment."""
    out, in_code, in_list = [], False, False
    for line in lines:
        if line.startswith("- "):
            if not in_list and out:
                out.append("")
            in_list = True
        elif line and not line.startswith("  "):
            in_list = False
        if in_code and line and not line.startswith("  "):
            out.append("```\n")
            in_code = False
        if not in_code and line.startswith("  ") and not in_list:
            out.append("\n```cpp")
            in_code = True
        if in_code:
            out.append(line[2:])
        elif in_list and line.startswith("  "):
            out.append("    " + text_of(line.strip(), known_headers))
        else:
            out.append(text_of(line, known_headers))
    if in_code:
        out.append("```")
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(out))
    return re.sub(r"\n+```(?=\n|$)(?!cpp)", "\n```", text).strip() + "\n"


def text_of(line, known_headers):
    line = line.replace("<", "&lt;").replace("*", r"\*") if line.count("*") % 2 else line.replace("<", "&lt;")
    line = CODE_WORD.sub(lambda m: f"`{m[0]}`", line)
    return re.sub(
        r"(?<![`\w/])(\w+)\.hpp\b(?!`)",
        lambda m: f"[`{m[0]}`]({m[1]}.md)" if m[1] in known_headers else f"`{m[0]}`",
        line,
    )


# --- reading declarations


def end_of(lines, start):
    """The index after the declaration that begins at `start`: its `;` or the end of its body."""
    depth = 0
    for i in range(start, len(lines)):
        code = re.sub(r"//.*|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)'", "", lines[i])
        for c in code:
            depth += c in "({["
            depth -= c in ")}]"
        if depth == 0 and code.rstrip().endswith((";", "}")):
            return i + 1
    return len(lines)


def without_body(text):
    """A declaration without the body of its function and without its initializers of members."""
    depth, angle = 0, 0
    seen_parameters = False
    for i, c in enumerate(text):
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
            seen_parameters = seen_parameters or (c == ")" and depth == 0)
        elif c == "<":
            angle += 1
        elif c == ">" and angle:
            angle -= 1
        elif depth == 0 and angle == 0 and seen_parameters:
            if c == "{":
                return text[:i].rstrip() + ";"
            if c == ":" and re.match(r":\s+\w+_?[{(]", text[i:]) and text[i - 1] != ":":
                return text[:i].rstrip() + ";"
            if c == ";":
                break
    return text.rstrip()


def dedent(lines):
    margin = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
    return [x[margin:] for x in lines]


def comment_lines(lines):
    return [re.sub(r"^\s*// ?", "", x) for x in lines]


class Header:
    def __init__(self, name, text, known_headers):
        self.name, self.known = name, known_headers
        top, _, body = text.partition("#pragma once\n")
        self.introduction = comment_lines(top.splitlines())
        self.out = []
        self.read(body.splitlines())

    def page(self):
        return "\n".join(
            [f"# {self.name}.hpp", "", prose(self.introduction, self.known)]
            + [f"```cpp\n#include <conclave/{self.name}.hpp>\n```", ""]
            + self.out
        )

    def read(self, lines):
        i = 0
        while i < len(lines):
            line = lines[i]
            if HIDDEN_NAMESPACE.match(line):
                i = end_of(lines, i)
            elif line.startswith("namespace conclave {"):
                j = next(k for k in range(i, len(lines)) if lines[k].startswith("}  // namespace conclave"))
                self.read_members(lines[i + 1 : j], level=2)
                i = j + 1
            else:
                i += 1

    def read_members(self, lines, level):
        comment, declarations = [], []
        visible = True

        def flush():
            nonlocal comment, declarations
            if declarations:
                code = "\n".join(declarations)
                self.out.append(f"```cpp\n{code}\n```\n")
                if comment:
                    self.out.append(prose(comment, self.known))
            comment, declarations = [], []

        i = 0
        while i < len(lines):
            line = lines[i]
            stripped = line.strip()
            if stripped.startswith("//"):
                flush()
                block = []
                while i < len(lines) and lines[i].strip().startswith("//"):
                    block.append(lines[i])
                    i += 1
                comment = comment_lines(block)
                is_section = comment[0].startswith("---")
                if visible and (is_section or i == len(lines) or not lines[i].strip()):
                    self.section(comment, level)
                    comment = []
                continue
            if access := re.fullmatch(r"(public|protected|private):", stripped):
                flush()
                visible = access[1] == "public"
                i += 1
                continue
            if not stripped:
                flush()
                i += 1
                continue
            if HIDDEN_NAMESPACE.match(stripped) or stripped.startswith("#"):
                flush()
                i = end_of(lines, i) if not stripped.startswith("#") else i + 1
                continue
            j = end_of(lines, i)
            declaration = dedent(lines[i:j])
            i = j
            if not visible or re.match(r"friend |(?:class|struct) \w+;", declaration[0]):
                continue
            if re.search(r"(?:^|> |^template.*\n)(?:class|struct)\b", "\n".join(declaration)) and len(declaration) > 1:
                described, comment = comment, []
                flush()
                self.read_class(declaration, described, level)
            elif declaration[0].startswith("enum"):
                described, comment = comment, []
                flush()
                self.heading(level, re.match(r"enum (?:class )?(\w+)", declaration[0])[1])
                self.out.append(prose(described, self.known) if described else "")
                self.out.append("```cpp\n" + "\n".join(declaration) + "\n```\n")
            else:
                declarations += without_body("\n".join(declaration)).splitlines()
        flush()

    def heading(self, level, text):
        self.out.append(f"{'#' * level} {text}\n")

    def section(self, comment, level):
        title, *more = comment
        if title.startswith("---"):
            # The first sentence is the title.
            short, dot, rest = title.lstrip("- ").partition(". ")
            self.heading(level + 1, short[:1].upper() + short[1:].rstrip("."))
            more = [rest, *more] if dot else more
        else:
            more = comment
        if any(more):
            self.out.append(prose(more, self.known))

    def read_class(self, lines, described, level):
        first = next(k for k, x in enumerate(lines) if re.match(r"(?:class|struct)\b", x))
        opening = next(k for k in range(first, len(lines)) if lines[k].rstrip().endswith(("{", "};", "}")))
        declaration = " ".join(x.strip() for x in lines[first : opening + 1])
        name = re.match(r"(?:class|struct)(?: \[\[\w+\]\])? (\w+)", declaration)[1]
        self.heading(level, name)
        head = declaration.partition("{")[0].strip()
        self.out.append("```cpp\n" + "\n".join([*lines[:first], head + ";"]) + "\n```\n")
        if described:
            self.out.append(prose(described, self.known))
        if opening + 1 < len(lines):
            members = lines[opening + 1 : -1]
            if head.startswith("class"):
                members = ["private:", *members]
            self.read_members(members, level + 1)
