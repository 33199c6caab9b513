"""The page of `conclave ui` in a real browser."""

import statistics
import time

import pytest
from browser import Browser
from conftest import BINARY, until
from kazoo.client import KazooClient
from selenium.webdriver.common.keys import Keys
from web_client import Page


@pytest.fixture
def browser(world):
    b = Browser(world.folder)
    yield b
    b.close()


@pytest.fixture
def page(served):
    world, _ = served
    return Page(world)


def rows(browser):
    return [text.replace("/\n", "/") for text in browser.texts(".recipe")]


def shows(browser, selector, *parts):
    """Waits until the text of an element contains all these parts."""
    def found():
        text = browser.text(selector)
        return all(part in text for part in parts)
    until(found, f"{parts} in {selector}")


def contenders(zk, path, *names):
    """Creates contenders of Curator's layout, in this order, and returns their nodes."""
    zk.ensure_path(path)
    return [zk.create(f"{path}/lock-", name.encode(), ephemeral=True, sequence=True) for name in names]


def test_the_overview(browser, page, served):
    world, zk = served
    browser.open(page.url)
    shows(browser, "#main", "Nothing is in use at or below /conclave.")
    shows(browser, "#connection", "Live")
    world.hold("backups/db", "--label", "nightly backup")
    contenders(zk, "/conclave/calm", "alone")
    contenders(zk, "/conclave/deploy", "host-1", "host-2", "host-3", "host-4", "host-5")
    world.ok("queue", "push", "jobs", "one", "two")
    zk.create("/conclave/leader/latch-", b"node-1", ephemeral=True, sequence=True, makepath=True)
    until(lambda: len(rows(browser)) == 5, "five rows")
    text = "\n".join(rows(browser))
    assert "nightly backup" in text and "held" in text and "2 items" in text
    deploy = next(r for r in rows(browser) if "deploy" in r)
    assert "host-1" in deploy and "host-2" in deploy and "+1" in deploy
    assert "lock · Curator" in deploy
    assert rows(browser)[0] == deploy or until(lambda: "deploy" in rows(browser)[0], "the longest wait first")
    # Search finds paths and owners; the address keeps it.
    box = browser.find("#search")
    box.send_keys("NIGHTLY")
    until(lambda: len(rows(browser)) == 1, "one match")
    assert browser.driver.current_url.endswith("#/?q=NIGHTLY")
    box.clear()
    box.send_keys("x" * 30)
    shows(browser, "#main", "Nothing matches.")
    for _ in range(30):
        box.send_keys(Keys.BACKSPACE)
    browser.js("[...document.querySelectorAll('.chip')].find(c => c.innerText.startsWith('Queues')).click()")
    until(lambda: len(rows(browser)) == 1 and "jobs" in rows(browser)[0], "the queue")
    assert browser.problems() == []


def test_the_keyboard(browser, page, served):
    _, zk = served
    for name in ("a", "b", "c"):
        contenders(zk, f"/conclave/{name}", "x")
    browser.open(page.url)
    until(lambda: len(rows(browser)) == 3, "three rows")
    focused = "return document.activeElement.closest('.recipe')?.querySelector('.path').textContent ?? document.activeElement.id"
    body = browser.find("body")
    body.send_keys("/")
    assert browser.js(focused) == "search"
    browser.find("#search").send_keys(Keys.ARROW_DOWN)
    assert browser.js(focused) == "/conclave/a"
    browser.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    browser.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert browser.js(focused) == "/conclave/c"
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    shows(browser, "h1", "/conclave/c")
    browser.find("body").send_keys("g")
    shows(browser, "h1", "Wait-for graph")
    browser.find("body").send_keys(Keys.ESCAPE)
    until(lambda: len(rows(browser)) == 3, "the overview")
    # Every control has a name, and the list has its size.
    assert browser.js("return document.querySelector('.recipe').getAttribute('aria-setsize')") == "3"
    assert browser.js("return [...document.querySelectorAll('a, button, input')].filter(e => !e.innerText.trim()"
                      " && !e.getAttribute('aria-label') && !e.querySelector('img[alt]')).length") == 0


def test_a_handoff_is_shown_at_once(browser, page, served):
    _, zk = served
    nodes = contenders(zk, "/conclave/x", *(f"holder-{i}" for i in range(12)))
    browser.open(f"{page.url}#/recipe?path=/conclave/x&layout=curator")
    shows(browser, "#main", "holder-0", "11 waiting")
    times = []
    for i, node in enumerate(nodes[:-1]):
        browser.js("""
            window.seen = new Promise((done) => {
              const wanted = arguments[0];
              const check = () => document.querySelector('.tile dd')?.textContent === wanted && done(Date.now());
              new MutationObserver(check).observe(document.body, {childList: true, subtree: true, characterData: true});
              check();
            });""", f"holder-{i + 1}")
        began = time.time()
        zk.delete(node)
        shown = browser.driver.execute_async_script("window.seen.then(arguments[0])") / 1000
        times.append(shown - began)
    print(f"from the release to the page: median {statistics.median(times) * 1000:.0f} ms, "
          f"at most {max(times) * 1000:.0f} ms")
    assert statistics.median(times) < 0.5
    shows(browser, "#main", "holder-11", "0 waiting")
    shows(browser, ".tip", "12 holds")
    assert browser.js("return document.querySelectorAll('.timeline rect').length") == 12
    browser.js("document.querySelector('details.recent').open = true")
    assert "holder-10" in browser.text("table")
    assert browser.problems() == []


def test_a_deadlock_is_named(browser, page, served):
    """Two sessions hold a lock and wait for that of the other one."""
    _, zk = served
    other = KazooClient(hosts=zk.address)
    other.start()
    try:
        browser.open(f"{page.url}#/graph")
        shows(browser, "#main", "Nobody waits for a lock.")
        for client, path, name in ((zk, "x", "A"), (other, "y", "B"), (other, "x", "B"), (zk, "y", "A")):
            node = client.create(f"/conclave/{path}/lock-", name.encode(), ephemeral=True, sequence=True, makepath=True)
        created = time.time()
        until(lambda: "A holds /conclave/x and waits for /conclave/y" in browser.text(".deadlocks"), "the deadlock")
        print(f"the page named the deadlock after {(time.time() - created) * 1000:.0f} ms")
        sentence = browser.text(".sentence")
        assert "B holds /conclave/y and waits for /conclave/x" in sentence
        shows(browser, "#deadlock-badge", "1 possible deadlock")
        assert browser.js("return document.querySelectorAll('.edge.possible').length") == 4
        assert browser.driver.title.startswith("Wait-for graph")
        browser.screenshot("possible-deadlock")
        browser.js("location.hash = '#/'")
        until(lambda: len(rows(browser)) == 2 and all("possible deadlock" in r for r in rows(browser)), "two rows")
        zk.delete(node)
        until(lambda: not any("deadlock" in r for r in rows(browser)), "the end of the deadlock")
        browser.js("location.hash = '#/graph'")
        until(lambda: browser.text(".deadlocks") == "" and browser.js("return document.querySelector('.edge') !== null"), "no deadlock")
        assert browser.problems() == []
    finally:
        other.stop()
        other.close()


def test_a_certain_deadlock_of_two_commands(browser, page, served):
    world, _ = served
    for first, second in (("x", "y"), ("y", "x")):
        world.start_conclave("lock", first, "--label", f"holder-of-{first}", "--", "sh", "-c",
                             f'until test -e {world.path("go")}; do sleep 0.05; done; '
                             f'exec {BINARY} lock {second} --label waiter-for-{second} -- true')
    browser.open(page.url)
    until(lambda: len(rows(browser)) == 2, "two locks")
    open(world.path("go"), "w").close()
    shows(browser, "#deadlock-badge", "1 deadlock")
    until(lambda: all("· deadlock" in r for r in rows(browser)), "both rows")
    assert browser.driver.title.startswith("(1) ")
    browser.js("location.hash = '#/graph'")
    shows(browser, ".deadlock strong", "Deadlock")
    shows(browser, ".sentence", "/conclave/x", "/conclave/y", " waits for ")
    # Each command holds in one session and waits in another one.
    count = "return ['.edge.certain', '.edge.same', '.node.dead'].map(s => document.querySelectorAll(s).length)"
    assert browser.js(count) == [6, 2, 6]
    browser.screenshot("certain-deadlock")


def test_the_view_of_the_server(browser, world):
    server = world.start_conclave("serve", "--data", world.path("data"), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
    world.env["CONCLAVE_CONNECT"] = server.stdout.readline().split()[2]
    page = Page.of(server)
    world.hold("x")
    world.ok("queue", "push", "jobs", *(str(i) for i in range(50)))
    browser.open(page.url)
    until(lambda: len(rows(browser)) == 2, "the rows")
    shows(browser, "#views", "Server")
    browser.js("location.hash = '#/server'")
    shows(browser, ".tiles", "Sessions\n2", "Connections", "Disk\nok")
    shows(browser, ".tiles", "Store\n", "Journal\n", "Free disk space\n", "Flush, mean\n")
    until(lambda: len(browser.texts(".times .card")) == 3, "three histograms")
    for title, text in zip(("Latency", "Commits", "Flushes"), browser.texts(".times .card")):
        assert text.startswith(title) and "measurements, mean " in text
    assert browser.js("return document.querySelectorAll('.times .bars i:not(.none)').length") >= 3
    for name, width, dark in (("light", 1280, False), ("dark", 1280, True), ("phone", 390, False)):
        browser.size(width, 1240)
        browser.dark(dark)
        assert browser.js("return document.documentElement.scrollWidth <= innerWidth"), name
        browser.screenshot(f"server-{name}")
    assert browser.problems() == []


def test_the_address_of_a_session(browser, page, served):
    _, zk = served
    contenders(zk, "/conclave/x", "holder")
    browser.open(f"{page.url}#/recipe?path=/conclave/x&layout=curator")
    host, port = zk._connection._socket.getsockname()
    shows(browser, ".contenders", f"session 0x{zk.client_id[0]:x} at {host}:{port}")
    browser.js("scrollTo(0, 1e7)")
    browser.screenshot("address")


def test_texts_of_others_are_only_text(browser, page, served):
    """Owners and paths can contain anything."""
    _, zk = served
    attack = "<img src=x onerror=\"window.attacked=1\"><script>window.attacked=1</script>'\"&\u202e"
    path = "/conclave/<b onmouseover=alert(1)>&amp;'\"%00{{7*7}}javascript:alert(1)"
    contenders(zk, path, attack, attack)
    zk.create(f"{path}-q/qn-", b"<b>", sequence=True, makepath=True)
    browser.open(page.url)
    until(lambda: len(rows(browser)) == 2, "the rows")
    shows(browser, "#main", "<img src=x onerror=", "<b onmouseover=alert(1)>")
    assert "\u202e" not in browser.text("#main")
    browser.js("document.querySelector('.recipe a').click()")
    shows(browser, "h1", "<b onmouseover=alert(1)>")
    shows(browser, ".contenders", "<img src=x onerror=")
    browser.js("document.querySelector('details').open = true")
    browser.js("location.hash = '#/graph'")
    shows(browser, "h1", "Wait-for graph")
    until(lambda: "<img src=x" in browser.js("return document.querySelector('.graph').textContent"), "the graph")
    assert browser.js("return window.attacked") is None
    assert browser.js("return document.querySelectorAll('main img, main script, main b').length") == 0
    # The policy would stop markup that the page let through.
    blocked = browser.driver.execute_async_script("""
        const done = arguments[0];
        document.addEventListener('securitypolicyviolation', (e) => done(e.effectiveDirective));
        const s = document.createElement('div');
        try { s.innerHTML = '<i>x</i>'; } catch { }""")
    assert blocked == "require-trusted-types-for"


def test_no_request_leaves_for_another_host(browser, page, served):
    _, zk = served
    contenders(zk, "/conclave/x", "a", "b")
    browser.open(page.url)
    until(lambda: len(rows(browser)) == 1, "the row")
    for view in ("#/graph", "#/recipe?path=/conclave/x&layout=curator", "#/"):
        browser.js("location.hash = arguments[0]", view)
        shows(browser, "#connection", "Live")
    assert browser.requested_hosts() == {page.host}
    failed = browser.driver.execute_async_script(
        "fetch('http://127.0.0.1:1/x').then(() => arguments[0]('sent'), (e) => arguments[0](e.message))")
    assert failed == "Failed to fetch"
    assert any("Content Security Policy" in p for p in browser.problems())


def test_ten_thousand_waiters(browser, page, served):
    _, zk = served
    zk.ensure_path("/conclave/crowd")
    pending = [zk.create_async("/conclave/crowd/lock-", b"client %d" % i, ephemeral=True, sequence=True)
               for i in range(10_001)]
    nodes = [p.get(60) for p in pending]
    browser.open(f"{page.url}#/recipe?path=/conclave/crowd&layout=curator")
    shows(browser, "#main", "10,000 waiting")
    count = "return document.querySelectorAll('.contender').length"
    assert 5 < browser.js(count) < 80
    for y in (100_000, 300_000, 10_000_000):
        browser.js("scrollTo(0, arguments[0])", y)
        until(lambda: 5 < browser.js(count) < 80, "few rows")
    until(lambda: "client 10000" in browser.text(".contenders"), "the last waiter")
    # While contenders come and go, the page stays responsive.
    browser.js("""window.frames_ = []; let last = performance.now();
        const next = (t) => { frames_.push(t - last); last = t; requestAnimationFrame(next); }; requestAnimationFrame(next);""")
    for node in nodes[:50]:
        zk.delete(node)
        time.sleep(0.02)
    shows(browser, "h2 ~ .contenders, #main", "9,950 waiting")
    frames = sorted(browser.js("return frames_"))
    print(f"frames: median {statistics.median(frames):.0f} ms, 99 % {frames[len(frames) * 99 // 100]:.0f} ms")
    assert statistics.median(frames) < 100
    browser.open(page.url)
    until(lambda: rows(browser) and "9,950" in rows(browser)[0], "the overview")


def test_many_locks(browser, page, served):
    _, zk = served
    pending = [zk.create_async(f"/conclave/many/{i:04}/lock-", b"x", ephemeral=True, sequence=True, makepath=True)
               for i in range(3000)]
    for p in pending:
        p.get(60)
    browser.open(page.url)
    shows(browser, ".tiles", "3,000")
    assert len(rows(browser)) < 80
    browser.js("scrollTo(0, 1e7)")
    until(lambda: any("/conclave/many/2999" in r for r in rows(browser)), "the last row")


def test_a_restarted_server(browser, world):
    world.env["CONCLAVE_CONNECT"] = f"unix:{world.path('socket')}"
    serve = ["serve", "--data", world.path("data"), "--socket", world.path("socket")]
    first = world.start_conclave(*serve)
    assert first.stdout.readline()
    page = Page(world)
    world.hold("x", "--label", "survivor")
    browser.open(page.url)
    until(lambda: len(rows(browser)) == 1, "the row")
    first.terminate()
    first.wait()
    shows(browser, "#banner", "Not connected to ZooKeeper", "The page shows the state of")
    shows(browser, "#connection", "Not connected")
    assert len(rows(browser)) == 1
    browser.screenshot("not-connected")
    second = world.start_conclave(*serve)
    assert second.stdout.readline()
    shows(browser, "#connection", "Live")
    until(lambda: browser.js("return document.getElementById('banner').hidden"), "no banner")
    world.hold("y", "--label", "new")
    until(lambda: len(rows(browser)) == 2, "the new lock")


def test_a_restarted_page_server(browser, served):
    world, zk = served
    contenders(zk, "/conclave/x", "a")
    page = Page(world)
    browser.open(page.url)
    until(lambda: len(rows(browser)) == 1, "the row")
    page.process.terminate()
    page.process.wait()
    shows(browser, "#banner", "does not answer")
    Page(world, listen=page.host)
    shows(browser, "#connection", "Live")
    until(lambda: len(rows(browser)) == 1, "the row")


def test_the_sign_in(browser, served):
    world, zk = served
    contenders(zk, "/conclave/x", "a")
    page = Page(world, listen="0.0.0.0:0")
    browser.open(page.origin)
    shows(browser, "#main", "Sign in")
    browser.screenshot("sign-in")
    box = browser.find("#token")
    box.send_keys("wrong", Keys.ENTER)
    shows(browser, ".problem", "This token is not valid.")
    box = browser.find("#token")
    box.clear()
    box.send_keys(page.token, Keys.ENTER)
    until(lambda: len(rows(browser)) == 1, "the row")
    assert browser.js("return document.cookie") == ""  # HttpOnly
    # A link with a token signs in, and the token does not stay in the address.
    browser.driver.delete_all_cookies()
    browser.open("about:blank")
    browser.open(f"{page.origin}/#token=wrong")
    shows(browser, ".problem", "The token of this link is not valid.")
    browser.open("about:blank")
    browser.open(f"{page.origin}/#token={page.token}")
    until(lambda: len(rows(browser)) == 1, "the row")
    assert page.token not in browser.driver.current_url
    assert page.token not in browser.js("return performance.getEntriesByType('resource').map(e => e.name).join()")


def test_a_request_to_release(browser, served):
    world, _ = served
    page = Page(world, "--allow-actions")
    holder = world.start_conclave("lock", "jobs", "--on-revoke", "term", "--", "sleep", "1000")
    browser.open(f"{page.url[:-len('#token=') - 32]}#token={page.token}")
    until(lambda: len(rows(browser)) == 1, "the row")
    browser.js("document.querySelector('.recipe a').click()")
    until(lambda: browser.js("return document.querySelector('button.action') !== null"), "the button")
    browser.find("button.action").click()
    browser.driver.switch_to.alert.accept()
    until(lambda: holder.poll() is not None, "the end of the command")
    shows(browser, "#notices", "to release /conclave/jobs")


def test_queues_and_elections(browser, page, served):
    world, zk = served
    for i in range(20):
        world.ok("queue", "push", "jobs", str(i))
    browser.open(f"{page.url}#/recipe?path=/conclave/jobs&layout=zookeeper")
    shows(browser, ".tiles", "Items", "20")
    world.ok("queue", "pop", "jobs")
    shows(browser, ".tiles", "19")
    shows(browser, ".card:not([hidden])", "at most 20")
    nodes = [zk.create("/conclave/leader/latch-", n, ephemeral=True, sequence=True, makepath=True)
             for n in (b"node-1", b"node-2")]
    browser.js("location.hash = '#/recipe?path=/conclave/leader&layout=leader-latch'")
    shows(browser, ".tiles", "Leader", "node-1", "Candidates")
    zk.delete(nodes[0])
    shows(browser, ".tiles", "node-2", "Changes")
    assert browser.problems() == []


def test_screenshots(browser, page, served):
    """Every view in light and dark, and on a phone. No view is wider than the window."""
    world, zk = served
    for i in range(6):
        contenders(zk, f"/conclave/services/region-{i}/deploy", *(f"host-{i}-{n}" for n in range(i + 1)))
    nodes = contenders(zk, "/conclave/backups/db", *(f"backup@web-{n}.example.org" for n in range(14)))
    contenders(zk, "/conclave/a/very/long/path/that/does/not/fit/into/the/column/of/the/table/at/all/really", "x" * 100)
    world.ok("queue", "push", "jobs", "1", "2", "3")
    zk.create("/conclave/leader/latch-", b"node-1", ephemeral=True, sequence=True, makepath=True)
    for view, name in (("#/", "overview"), ("#/recipe?path=/conclave/backups/db&layout=curator", "lock"),
                       ("#/graph", "graph")):
        browser.size(1280, 860)
        browser.dark(False)
        browser.open(page.url + view)
        until(lambda: browser.js("return document.querySelector('.row, .node') !== null"), view)
        if name == "lock":
            for node in nodes[:6]:
                zk.delete(node)
                time.sleep(0.3)
            shows(browser, ".tiles", "web-6")
        browser.screenshot(f"{name}-light")
        browser.dark()
        browser.screenshot(f"{name}-dark")
        browser.dark(False)
        browser.size(390, 844)
        time.sleep(0.2)
        assert browser.js("return document.documentElement.scrollWidth <= innerWidth"), view
        browser.screenshot(f"{name}-phone")
    assert browser.problems() == []
