"""Builds the site of the documents, and checks its links, its resources, its reference pages and its search.

CONCLAVE_BINARY is the program.
"""

import functools
import html.parser
import http.server
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/site"), str(ROOT / "tests/cli")]
import build as builder  # noqa: E402
import diagrams  # noqa: E402
import headers  # noqa: E402
import pages  # noqa: E402
from browser import Browser  # noqa: E402


class Page(html.parser.HTMLParser):
    """The anchors and links of a page, and the files that a browser loads with it."""

    def __init__(self, file):
        super().__init__()
        self.anchors, self.links, self.resources, self.text = set(), [], [], ""
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.anchors |= {a[name] for name in ("id", "name") if a.get(name)}
        if tag == "a" and a.get("href"):
            self.links.append(a["href"])
        elif tag == "link" and a.get("href") and a.get("rel") != "canonical":
            self.resources.append(a["href"])
        elif a.get("src"):
            self.resources.append(a["src"])

    def handle_data(self, data):
        self.text += data


def build(folder, program):
    run = [sys.executable, ROOT / "tools/site/build.py", "--program", program, "--output", folder / "site"]
    return subprocess.run(run, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(folder, os.environ["CONCLAVE_BINARY"])
    assert (done.returncode, done.stderr) == (0, "")
    found = {str(f.relative_to(folder / "site")): Page(f) for f in (folder / "site").rglob("*.html")}
    return folder / "site", found


def is_external(target):
    return bool(re.match(r"[a-z]+:|//", target))


def broken_targets(folder, found):
    broken = []
    for name, page in found.items():
        if name == "404.html":  # its links are relative to the root of a server
            continue
        for target in [*page.links, *page.resources]:
            if is_external(target):
                continue
            path, _, anchor = urllib.parse.unquote(target).partition("#")
            other = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            other = other + "/index.html" if (folder / other).is_dir() else other
            if not (folder / other).exists():
                broken.append((name, target))
            elif anchor and anchor not in found[other].anchors:
                broken.append((name, target))
    return broken


def test_links_and_anchors_resolve(site):
    folder, found = site
    assert len(found) > 60
    assert sum(len(p.links) for p in found.values()) > 1000
    assert broken_targets(folder, found) == []


def test_the_check_of_links_finds_errors(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#y">b</a> <a href="c.html">c</a> <a href="#x">x</a><p id="x">')
    (tmp_path / "b.html").write_text('<img src="none.png"><p id="z">')
    found = {f: Page(tmp_path / f) for f in ("a.html", "b.html")}
    assert broken_targets(tmp_path, found) == [("a.html", "b.html#y"), ("a.html", "c.html"), ("b.html", "none.png")]


def test_a_browser_loads_nothing_from_other_servers(site):
    folder, found = site
    assert [(n, r) for n, p in found.items() for r in p.resources if is_external(r)] == []
    css = [f.read_text() for f in folder.rglob("*.css")]
    assert css
    assert [u for text in css for u in re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)]*", text)] == []


def test_the_texts_of_the_theme_are_in_the_language_of_the_page(site):
    folder, found = site
    languages = {name: re.search('<html lang="(.*?)"', (folder / name).read_text())[1] for name in found}
    chinese = {name for name in found if name.startswith("zh/")}
    assert {name for name, language in languages.items() if language == "zh-CN"} == chinese
    assert {name for name, language in languages.items() if language == "en"} == set(found) - chinese
    assert {name for name, page in found.items() if "目录" in page.text} == chinese
    assert {name for name, page in found.items() if "Table of contents" in page.text}.isdisjoint(chinese)
    assert "Table of contents" in found["guarantees.html"].text


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def browser(site, tmp_path):
    """A browser, and the address of the site."""
    handler = functools.partial(QuietHandler, directory=site[0])
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            browser = Browser(tmp_path)
            try:
                yield browser, f"http://127.0.0.1:{server.server_port}/"
            finally:
                browser.close()
        finally:
            server.shutdown()


def until(wanted, get):
    """Waits until get() returns this value."""
    end = time.monotonic() + 60
    while (found := get()) != wanted:
        assert time.monotonic() < end, f"waited for {wanted}, but found {found}"
        time.sleep(0.02)


def test_the_search_finds_english_and_chinese_words(browser):
    browser, address = browser
    browser.open(address + "index.html")
    browser.find(".md-search__input").click()

    def best():
        """The page of the first result, and those of the words that it contains."""
        link = browser.js("return document.querySelector('.md-search-result__link')?.href ?? ''")
        parts = urllib.parse.urlsplit(link.removeprefix(address))
        return parts.path, *urllib.parse.parse_qs(parts.query).get("h", [])

    def finds(words, *expected):
        # All characters at once, so that the results are not those of the first characters.
        box = browser.find(".md-search__input")
        browser.js("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('keyup'))", box, words)
        until(expected, best)

    finds("deadlock", "deadlocks.html", "deadlock")
    finds("孤儿节点", "zh/guarantees.html", "孤儿节点")
    finds("没有这样的词", "")
    ensemble = "zh/how-to/ensemble-of-three.html"
    finds("机架 可用区", ensemble, "机架 可用区")
    finds("机架，", ensemble, "机架")
    finds("机架、可用区", ensemble, "机架 可用区")
    finds("scp机架", ensemble, "scp 机架")
    finds("不同的机架或可用区", ensemble, "不同的机架或可用")  # a term of the index has eight characters
    assert browser.problems() == []
    assert browser.requested_hosts() == {urllib.parse.urlsplit(address).netloc}


def test_found_words_are_highlighted(browser):
    browser, address = browser
    browser.open(address + "zh/index.html?q=" + urllib.parse.quote("孤儿节点"))
    until("孤儿节点", lambda: browser.text(".md-search-result mark"))
    browser.js("document.querySelector('.md-search-result__link').click()")
    until({"孤儿节点"}, lambda: set(browser.texts("article.md-content__inner mark")))


def test_a_theme_with_another_search_is_an_error(tmp_path):
    with pytest.raises(SystemExit, match="search worker"):
        builder.add_chinese_search(tmp_path)


def test_every_header_and_command_has_a_page(site):
    folder, found = site
    for header in ROOT.glob("include/conclave/*.hpp"):
        page = found[f"reference/api/{header.stem}.html"]
        # The classes and enumerations of the header, without internal ones.
        text = re.sub(r"^namespace detail {.*?^}  // namespace detail", "", header.read_text(), flags=re.S | re.M)
        public = re.findall(r"^(?:class|struct|enum class)(?: \[\[\w+\]\])? (\w+)(?! *::)\b[^;\n]*\{", text, re.M)
        assert [name for name in public if name not in page.anchors] == []
        assert "namespace detail" not in page.text
    for command in ("lock", "queue", "serve"):
        assert "Usage: conclave " + command in found[f"reference/commands/{command}.html"].text
    errors = (ROOT / "include/conclave/error.hpp").read_text()
    codes = re.findall(r"^  (\w+) = -?\d+", errors, re.M)
    assert len(codes) > 40
    assert [c for c in codes if f"::{c}" not in found["reference/errors.html"].text] == []


def test_without_the_program_the_site_has_no_commands(tmp_path):
    done = build(tmp_path, tmp_path / "none")
    assert done.returncode == 0
    assert "does not exist" in done.stderr
    assert not (tmp_path / "site/reference/commands/lock.html").exists()


# --- the parts of the build


def test_a_header_becomes_a_page():
    text = """// Does a thing.
//
//   thing t;
//
// - one_thing
//   or two, see other.hpp
#pragma once

namespace conclave {

namespace detail {
class hidden {};
}  // namespace detail

class forward;

// A thing.
template <class T>
class thing : public base {
 public:
  // Starts it.
  explicit thing(T t = {}) : t_{t} { go(); }
  int size() const { return 1; }

  // --- going. It may fail.

  // Goes.
  template <class D>
  [[nodiscard]] bool go_for(const std::function<void(int)>& f = {},
                            int n = 1) noexcept {
    return f(n);
  }
  int plain{3};  // a number

 private:
  // Not shown.
  T t_;
};

}  // namespace conclave
"""
    assert headers.Header("thing", text, {"other"}).page() == """# thing.hpp

Does a thing.

```cpp
thing t;
```

- `one_thing`
    or two, see [`other.hpp`](other.md)

```cpp
#include <conclave/thing.hpp>
```

## thing

```cpp
template <class T>
class thing : public base;
```

A thing.

```cpp
explicit thing(T t = {});
int size() const;
```

Starts it.

#### Going

It may fail.

```cpp
template <class D>
[[nodiscard]] bool go_for(const std::function<void(int)>& f = {},
                          int n = 1) noexcept;
int plain{3};  // a number
```

Goes.
"""


def test_markdown_is_adapted():
    known = {"docs/a.md": "a.md", "docs/b/c.md": "b/c.md", "include/x.hpp": "reference/x.md"}
    text = (
        "See [c](b/c.md#d), [x](../include/x.hpp), [none](../none) and ![p](plots/p.svg).\n"
        "<!-- test: exits 1 -->\n- one\n  - two\n\n  ```sh\n  run\n  ```\n\n```text\n- [c](b/c.md)\n```\n"
    )
    assert pages.adapted(text, "docs/a.md", "a.md", known) == (
        "See [c](b/c.md#d), [x](reference/x.md), none and ![p](plots/p.svg).\n"
        "\n- one\n    - two\n\n    ```sh\n    run\n    ```\n\n```text\n- [c](b/c.md)\n```\n"
    )


def test_a_diagram_becomes_svg():
    svg = diagrams.svg_of("stateDiagram-v2\n  [*] --> a : begin\n  a --> [*]\n")
    assert svg.startswith("<svg") and ">begin<" in svg
    with pytest.raises(ValueError, match="not a transition"):
        diagrams.svg_of("stateDiagram-v2\n  note right of a\n")
