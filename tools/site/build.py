#!/usr/bin/python3
"""Builds the site of the documents: tools/site/build.py [--program PROGRAM] [--output FOLDER]

Needs Debian's packages mkdocs-material and graphviz. PROGRAM prints the help of its commands
(default: build/release/src/cli/conclave). If it does not exist, the site has no pages for them. The
site is written to FOLDER (default: build/site), and the pages from which mkdocs builds it to
FOLDER-pages.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from headers import Header  # noqa: E402
from pages import adapted  # noqa: E402

ROOT = HERE.parents[1]


def repository_pages():
    """The page of the site for each document, header and example of the repository."""
    found = {"README.md": "index.md", "README.zh-CN.md": "zh/index.md"}
    found |= {"CHANGELOG.md": "project/changelog.md", "CONTRIBUTING.md": "project/contributing.md"}
    for path in ROOT.glob("docs/**/*.md"):
        found[str(path.relative_to(ROOT))] = str(path.relative_to(ROOT / "docs"))
    for path in ROOT.glob("include/conclave/*.hpp"):
        found[str(path.relative_to(ROOT))] = f"reference/api/{path.stem}.md"
    for path in ROOT.glob("examples/*.cpp"):
        found[str(path.relative_to(ROOT))] = f"examples/{path.stem}.md"
    found |= {"examples": "examples/quickstart.md"}
    decisions = sorted(ROOT.glob("docs/decisions/*.md"))
    return found | {"docs/decisions": f"decisions/{decisions[0].name}"}


def title_of(markdown):
    return re.search(r"^# (.*)$", markdown, re.M)[1]


class Site:
    def __init__(self, folder, program):
        self.folder, self.program = folder, program
        self.pages = repository_pages()
        self.nav = {"api": [], "commands": [], "decisions": [], "examples": []}

    def write(self, page, text):
        file = self.folder / page
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def add_documents(self):
        for source, page in self.pages.items():
            if source.endswith(".md"):
                self.write(page, adapted((ROOT / source).read_text(), source, page, self.pages))
        for name in ("plots", "pictures"):
            shutil.copytree(ROOT / "docs" / name, self.folder / name, dirs_exist_ok=True)
        shutil.copy(HERE / "site.css", self.folder)
        shutil.copytree(HERE / "theme", self.folder.with_name("theme"))
        for path in sorted(ROOT.glob("docs/decisions/*.md")):
            self.nav["decisions"].append((title_of(path.read_text()), f"decisions/{path.name}"))

    def add_api(self):
        headers = sorted(ROOT.glob("include/conclave/*.hpp"), key=lambda p: p.stem)
        known = {h.stem for h in headers}
        for header in headers:
            page = f"reference/api/{header.stem}.md"
            self.write(page, Header(header.stem, header.read_text(), known).page())
            self.nav["api"].append((f"{header.stem}.hpp", page))

    def add_errors(self):
        text = (ROOT / "include/conclave/error.hpp").read_text()
        codes = re.search(r"enum class errc \{(.*?)^\};", text, re.S | re.M)[1]
        conditions = re.search(r"enum class condition \{(.*?)^\};", text, re.S | re.M)[1]
        rows = re.findall(r"^  (\w+) = (-?\d+),\s*// (.*(?:\n {10,}// .*)*)", codes, re.M)
        meant = re.findall(r"((?:^  // .*\n)+)  (\w+) = \d+,", conditions, re.M)
        if len(rows) != len(re.findall(r"^  \w+ = ", codes, re.M)) or not meant:
            raise SystemExit("site: cannot read the error codes in error.hpp")
        out = ["# Error codes", ""]
        out += ["Blocking calls throw `conclave::error`; asynchronous calls complete with the same code. Negative"]
        out += ["values are those of ZooKeeper. [`error.hpp`](api/error.md) is the source of this page. The exit"]
        out += ["codes of the program are [on the page of the command line](../cli.md#which-exit-codes-are-there).", ""]
        out += ["## Conditions", "", "Compare a code with a condition to learn what it means for the caller.", ""]
        out += ["| condition | meaning |", "|---|---|"]
        for comment, name in meant:
            out.append(f"| `condition::{name}` | {' '.join(re.findall(r'// (.*)', comment))} |")
        out += ["", "## Codes", "", "| code | value | meaning |", "|---|---|---|"]
        for name, value, meaning in rows:
            meaning = re.sub(r"\n *//", "", meaning)
            out.append(f"| `errc::{name}` | {value} | {meaning} |")
        self.write("reference/errors.md", "\n".join(out) + "\n")

    def add_examples(self):
        for path in sorted(ROOT.glob("examples/*.cpp")):
            text = path.read_text()
            self.write(f"examples/{path.stem}.md", f"# {path.name}\n\n```cpp\n{text}```\n")
            self.nav["examples"].append((path.name, f"examples/{path.stem}.md"))

    def help_of(self, *command):
        run = [self.program, *command, "--help"]
        return subprocess.run(run, capture_output=True, text=True, check=True).stdout

    @staticmethod
    def folded(text):
        """Long lines continue below the descriptions of the options, in column 30."""
        margin = " " * 30
        out = []
        for line in text.rstrip().split("\n"):
            if len(line) > 100 and " " in line[30:100]:
                end = line.rindex(" ", 30, 100)
                rest = textwrap.wrap(line[end:].strip(), 70, break_on_hyphens=False)
                out += [line[:end], *(margin + x for x in rest)]
            else:
                out.append(line)
        return "\n".join(out)

    def add_commands(self):
        if not self.program.exists():
            print(f"site: {self.program} does not exist, so the pages of the commands are omitted", file=sys.stderr)
            self.write("reference/commands/missing.md", "# Commands\n\nThe site was built without the program.\n")
            self.nav["commands"].append(("Commands", "reference/commands/missing.md"))
            return
        for name in self.commands_in(self.help_of()):
            text = self.help_of(name)
            parts = [f"# conclave {name}", "", "```text", self.folded(text), "```", ""]
            for part in self.commands_in(text):
                parts += [f"## conclave {name} {part}", "", "```text", self.folded(self.help_of(name, part)), "```", ""]
            self.write(f"reference/commands/{name}.md", "\n".join(parts))
            self.nav["commands"].append((name, f"reference/commands/{name}.md"))

    @staticmethod
    def commands_in(text):
        section = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
        return re.findall(r"^  ([a-z]\w*)\b", section[1], re.M) if section else []

    def settings(self):
        text = (HERE / "mkdocs.yml").read_text()
        for name, entries in self.nav.items():
            margin = re.search(rf"^( *)- @{name}@$", text, re.M)[1]
            lines = [f'{margin}- "{title}": {page}' for title, page in entries]
            text = text.replace(f"{margin}- @{name}@", "\n".join(lines))
        return text


def add_chinese_search(output):
    """Appends search.js to the search worker of the theme."""
    workers = list(output.glob("assets/javascripts/workers/search.*.min.js"))
    if len(workers) != 1:
        raise SystemExit(f"site: expected one search worker of the theme, not {len(workers)}")
    workers[0].write_text(workers[0].read_text() + "\n" + (HERE / "search.js").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/src/cli/conclave")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/site")
    options = parser.parse_args()

    output = options.output.resolve()
    staged = output.with_name(output.name + "-pages")
    shutil.rmtree(staged, ignore_errors=True)
    site = Site(staged / "docs", options.program.resolve())
    site.add_documents()
    site.add_api()
    site.add_errors()
    site.add_examples()
    site.add_commands()
    (staged / "mkdocs.yml").write_text(site.settings())
    build = ["mkdocs", "build", "--quiet", "--strict", "--config-file", staged / "mkdocs.yml", "--site-dir", output]
    status = subprocess.run(build, check=False).returncode
    if status == 0:
        add_chinese_search(output)
    return status


if __name__ == "__main__":
    sys.exit(main())
