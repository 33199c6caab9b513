"""Checks the include rules, link rules and namespaces of the layers. The tables in docs/architecture.md are the rules.

Only source text and CMake files are read. Nothing is compiled.
"""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = "include/conclave"


def table(text, header):
    """The rows of the Markdown table with this header, without the header."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(header))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return rows


def code(cell):
    return re.findall(r"`([^`]+)`", cell)


class Rules:
    def __init__(self, text):
        rows = table(text, "| layer | responsibility | includes |")
        self.includes = {code(row[0])[0]: set(code(row[2])) for row in rows}
        headers = {code(row[0])[0]: row[1] for row in table(text, "| layer | public headers |")}
        self.public = {name: layer for layer, cell in headers.items() for name in code(cell)}
        self.other_headers = next(layer for layer, cell in headers.items() if cell == "all others")
        self.namespaces = {layer: f"conclave::{layer}" for layer in self.includes}
        for row in table(text, "| layer | namespace |"):
            self.namespaces |= {layer: code(row[1])[0] for layer in code(row[0])}

    def layer_of_source(self, path):
        """The layer of a path relative to src/: the longest layer name that it begins with."""
        layers = [name for name in self.includes if path.startswith(name + "/")]
        return max(layers, key=len, default=None)

    def layer_of_header(self, name):
        """The layer of a public header, relative to include/conclave."""
        return self.public.get(name, self.other_headers)

    def allows(self, layer, target, is_public):
        if is_public and PUBLIC in self.includes[layer]:
            return True
        return target == layer or target in self.includes[layer]


def included(file):
    # A path in quotes or in angle brackets; both find headers of this repository.
    return re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', file.read_text(), flags=re.M)


def sources(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in {".hpp", ".cpp", ".ipp"})


def include_errors(root, rules):
    errors = []

    def check(file, layer):
        for name in included(file):
            is_public = name.startswith("conclave/") and (root / "include" / name).exists()
            if is_public:
                target = rules.layer_of_header(name.removeprefix("conclave/"))
            elif (root / "src" / name).exists():
                target = rules.layer_of_source(name)
            elif (file.parent / name).exists():
                errors.append(f"{file.relative_to(root)} includes {name} without its folder")
                continue
            else:
                continue  # a header of the system or of another library
            # The umbrella header is for users.
            if target is None or name == "conclave/conclave.hpp" or not rules.allows(layer, target, is_public):
                errors.append(f"{file.relative_to(root)} ({layer}) includes {name} ({target})")

    for file in sources(root / "src"):
        path = str(file.relative_to(root / "src"))
        layer = rules.layer_of_source(path)
        if layer is None:
            errors.append(f"src/{path} belongs to no layer")
        else:
            check(file, layer)
    for file in sources(root / PUBLIC):
        name = str(file.relative_to(root / PUBLIC))
        if name != "conclave.hpp":
            check(file, rules.layer_of_header(name))
    return errors


def link_errors(root, rules):
    errors = []
    targets = {"conclave_" + layer.replace("/", "_"): layer for layer in rules.includes}
    for layer in rules.includes:
        if PUBLIC in rules.includes[layer] or layer == "server":
            continue  # these link the two libraries
        text = re.sub(r"#.*", "", (root / "src" / layer / "CMakeLists.txt").read_text())
        for links in re.findall(r"target_link_libraries\(([^)]*)\)", text):
            for name in links.split()[1:]:
                if name in targets and not rules.allows(layer, targets[name], False):
                    errors.append(f"conclave_{layer.replace('/', '_')} links {name}")
                if name.startswith("conclave") and name not in targets:
                    errors.append(f"conclave_{layer.replace('/', '_')} links {name}, which is no layer")
    return errors


# Comments, string literals (raw ones first) and character literals. 10'000 is none of them.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"' + r"|(?<!\w)'(?:\\.|[^'\\\n])*'", flags=re.S
)


def opened_namespaces(text):
    """The full name and the content of every named namespace in a source text."""
    text = NO_CODE.sub("", text)
    found, outer = [], []
    for part in re.finditer(r"\bnamespace\s*([\w:]*)\s*\{|[{}]", text):
        if part[0] == "}":
            name, begin = outer.pop()
            if name:
                found.append(("::".join([n for n, _ in outer if n] + [name]), text[begin : part.start()]))
        else:
            outer.append((part[1], part.end()))
    return found


def is_inside(namespace, outer):
    return f"{namespace}::".startswith(f"{outer}::")


def only_declares_classes(content):
    return re.fullmatch(r"(\s*(template <[^<>]*>)?\s*(class|struct) \w+;)*\s*", content) is not None


def namespace_errors(root, rules):
    errors = []
    not_public = {*rules.namespaces.values(), "conclave::detail"} - {"conclave"}

    def check(file, own, is_public):
        for name, content in opened_namespaces(file.read_text()):
            foreign = any(is_inside(name, n) for n in not_public - {own})
            if is_public:
                foreign = foreign and not only_declares_classes(content)
            else:
                foreign = foreign or not (name == "conclave" or is_inside(name, own) or not is_inside(name, "conclave"))
            if foreign:
                errors.append(f"{file.relative_to(root)} opens namespace {name}")

    for file in sources(root / "src"):
        layer = rules.layer_of_source(str(file.relative_to(root / "src")))
        if layer is not None:  # include_errors() reports the others
            check(file, rules.namespaces[layer], False)
    for file in sources(root / PUBLIC):
        check(file, "conclave::detail", True)
    return errors


def cycles(rules):
    """The layers that include each other. Each layer includes only layers that are listed before it."""
    seen, errors = set(), []
    for layer, includes in rules.includes.items():
        errors += [f"{layer} includes {other}" for other in sorted(includes - seen - {PUBLIC})]
        seen.add(layer)
    return errors


# --- the repository


@pytest.fixture(scope="module")
def rules():
    return Rules((ROOT / "docs/architecture.md").read_text())


def test_a_layer_includes_only_layers_below_it(rules):
    assert include_errors(ROOT, rules) == []


def test_a_layer_links_only_layers_below_it(rules):
    assert link_errors(ROOT, rules) == []


def test_no_layer_includes_a_layer_above_it(rules):
    assert cycles(rules) == []


def test_a_layer_opens_only_its_own_namespace(rules):
    assert namespace_errors(ROOT, rules) == []


def test_the_tables_are_complete(rules):
    folders = {
        str(p.parent.relative_to(ROOT / "src")) for p in (ROOT / "src").rglob("CMakeLists.txt") if p.parent.name != "src"
    }
    assert folders == set(rules.includes)
    assert [n for n in rules.public if not (ROOT / PUBLIC / n).exists()] == []
    assert set(rules.public.values()) | {rules.other_headers} | set(rules.namespaces) == set(rules.includes)


def test_a_public_header_is_implemented_in_its_layer(rules):
    """The functions of a value type must be linked wherever the type is included."""
    wrong = []
    for name, layer in rules.public.items():
        source = name.replace(".hpp", ".cpp")
        found = [str(p.parent.relative_to(ROOT / "src")) for p in (ROOT / "src").rglob(source)]
        if found and layer not in found and "cli" not in found[0]:
            wrong.append(f"{name} ({layer}) is implemented in {found}")
    assert wrong == []


# --- the test itself

RULES = Rules(
    """
| layer | responsibility | includes | does not depend on |
|---|---|---|---|
| `low` | | | |
| `high` | | `low` | |
| `tool` | | `include/conclave` | |

| layer | public headers |
|---|---|
| `low` | `value.hpp` |
| `high` | all others |

| layer | namespace |
|---|---|
| `low` | `conclave` |
| `high` | `conclave::high_impl` |
| all others | `conclave::` and the name of the layer |
"""
)


@pytest.mark.parametrize(
    "file, line, error",
    [
        ("src/high/a.cpp", '#include "low/low.hpp"', None),
        ("src/high/a.cpp", '#include "conclave/value.hpp"', None),
        ("src/high/a.cpp", "#include <vector>", None),
        ("src/low/a.cpp", '#include "high/high.hpp"', "src/low/a.cpp (low) includes high/high.hpp (high)"),
        ("src/low/a.cpp", "  # include <high/high.hpp>", "src/low/a.cpp (low) includes high/high.hpp (high)"),
        ("src/low/a.hpp", '#include "conclave/call.hpp"', "src/low/a.hpp (low) includes conclave/call.hpp (high)"),
        ("src/low/a.cpp", '#include "low.hpp"', "src/low/a.cpp includes low.hpp without its folder"),
        ("src/high/a.cpp", '#include "conclave/conclave.hpp"', "src/high/a.cpp (high) includes conclave/conclave.hpp (high)"),
        ("src/tool/a.cpp", '#include "conclave/call.hpp"', None),
        ("src/tool/a.cpp", '#include "low/low.hpp"', "src/tool/a.cpp (tool) includes low/low.hpp (low)"),
        (
            "include/conclave/value.hpp",
            '#include "conclave/call.hpp"',
            "include/conclave/value.hpp (low) includes conclave/call.hpp (high)",
        ),
        ("src/new/a.cpp", "", "src/new/a.cpp belongs to no layer"),
    ],
)
def test_errors_are_found(tmp_path, file, line, error):
    for name in ["src/low/low.hpp", "src/high/high.hpp", *(f"{PUBLIC}/{n}.hpp" for n in ("value", "call", "conclave"))]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(line + "\n")
    assert include_errors(tmp_path, RULES) == ([error] if error else [])


@pytest.mark.parametrize(
    "file, text, wrong",
    [
        ("src/high/a.cpp", "namespace conclave::high_impl {}", None),
        ("src/high/a.cpp", "namespace conclave {\nnamespace high_impl::part {}\nnamespace {}\n}", None),
        ("src/high/a.cpp", "namespace other {}  // namespace conclave::detail {", None),
        ("src/high/a.cpp", "constexpr char open = '{';\nconst int n = 1'000;\nnamespace conclave {}", None),
        ("src/high/a.cpp", "namespace conclave::detail {}", "conclave::detail"),
        ("src/high/a.cpp", "namespace conclave {\nvoid f() {}\nnamespace tool {}\n}", "conclave::tool"),
        ("src/high/a.hpp", "namespace conclave::tool { class t; }", "conclave::tool"),
        ("src/high/a.hpp", "namespace conclave::none {}", "conclave::none"),
        ("src/low/a.cpp", "namespace conclave {}", None),
        ("src/low/a.cpp", "namespace conclave::high_impl {}", "conclave::high_impl"),
        ("src/tool/a.cpp", "namespace conclave::tool {}", None),
        (f"{PUBLIC}/a.hpp", "namespace conclave::detail { void start(); }", None),
        (f"{PUBLIC}/a.hpp", "namespace conclave::permission { int all = 1; }", None),
        (f"{PUBLIC}/a.hpp", "namespace conclave::high_impl {\ntemplate <class T>\nclass c;\nstruct s;\n}", None),
        (f"{PUBLIC}/a.hpp", "namespace conclave::high_impl { void start(); }", "conclave::high_impl"),
    ],
)
def test_wrong_namespaces_are_found(tmp_path, file, text, wrong):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text)
    assert namespace_errors(tmp_path, RULES) == ([f"{file} opens namespace {wrong}"] if wrong else [])


def test_wrong_links_and_cycles_are_found(tmp_path):
    for layer, links in [("low", "conclave_high"), ("high", "PUBLIC conclave_low conclave_other")]:
        (tmp_path / "src" / layer).mkdir(parents=True)
        text = f"target_link_libraries(conclave_{layer} {links})"
        (tmp_path / "src" / layer / "CMakeLists.txt").write_text(text)
    assert link_errors(tmp_path, RULES) == [
        "conclave_low links conclave_high",
        "conclave_high links conclave_other, which is no layer",
    ]
    rules = Rules(
        "| layer | responsibility | includes |\n|--|\n| `a` | | `b` |\n| `b` | | `a` |\n\n"
        "| layer | public headers |\n|--|\n| `a` | all others |\n\n| layer | namespace |\n|--|\n"
    )
    assert cycles(rules) == ["a includes b"]
