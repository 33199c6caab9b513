"""Checks that the files, links, tests and make targets in the documents exist, and that figures
agree.

The documents are README.md, README.zh-CN.md, CONTRIBUTING.md and docs/**/*.md. A translation must
have the structure, the code and the links of the English page. The checks need no build and no
network: they read the names of tests from the CMake files and the sources.
"""

import fnmatch
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("README*.md"), ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
NAMES = [str(d.relative_to(ROOT)) for d in DOCUMENTS]
# Each translation with its English page.
TRANSLATIONS = {"README.zh-CN.md": "README.md"} | {
    str(d.relative_to(ROOT)): "docs/" + str(d.relative_to(ROOT / "docs/zh")) for d in ROOT.glob("docs/zh/**/*.md")
}

SOURCE_ENDINGS = (".hpp", ".cpp", ".md", ".py", ".sh", ".cmake", ".java", ".patch", ".svg", ".in", ".txt", ".json")
# Files that programs of this repository or users write.
GENERATED = {"report.json"}
TOP_FOLDERS = {p.name for p in ROOT.iterdir() if p.is_dir() and p.name not in {"build", ".git"}}
# File names in documents can be relative to these folders.
BASES = [ROOT, ROOT / "src", ROOT / "src/server", ROOT / "tests", ROOT / "include", ROOT / "include/conclave"]


def all_files():
    folders = [f for f in TOP_FOLDERS if not f.startswith(".cache")]
    found = [p for f in folders for p in (ROOT / f).rglob("*") if p.is_file() and "corpus" not in p.parts]
    return found + [p for p in ROOT.iterdir() if p.is_file()]


FILES = all_files()
FILE_NAMES = {p.name for p in FILES}


# --- parts of a document


def without_fences(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def fences(text):
    return re.findall(r"^```.*?\n(.*?)^```", text, flags=re.S | re.M)


def code_spans(text):
    """The inline code outside of fenced blocks."""
    return re.findall(r"`([^`\n]+)`", without_fences(text))


def links(text):
    return re.findall(r"\]\(([^)\s]+)\)", without_fences(text))


def slug(heading):
    """The anchor that GitHub generates for a heading."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def anchors(text):
    found, seen = set(), {}
    for heading in re.findall(r"^#+ +(.*)$", without_fences(text), flags=re.M):
        base = slug(heading)
        count = seen.get(base, 0)
        seen[base] = count + 1
        found.add(base if count == 0 else f"{base}-{count}")
    return found


# --- files


def is_file_name(span):
    if not re.fullmatch(r"[\w.*/+-]+", span) or span.startswith(("/", "-", "build/")) or span in GENERATED:
        return False
    if any(part.isupper() and part.isalpha() for part in span.split("/")):  # PATH/entries, build/NAME
        return False
    first = span.split("/")[0]
    if "/" in span and first in TOP_FOLDERS:
        return True
    return span.endswith(SOURCE_ENDINGS)


def file_exists(span, document):
    for base in [*BASES, document.parent]:
        if "*" in span:
            if any(base.glob(span)):
                return True
        elif (base / span).exists():
            return True
    return "/" not in span and span in FILE_NAMES


def missing_files(text, document):
    named = [s for s in code_spans(text) if is_file_name(s)]
    for block in fences(text):
        tops = "|".join(sorted(t for t in TOP_FOLDERS if not t.startswith(".")))
        named += re.findall(rf"(?<![\w/.$-])((?:{tops})/[\w./-]*[\w])", block)
        named += re.findall(r"#include <(conclave/[^>]+)>", block)
    return sorted({s for s in named if not file_exists(s, document)})


# --- links


def broken_links(text, document):
    broken = []
    for target in links(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        if not file.exists():
            broken.append(target)
        elif anchor and anchor not in anchors(text if file == document else file.read_text()):
            broken.append(target)
    return broken


# --- tests


def expanded(text):
    """CMake text with each foreach over literal values expanded."""
    text = re.sub(r"#.*", "", text)
    loop = re.compile(r"foreach\((\w+) ((?!IN )[^()]*)\)((?:(?!foreach\().)*?)endforeach\(\)", re.S)
    while match := loop.search(text):
        variable, values, body = match.groups()
        bodies = [body.replace("${" + variable + "}", value) for value in values.split()]
        text = text[: match.start()] + "\n".join(bodies) + text[match.end() :]
    return text


def ctest_names():
    names = set()
    for file in ROOT.glob("tests/**/CMakeLists.txt"):
        text = expanded(file.read_text())
        names |= set(re.findall(r"\badd_test\(NAME ([\w.]+)", text))
        names |= set(re.findall(r"\bconclave_add_(?:test|fuzzer|interop_run|java_run|document_test)\((\w+)", text))
        for name in re.findall(r"\bconclave_add_(?:embedded_run|interop_run|java_run)\((\w+)", text):
            names.add(name + ".embedded")
        names |= {"sim_" + n for n in re.findall(r"\bconclave_add_simulation\((\w+)", text)}
    names |= {"mutant_" + n for n, arguments in mutants().items() if "TESTED" in arguments}
    names |= {"cli_" + p.stem for p in ROOT.glob("tests/cli/*_test.py")}
    return names


def mutants():
    text = (ROOT / "tests/simulation/mutants/CMakeLists.txt").read_text()
    found = re.findall(r"^conclave_add_mutant\((\w+)([^)]*)\)", text, flags=re.M)
    return {name: arguments.split() for name, arguments in found}


def source_tests():
    """The names of suites (SUITE), tests (SUITE.TEST) and test files."""
    names = set()
    for file in FILES:
        if file.suffix == ".cpp" and "tests" in file.parts:
            for suite, case in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)", file.read_text(), flags=re.M):
                names |= {suite, f"{suite}.{case}"}
        if file.stem.endswith("_test"):
            names.add(file.stem)
    return names


CTESTS = ctest_names()
SOURCE_TESTS = source_tests()
KNOWN_TESTS = CTESTS | SOURCE_TESTS
TEST_NAME = re.compile(r"(\w+_test(\.\w+)?|(sim|chaos|mutant|fuzz|cli|install)[_.][a-z_*]+(\.embedded)?|kazoo_suite(\.\w+)?)")


def is_known_test(name):
    return any(fnmatch.fnmatchcase(known, name) for known in KNOWN_TESTS)


def unknown_tests(text):
    names = [s for s in code_spans(text) if TEST_NAME.fullmatch(s) and not s.endswith(SOURCE_ENDINGS)]
    return sorted({s for s in names if not is_known_test(s)})


def table_rows(text, *header):
    """The rows, as lists of cells, of every table whose header ends with these cells."""
    rows, wanted, columns = [], False, None
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split(" | ")] if line.startswith("|") else None
        if cells is None:
            wanted, columns = False, None
        elif columns is None:
            columns = cells
            wanted = columns[-len(header) :] == list(header)
        elif wanted and not set(line) <= set("|-: "):
            rows.append(cells)
    return rows


def unknown_in_test_columns(text):
    """The unknown names in the columns `found by` and `caught by`.

    Known are tests, mutants, `WORKLOAD SEED` and make targets.
    """
    unknown = []
    for column in ("found by", "caught by"):
        rows = table_rows(text, column)
        for span in (s for row in rows for s in re.findall(r"`([^`]+)`", row[-1])):
            seed = re.fullmatch(r"(\w+) \d+", span)
            known = is_known_test(span) or span in mutants() or span.startswith("make ")
            if not (known or (seed and "sim_" + seed[1] in CTESTS)):
                unknown.append(span)
    return unknown


# --- make


def unknown_make_targets(text):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    commands = code_spans(text) + [line for block in fences(text) for line in block.splitlines()]
    used = {t for c in commands for t in re.findall(r"(?:^|&& )make ([a-z][a-z-]*)", c)}
    return sorted(used - targets)


# --- the tests


@pytest.mark.parametrize("name", NAMES)
def test_named_files_exist(name):
    assert missing_files((ROOT / name).read_text(), ROOT / name) == []


@pytest.mark.parametrize("name", NAMES)
def test_links_resolve(name):
    assert broken_links((ROOT / name).read_text(), ROOT / name) == []


@pytest.mark.parametrize("name", NAMES)
def test_named_tests_exist(name):
    text = (ROOT / name).read_text()
    assert unknown_tests(text) == []
    assert unknown_in_test_columns(text) == []


@pytest.mark.parametrize("name", NAMES)
def test_named_make_targets_exist(name):
    assert unknown_make_targets((ROOT / name).read_text()) == []


def test_the_table_of_mutants_agrees_with_cmake():
    text = (ROOT / "docs/testing.md").read_text()
    rows = table_rows(text, "workload", "found at seed")
    documented = {}
    for first, workload, seed in rows:
        documented[re.search(r"`(\w+)`", first)[1]] = (workload, int(seed.replace(",", "")))
    assert set(documented) == set(mutants())
    for name, arguments in mutants().items():
        workload, seed = documented[name]
        expected = arguments[arguments.index("WORKLOAD") + 1]
        assert workload == expected + (" `--sqlite`" if "SQLITE" in arguments else ""), name
        assert seed <= int(arguments[arguments.index("SEEDS") + 1]), name


def wrong_figures(readme, performance):
    """The figures in the tables of a README that the performance page does not have."""
    section = re.search(r"^## (?:Figures|性能数据)\n(.*?)(?=^## )", readme, flags=re.S | re.M)[1]
    cells = [c for line in section.splitlines() if line.startswith("|") for c in line.split("|")[2:]]
    figures = {f for c in cells for f in re.findall(r"(?<![\w.,])\d[\d,.]*\d|(?<![\w.,])\d", c)}
    assert figures
    return figures - set(re.findall(r"\d[\d,.]*\d|\d", performance))


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_figures_of_the_readme_agree_with_the_performance_page(name):
    assert wrong_figures((ROOT / name).read_text(), (ROOT / "docs/performance.md").read_text()) == set()


def test_the_list_of_metrics_agrees_with_the_server():
    source = (ROOT / "src/server/listener/four_letter_words.cpp").read_text()
    reported = re.findall(r'^ +(?:line|number)\("((?:zk|conclave)_\w+)"', source, flags=re.M)
    # A histogram has a figure for each limit. The document names the first and the last one.
    header = (ROOT / "src/server/core/duration_histogram.hpp").read_text()
    limits = [int(n.replace("'", "")) for n in re.findall(r"[\d']+", re.search(r"limits\{([^}]+)\}", header)[1])]
    for name in re.findall(r'^ +histogram\("(\w+)"', source, flags=re.M):
        reported += [f"{name}_us_{part}" for part in ("sum", "count", f"le_{limits[0]}", f"le_{limits[-1]}")]
    rows = table_rows((ROOT / "docs/metrics.md").read_text(), "figure", "meaning")
    assert len(reported) > 15
    assert sorted(re.findall(r"`(\w+)`", " ".join(first for first, _ in rows))) == sorted(reported)


def test_the_list_of_network_file_systems_agrees_with_the_program():
    source = (ROOT / "src/cli/connect/local_server.cpp").read_text()
    refused = re.findall(r'file_system\{\w+, "(\w+)"\}', source)
    page = " ".join((ROOT / "docs/cli.md").read_text().split())
    (listed,) = re.findall(r"Commands refuse a folder on ([\w, ]+)\.", page)
    assert len(refused) > 5
    assert sorted(set(refused)) == sorted(re.split(", | and ", listed))


# --- translations


def without_comments(block):
    """Code without its comments, which are translated."""
    lines = [re.sub(r"\s*(?:(?<=\s)#|^#(?![!])|(?<=\s)//).*", "", line) for line in block.splitlines()]
    return [line for line in lines if line]


def structure(text, name):
    """What a translation has in common with its original."""
    outside = without_fences(text)
    folder = (ROOT / name).parent
    targets = [t for t in links(text) if not re.search(r"README\.?[\w-]*\.md$", t)]
    return {
        "headings": re.findall(r"^#+", outside, flags=re.M),
        "code": [without_comments(b) for b in fences(text)],
        "fences": re.findall(r"^```.+$", text, flags=re.M),
        "instructions": re.findall(r"^<!-- .*?-->", text, flags=re.S | re.M),
        "inline code": sorted(code_spans(text)),
        "links": sorted(english(os.path.relpath(folder / t, ROOT)) for t in targets if ":" not in t),
        "table rows": [line.count("|") for line in outside.splitlines() if line.startswith("|")],
        "list items": len(re.findall(r"^(?:- |\d+\. )", outside, flags=re.M)),
        "figures": sorted(re.findall(r"\d[\d,.]*\d", re.sub(r"\]\([^)]*\)", "]", outside))),
    }


def english(link):
    """The English page of a translated page, without the name of its anchor, which is translated, too."""
    page, _, anchor = link.partition("#")
    page = TRANSLATIONS.get(page, page)
    return page + ("#" if anchor else "") if page in TRANSLATIONS.values() else link


def differences(translation, name, original, original_name):
    ours, theirs = structure(translation, name), structure(original, original_name)
    return {k: (ours[k], theirs[k]) for k in ours if ours[k] != theirs[k]}


@pytest.mark.parametrize("name", sorted(TRANSLATIONS))
def test_translations_are_in_step(name):
    original = TRANSLATIONS[name]
    assert differences((ROOT / name).read_text(), name, (ROOT / original).read_text(), original) == {}


def links_to_english_pages(text, name):
    """The links that lead to an English page although the page has a translation."""
    pages = {t: os.path.relpath((ROOT / name).parent / t.partition("#")[0], ROOT) for t in links(text) if ":" not in t}
    return [t for t, page in pages.items() if page in TRANSLATIONS.values() and page != TRANSLATIONS[name]]


@pytest.mark.parametrize("name", sorted(TRANSLATIONS))
def test_translations_link_to_translations(name):
    assert links_to_english_pages((ROOT / name).read_text(), name) == []


# A browser shows a line break as a space, which Chinese text does not have.
@pytest.mark.parametrize("name", sorted(TRANSLATIONS))
def test_chinese_paragraphs_have_no_line_breaks(name):
    outside = without_fences((ROOT / name).read_text())
    assert re.findall(r"[\u3000-\u9fff\uff00-\uffef].*\n *(?![-*#|<\s]|\d+\. |!\[)\S.*", outside) == []


def test_the_check_of_translations_finds_errors():
    page = "# A\n\n- one `x` [b](docs/cli.md)\n\n```sh\nmake demo   # see\n```\n\n| a | 12 |\n"
    same = "# 甲\n\n- 一 `x` [乙](docs/cli.md)\n\n```sh\nmake demo   # 看\n```\n\n| 甲 | 12 |\n"
    assert differences(same, "README.md", page, "README.md") == {}
    for old, new, what in [
        ("# 甲", "## 甲", "headings"),
        ("make demo", "make test", "code"),
        ("`x`", "`y`", "inline code"),
        ("docs/cli.md", "docs/abi.md", "links"),
        ("12", "13", "figures"),
        ("| 12", "| 12 | ", "table rows"),
        ("- 一", "一", "list items"),
    ]:
        assert what in differences(same.replace(old, new), "README.md", page, "README.md"), new
    name, original = "docs/zh/guarantees.md", "docs/guarantees.md"
    page = "[a](queue.md#x) [b](how-to/tls-and-acls.md#create-certificates) [c](tutorials/first-lock.md)\n"
    same = "[甲](../queue.md#x) [乙](how-to/tls-and-acls.md#创建证书) [丙](../tutorials/first-lock.md)\n"
    assert differences(same, name, page, original) == {}
    assert set(differences(same.replace("#x", "#y"), name, page, original)) == {"links"}
    assert links_to_english_pages(same, name) == ["../tutorials/first-lock.md"]
    assert links_to_english_pages("[英文](../guarantees.md) [甲](../queue.md#x)", name) == []


def test_the_checks_find_errors():
    here = ROOT / "docs/testing.md"
    assert missing_files("`src/wire/no_such.hpp` and `tests/nowhere`", here) == [
        "src/wire/no_such.hpp",
        "tests/nowhere",
    ]
    assert missing_files("`no_such_file.cpp`, `machine.cpp`, `PATH/qn-N`, `/locks/x`", here) == ["no_such_file.cpp"]
    assert missing_files("```\ntools/no-such-tool\n```\n", here) == ["tools/no-such-tool"]
    assert broken_links("# A b\n[x](#a-b) [y](#a-c) [z](none.md) [w](https://example.com)", here) == ["#a-c", "none.md"]
    assert broken_links("[x](abi.md#no-such-heading)", here) == ["abi.md#no-such-heading"]
    assert unknown_tests("`no_such_test`, `wire_test`, `sim_*`, `sim_nothing`, `lock_test.embedded`") == [
        "no_such_test",
        "sim_nothing",
    ]
    rows = "| what | found by |\n|---|---|\n| a | `hold`, `multi 12`; mutant `zxid_reset` |\n| b | `nobody`, `none 12` |\n"
    assert unknown_in_test_columns(rows) == ["nobody", "none 12"]
    assert unknown_make_targets("`make test`, `make coffee`") == ["coffee"]


def run_hook(tmp_path, message):
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_bytes(message.encode())
    return subprocess.run([ROOT / "tools/commit-msg", file], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "message",
    [
        "Fix double release after reconnect\n",
        "Fix double release after reconnect\n\nThe reply was lost.\n",
        "Fix double release after reconnect",
        "x" * 72 + "\n",
        "é" * 72 + "\n",
        "\n# a comment\nAdd sticky locks\n# another\n\nBecause.\n",
        "Add sticky locks\n# ------------------------ >8 ------------------------\ndiff --git\n",
        "Merge branch 'a' into " + "b" * 80 + ".\n",
        "fixup! " + "x" * 72 + "\n",
        "squash! Fix it.\n",
        'Revert "Fix ' + "x" * 72 + '"\n\nThis reverts commit 1234.\n',
    ],
)
def test_commit_hook_accepts(tmp_path, message):
    done = run_hook(tmp_path, message)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("x" * 73 + "\n", "73 characters"),
        ("Fix double release.\n", "full stop"),
        ("", "empty"),
        ("\n\n", "empty"),
        ("# only a comment\n", "empty"),
        ("Fix double release\nThe reply was lost.\n", "not blank"),
    ],
)
def test_commit_hook_rejects(tmp_path, message, why):
    done = run_hook(tmp_path, message)
    assert done.returncode == 1
    assert why in done.stderr
