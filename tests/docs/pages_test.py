"""Runs every code block of the tutorials and how-to guides, as a reader would. blocks.py says how.

CONCLAVE_BINARY is the program. PKG_CONFIG_PATH contains conclave.pc, for the C++ examples.
"""

import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest

from blocks import commands_of, matches, parts_of

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# docs_test checks that translations have the same blocks.
PAGES = sorted([*ROOT.glob("docs/tutorials/*.md"), *ROOT.glob("docs/how-to/*.md")])
LIMIT = 240


def run_pages(*arguments):
    # Own ports, host names, processes and files. All processes end with the first one.
    namespaces = ["--net", "--uts", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc"]
    if os.geteuid() != 0:
        namespaces = ["--user", "--map-root-user", *namespaces]
    # A short path, because the path of a socket has at most 107 bytes. The folder remains empty: the
    # page has its own file system there.
    with tempfile.TemporaryDirectory(prefix="page") as folder:
        program = [sys.executable, "-B", HERE / "run_page.py", folder, *arguments]
        return subprocess.run(
            ["unshare", *namespaces, *program], capture_output=True, text=True, timeout=LIMIT, check=False
        )


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT / "docs")) for p in PAGES])
def test_page(page):
    done = run_pages(page)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_fragments():
    done = run_pages("--fragments", *PAGES)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_picture():
    """The commands of the picture in README.md still show what the picture shows."""
    tool = [sys.executable, "-B", ROOT / "tools/terminal-picture", "--program", os.environ["CONCLAVE_BINARY"], "--text"]
    done = subprocess.run(tool, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    picture = (ROOT / "docs/pictures/session.svg").read_text()
    lines = re.findall(r"<text.*?</text>", picture)
    shown = [" ".join(html.unescape(t) for t in re.findall(r">([^<>]+)<", line)) for line in lines]
    printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
    # Omits the lines about the shell's jobs, which may end in any order.
    shown, printed = ("\n".join(x for x in text if not x.startswith("[")) for text in (shown, printed))
    assert matches(shown, printed), f"{printed}\nbut the picture shows:\n{shown}"


# --- tests of the runner


def run_text(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    return run_pages(page)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```sh\nfalse\n```\n", "exits with 1 instead of 0"),
        ("<!-- test: exits 3 -->\n```sh\nexit_code() { return 2; }; exit_code\n```\n", "exits with 2 instead of 3"),
        ("```console\n$ echo one\ntwo\n```\n", "but the page shows:\ntwo"),
        ("```console\n$ echo one\n```\n", "prints:\none"),
        ("```\nno language\n```\n", "without a known language"),
        ("```sql\nSELECT 1;\n```\n", "needs a title"),
        ("<!-- test false -->\n", "is not complete"),
        ("<!-- test: false -->\n", "the instruction exits with 1"),
    ],
)
def test_the_runner_finds_errors(tmp_path, text, error):
    done = run_text(tmp_path, text)
    assert done.returncode == 1
    assert error in done.stderr


def test_terminals_and_machines(tmp_path):
    done = run_text(
        tmp_path,
        '```sh title="a/script"\n#!/bin/sh\necho from $(hostname)\n```\n'
        "```sh\nx=1; mkfifo pipe; chmod +x a/script\n```\n"
        "<!-- test: until test -e started -->\n"
        '```console title="terminal 2"\n'
        "$ echo ${x:-unset}; touch started; read -r line <pipe; echo $line\nunset\nmore\n```\n"
        "```console\n$ echo $x; echo more >pipe\n1\n```\n"
        "<!-- test: wait for terminal 2 -->\n"
        '```console title="on every machine"\n$ hostname >/etc/name; echo $(cat /etc/name)\nzk...\n```\n'
        '```console title="on zk1"\n$ cat /etc/name; ../a/script\nzk1\nfrom zk1\n```\n'
        "```console\n$ test -e /etc/name || echo none\nnone\n```\n"
        '<!-- test: until test -e begun -->\n```console title="terminal 3"\n$ touch begun; exec sleep 100\n```\n'
        "<!-- test: interrupt terminal 3 -->\n",
    )
    assert done.returncode == 0, done.stderr


def test_blocks_and_patterns():
    parts = parts_of('# x\n<!-- test in zk1: y -->\n```sh title="a b"\nz\n```\n- item\n  ```cpp\n  w\n  ```\n')
    assert [(p.line, p.kind, p.text, p.title) for p in parts] == [
        (2, "instruction", "y", "zk1"),
        (3, "sh", "z\n", "a b"),
        (7, "cpp", "w\n", ""),
    ]
    assert commands_of("$ a\nb\n$ c \\\n> d\n") == [["a", "b\n"], ["c \\\nd", ""]]
    assert matches("└─ x\n   ● ann:4711  holds  1s\n", "   x\n  * vm:1  holds  1ms\n")
    assert matches("  * ann:4711  holds  2s  token 243384313438217\n", "  * vm:12  holds  300ms     token 17\n")
    assert not matches("holds 2s\n", "waits 2s\n")
    assert matches("a\n...\nb ... d\n", "a\n1\n2\nb c d\n")
    assert not matches("12 items\n", "13 items\n")
    assert matches("", "")
