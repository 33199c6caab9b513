"""`conclave ui` without a browser: who may read and act, limits, event streams, metrics."""

import contextlib
import json
import os
import pathlib
import random
import re
import resource
import select
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from conftest import BINARY, until
from kazoo.client import KazooClient
from web_client import Page, Reply

VIEWS = "view=overview"
DASHBOARD = pathlib.Path(__file__).resolve().parents[2] / "packaging/grafana-dashboard.json"


@pytest.fixture
def page(served):
    world, _ = served
    return Page(world)


def recipe_with(path, condition):
    """A condition for Events.until(): an event contains this recipe, and it meets the condition."""
    def check(data):
        for r in data.get("recipes", [data["recipe"]] if data.get("recipe") else []):
            if r["path"] == path and condition(r):
                return r
        return None
    return check


# --- who may read


def test_every_reply_has_the_security_headers(page):
    for target in ("/", "/app.js", "/style.css", "/nothing", "/api/session", "/metrics", "/healthz"):
        headers = page.get(target).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy, target
        assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


def test_only_known_host_names_are_answered(served):
    """A name of another site that points to this address (DNS rebinding) is refused."""
    world, _ = served
    page = Page(world, "--host-name", "locks.example.org")
    for host in ("localhost", "localhost:9", "127.0.0.1", "127.0.0.1:9", "[::1]:9", "10.1.2.3",
                 "locks.example.org", "LOCKS.example.org:443"):
        assert page.get("/api/session", {"Host": host}).status == 200, host
    for host in ("evil.example", "evil.example:7711", "localhost.evil.example", "127.0.0.1.evil.example",
                 "127.1", "locks.example.org.evil.example", "", "[::1", "@localhost"):
        assert page.get("/", {"Host": host}).status == 421, host
    assert page.get("/", {"Host": None}).status == 421
    two = f"GET / HTTP/1.1\r\nHost: {page.host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert Reply(page.raw(two.encode())).status in (400, 421)


def test_other_sites_cannot_read(page):
    for site in ("cross-site", "same-site"):
        for target in ("/api/session", f"/api/events?{VIEWS}", "/metrics"):
            assert page.get(target, {"Sec-Fetch-Site": site}).status == 403, (site, target)
        # A link on another site may lead to the page.
        assert page.get("/", {"Sec-Fetch-Site": site}).status == 200
    assert page.get("/api/session", {"Sec-Fetch-Site": "same-origin"}).status == 200


@pytest.mark.parametrize("target", [
    "/../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/index.html", "/style.css/", "/style.css%00",
    "/api/", "/api/events", "/api/events?view=x", "/api/events?view", "/%", "/api/revoke"])
def test_unknown_targets_are_not_found(page, target):
    assert page.get(target).status == 404


def test_unknown_methods_are_refused(page):
    for method in ("DELETE", "PUT", "TRACE", "OPTIONS", "X"):
        assert page.request(method, "/").status in (400, 405), method
        assert page.request(method, "/api/session").status in (400, 405), method
    head = page.request("HEAD", "/")
    assert head.status == 200 and head.body == b""


# --- tokens


def test_another_address_needs_a_token(served):
    world, _ = served
    page = Page(world, listen="0.0.0.0:0")
    assert len(page.token) == 32
    assert page.get("/").status == 200  # the page with the form
    assert page.get("/healthz").status == 200
    assert page.get("/api/session").json() == {"signed_in": False, "needs_token": True}
    for target in (f"/api/events?{VIEWS}", "/metrics", "/api/nothing"):
        assert page.get(target).status == 401, target
    began = time.monotonic()
    for wrong in ("", page.token[:-1], page.token + "0"):
        refused = page.post("/api/sign-in", {"token": wrong})
        assert refused.status == 401 and "set-cookie" not in refused.headers
    assert time.monotonic() - began >= 3, "each wrong token takes a second"
    for body in (b"", b'{"token": 1}', b"[" * 1000):
        assert page.post("/api/sign-in", body).status == 401, body

    signed_in = page.post("/api/sign-in", {"token": page.token})
    assert signed_in.status == 200
    cookie = signed_in.headers["set-cookie"]
    assert "; HttpOnly" in cookie and "; SameSite=Strict" in cookie and page.token not in cookie
    mine = {"Cookie": cookie.split(";")[0]}
    assert page.get("/api/session", mine).json()["signed_in"]
    assert page.get("/metrics", mine).status == 200
    assert page.get("/metrics", {"Authorization": f"Bearer {page.token}"}).status == 200
    assert page.get("/metrics", {"Authorization": "Bearer x"}).status == 401
    assert page.get(f"/metrics?token={page.token}").status == 401  # no secrets in URLs
    name = mine["Cookie"].split("=")[0]
    for other in (f"{name}=", f"{name}={page.token}", f"x{mine['Cookie']}", mine["Cookie"][:-1]):
        assert page.get("/metrics", {"Cookie": other}).status == 401, other
    stream = page.events(VIEWS, mine)
    stream.next()
    assert page.post("/api/sign-out", {}, mine).status == 200
    assert page.get("/metrics", mine).status == 401
    with pytest.raises(AssertionError, match="the stream has ended"):
        while True:
            stream.next()
    behind_tls = page.post("/api/sign-in", {"token": page.token}, {"Origin": f"https://{page.host}"})
    assert behind_tls.headers["set-cookie"].endswith("; Secure")


def test_a_token_from_a_file(served):
    world, _ = served
    page = Page(world, "--token-file", world.secret("a token of our own\n", "token"))
    assert page.token is None, "a given token is not printed"
    assert page.get("/metrics").status == 401
    assert page.post("/api/sign-in", {"token": "a token of our own"}).status == 200
    assert "at least 16 characters" in world.refused("ui", "--token-file", world.secret("short", "token"))
    public = world.secret("a token of our own\n", "token")
    subprocess.run(["chmod", "644", public], check=True)
    assert "chmod 600" in world.refused("ui", "--token-file", public)


def test_bad_addresses(served):
    world, _ = served
    for address in ("x", "zk1:80", "127.0.0.1:", "127.0.0.1:99999", "1.2.3:80", ":::80x"):
        assert "is not an address to listen on" in world.refused("ui", "--listen", address)
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
        assert "cannot listen on" in world.refused("ui", "--listen", str(port), code=69)


# --- actions


def test_actions_are_off_by_default(page):
    refused = page.post("/api/revoke", {"node": "/conclave/x/lock-0000000000"})
    assert refused.status == 403 and "--allow-actions" in refused.text


def test_a_release_is_requested_only_by_the_page(served):
    world, zk = served
    page = Page(world, "--allow-actions")
    mine = {"Cookie": page.post("/api/sign-in", {"token": page.token}).headers["set-cookie"].split(";")[0]}
    holder = world.start_conclave("lock", "jobs", "--on-revoke", "term", "--", "sleep", "1000")
    events = page.events(VIEWS, mine)
    events.until(recipe_with("/conclave/jobs", lambda r: r["holder_count"] == 1), "the holder")
    [name] = zk.get_children("/conclave/jobs")
    node = f"/conclave/jobs/{name}"

    assert page.post("/api/revoke", {"node": node}).status == 401
    for headers, status in (({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403),
                            ({"Origin": f"http://{page.host}.evil.example"}, 403), ({"Origin": None}, 403),
                            ({"Content-Type": "text/plain"}, 415),
                            ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
                            ({"Sec-Fetch-Site": "cross-site"}, 403)):
        assert page.post("/api/revoke", {"node": node}, {**mine, **headers}).status == status, headers
    assert page.post("/api/revoke", {}, mine).status == 400

    def notice(text):
        events.until(lambda d: any(text in n["text"] for n in d["status"]["notices"]), text)

    # Only nodes that hold a lock are written.
    zk.create("/conclave/other", b"data")
    assert page.post("/api/revoke", {"node": "/conclave/other"}, mine).status == 202
    notice("/conclave/other does not hold a lock any more")
    assert zk.get("/conclave/other")[0] == b"data"

    assert page.post("/api/revoke", {"node": node}, mine).status == 202
    notice("to release /conclave/jobs")
    until(lambda: holder.poll() is not None, "the end of the command")
    events.close()


# --- limits


def test_large_and_malformed_requests(page):
    def status(data):
        return Reply(page.raw(data)).status
    head = f"GET / HTTP/1.1\r\nHost: {page.host}\r\n".encode()
    assert status(head + b"X: " + b"x" * 9000 + b"\r\n\r\n") == 431
    assert status(head + b"".join(b"X%d: x\r\n" % i for i in range(3000)) + b"\r\n") == 431
    assert status(b"GET /" + b"x" * 20000 + b" HTTP/1.1\r\n\r\n") == 431
    post = f"POST /api/sign-in HTTP/1.1\r\nHost: {page.host}\r\n".encode()
    assert status(post + b"Content-Length: 5000\r\n\r\n" + b"x" * 5000) == 413
    assert status(post + b"Content-Length: 99999999999\r\n\r\n") == 413
    assert status(post + b"Transfer-Encoding: chunked\r\n\r\n2000\r\n" + b"x" * 0x2000 + b"\r\n0\r\n\r\n") == 413
    for bad in (b"GET\r\n\r\n", b"\0\1\2\3\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", head + b"no colon\r\n\r\n",
                post + b"Content-Length: -1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"):
        assert status(bad) in (400, 413), bad
    assert page.get("/healthz").status == 200


def test_random_requests(page):
    """Requests with random changes get an error or a reply, and the server continues."""
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    chance = random.Random(seed)
    base = (f"POST /api/revoke?a=%41&b=c HTTP/1.1\r\nHost: {page.host}\r\nCookie: a=b; conclave_session_0=x\r\n"
            f"Origin: {page.origin}\r\nContent-Type: application/json\r\nContent-Length: 14\r\n"
            "Connection: close\r\n\r\n{\"node\": \"/x\"}").encode()
    for _ in range(1000):
        data = bytearray(base)
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(data))
            change = chance.randrange(4)
            if change == 0:
                data[at] = chance.randrange(256)
            elif change == 1:
                del data[at:at + chance.randrange(1, 20)]
            elif change == 2:
                data[at:at] = data[at:at + chance.randrange(1, 40)] * chance.randrange(1, 4)
            else:
                data[at:at] = chance.choice([b"\r\n", b"\0", b"%", b"=", b";", b"\xff", b"[", b"{", b"99999999999"])
        with page.connect() as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while s.recv(1 << 16):
                    pass
    assert page.get("/healthz").status == 200
    assert page.process.poll() is None


def test_long_texts_of_other_programs_are_clipped(page, served):
    _, zk = served
    zk.create("/conclave/x/lock-", ("\u00e9" * 200_000).encode(), ephemeral=True, sequence=True, makepath=True)
    events = page.events(VIEWS)
    r = events.until(recipe_with("/conclave/x", lambda r: r["holders"]), "the holder")
    assert r["holders"][0]["owner"] == "\u00e9" * 128 + "\u2026"


def test_a_slow_client_is_disconnected(page):
    """It sends a byte from time to time, so that a limit between two bytes would not end it."""
    with page.connect() as s:
        s.settimeout(1)
        s.sendall(b"GET / HTTP/1.1\r\n")
        began = time.monotonic()
        while time.monotonic() - began < 60:
            try:
                s.sendall(b"X")
                if s.recv(1000) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        assert time.monotonic() - began < 30


def test_a_thousand_event_streams(served):
    """All of them show a change, more than the limit are refused, and the lock is not slowed down."""
    world, zk = served
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    page = Page(world)
    lock = zk.Lock("/conclave/busy", "first")
    lock.acquire()
    streams = [page.events(VIEWS) for _ in range(1024)]
    try:
        for s in streams:
            s.until(recipe_with("/conclave/busy", lambda r: r["holders"] and r["holders"][0]["owner"] == "first"), "it")
        assert page.get(f"/api/events?{VIEWS}").status == 503
        lock.release()
        other = zk.Lock("/conclave/busy", "second")
        began = time.monotonic()
        other.acquire()
        assert time.monotonic() - began < 2
        for s in streams:
            s.until(recipe_with("/conclave/busy", lambda r: r["holders"] and r["holders"][0]["owner"] == "second"), "it")
    finally:
        for s in streams:
            s.close()
    until(lambda: page.get("/healthz").status == 200, "a reply")


def test_a_client_that_does_not_read_costs_little_memory(served):
    """It skips states instead of making the server store them."""
    world, zk = served
    # AddressSanitizer keeps freed memory for a while.
    page = Page(world, env={"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=4"})
    for i in range(300):
        zk.create(f"/conclave/lock{i}/lock-", b"x" * 500, ephemeral=True, sequence=True, makepath=True)

    def memory():
        with open(f"/proc/{page.process.pid}/statm") as f:
            return int(f.read().split()[1]) * 4096

    reader = page.events(VIEWS)
    found = set()
    reader.until(lambda d: found.update(r["path"] for r in d["recipes"]) or len(found) == 300, "all locks")
    streams = [page.events(VIEWS) for _ in range(20)]  # these read nothing
    before = memory()
    for n in range(8):
        for i in range(300):
            zk.create_async(f"/conclave/lock{i}/lock-", b"y" * 500, ephemeral=True, sequence=True)
        reader.until(recipe_with("/conclave/lock299", lambda r: r["waiter_count"] == n + 1), "the waiters")
    grown = memory() - before
    print(f"the memory has grown by {grown / (1 << 20):.1f} MiB")
    assert grown < 64 << 20
    for s in streams:
        s.close()


# --- what the streams contain


def test_an_event_stream_follows_a_lock(page, served):
    world, _ = served
    overview = page.events(VIEWS)
    name, data = overview.next()
    assert name == "all" and data["status"]["connected"]
    first, _ = world.hold("a/b", "--label", "first")
    overview.until(recipe_with("/conclave/a/b", lambda r: r["holder_count"] == 1), "the holder")
    second = world.start_conclave("lock", "--hold", "a/b", "--label", "second")
    r = overview.until(recipe_with("/conclave/a/b", lambda r: r["waiter_count"] == 1), "the waiter")
    assert r["holders"][0]["owner"] == "first" and r["first_waiters"][0]["owner"] == "second"
    detail = page.events("view=recipe&path=%2Fconclave%2Fa%2Fb&layout=curator")
    name, data = detail.next()
    assert name == "all" and [c["owner"] for c in data["contenders"]] == ["first", "second"]
    second.stdin and second.stdin.close()
    granted = time.time()
    first.terminate()
    second.stdout.readline()
    granted = time.time()
    r = overview.until(recipe_with("/conclave/a/b", lambda r: r["handoffs"] == 1 and r["waiter_count"] == 0), "the hand-off")
    assert r["holders"][0]["owner"] == "second"
    assert abs(r["holders"][0]["since_us"] / 1e6 - granted) < 1
    changes = detail.until(lambda d: d.get("holds"), "the hold")
    ended = [h for _, h in changes["put"] if "end_us" in h]
    assert [h["owner"] for h in ended] == ["first"]


def addresses_of(data):
    """A condition for Events.until(): the addresses of the sessions, if the event contains any."""
    return data.get("addresses")


def test_the_addresses_of_sessions(page, served):
    _, zk = served
    zk.create("/conclave/x/lock-", b"me", ephemeral=True, sequence=True, makepath=True)
    until(lambda: 'path="/conclave/x"' in page.get("/metrics").text, "the lock")
    events = page.events("view=recipe&path=%2Fconclave%2Fx")
    host, port = zk._connection._socket.getsockname()
    mine = f"0x{zk.client_id[0]:x}"
    assert events.until(addresses_of, "the address") == {mine: f"{host}:{port}"}
    # A new contender.
    other = KazooClient(hosts=zk.address)
    other.start()
    try:
        other.create("/conclave/x/lock-", b"other", ephemeral=True, sequence=True)
        host, port = other._connection._socket.getsockname()
        address = events.until(lambda d: d.get("addresses", {}).get(f"0x{other.client_id[0]:x}"), "its address")
        assert address == f"{host}:{port}"
    finally:
        other.stop()
        other.close()


def test_a_server_that_tells_nothing_about_its_sessions(world):
    server = world.start_conclave("serve", "--durability", "none", "--listen", "127.0.0.1:0", "--words", "ruok")
    world.env["CONCLAVE_CONNECT"] = server.stdout.readline().split()[2]
    page = Page(world)
    holder, _ = world.hold("x", "--label", "first")
    until(lambda: 'path="/conclave/x"' in page.get("/metrics").text, "the lock")
    events = page.events("view=recipe&path=%2Fconclave%2Fx")
    name, data = events.next()
    assert name == "all" and data["addresses"] == {} and data["contenders"][0]["owner"] == "first"
    holder.terminate()
    events.until(recipe_with("/conclave/x", lambda r: r["holder_count"] == 0), "the release")
    assert "conclave_losses_total" not in page.get("/metrics").text


def test_readers_and_writers(page, served):
    """Events alone show who holds the lock."""
    _, zk = served
    path = "/conclave/rw"
    zk.ensure_path(path)

    def arrive(name, kind):
        return zk.create(f"{path}/__{kind}__", name.encode(), ephemeral=True, sequence=True)
    events = page.events("view=recipe&path=%2Fconclave%2Frw&layout=curator")

    def expect(holders, waiting, handoffs):
        r = events.until(recipe_with(path, lambda r: r["waiter_count"] == waiting and sorted(
            h["owner"] for h in r["holders"]) == holders), f"{holders} and {waiting} waiting")
        assert (r["kind"], r["handoffs"]) == ("read-write lock", handoffs)
    r1, r2 = arrive("r1", "READ"), arrive("r2", "READ")
    expect(["r1", "r2"], 0, 0)
    w3, r4, r5, w6 = (arrive(n, k) for n, k in (("w3", "WRIT"), ("r4", "READ"), ("r5", "READ"), ("w6", "WRIT")))
    expect(["r1", "r2"], 4, 0)
    zk.delete(r2)
    expect(["r1"], 4, 0)
    zk.delete(r1)
    expect(["w3"], 3, 1)
    zk.delete(w3)
    expect(["r4", "r5"], 1, 3)
    r7 = arrive("r7", "READ")
    expect(["r4", "r5"], 2, 3)
    zk.delete(w6)  # stops waiting, and the reader behind it passes
    expect(["r4", "r5", "r7"], 0, 3)
    for node in (r4, r5, r7):
        zk.delete(node)
    expect([], 0, 3)


def test_semaphores_named_locks_and_queues(page, served):
    world, zk = served
    overview = page.events(VIEWS)
    holders = [world.hold("permits", "--permits", "2", "--label", f"p{i}")[0] for i in range(2)]
    world.start_conclave("lock", "--hold", "permits", "--permits", "2", "--label", "third")
    r = overview.until(recipe_with("/conclave/permits", lambda r: r["holder_count"] == 2 and r["waiter_count"] == 1), "two permits")
    assert (r["kind"], r["permits"]) == ("semaphore", 2)
    holders[0].terminate()
    overview.until(recipe_with("/conclave/permits", lambda r: {h["owner"] for h in r["holders"]} == {"p1", "third"}), "the third")

    for i in range(3):
        world.ok("queue", "push", "jobs", str(i))
    overview.until(recipe_with("/conclave/jobs", lambda r: r["queue"]["length"] == 3), "three items")
    world.ok("queue", "pop", "jobs")
    r = overview.until(recipe_with("/conclave/jobs", lambda r: r["queue"]["length"] == 2), "two items")
    assert (r["kind"], r["queue"]["popped"]) == ("queue", 1)
    # An item that a worker has claimed.
    worker = world.start_conclave("queue", "work", "jobs", "--", "sleep", "1000")
    r = overview.until(recipe_with("/conclave/jobs", lambda r: r["queue"]["claimed"] == 1), "a claim")
    assert r["holder_count"] == 1
    worker.kill()


def test_a_layout_of_another_program(served):
    world, zk = served
    page = Page(world, "--layout", "mylock-")
    overview = page.events(VIEWS)
    zk.create("/conclave/z/mylock-", b"me", ephemeral=True, sequence=True, makepath=True)
    overview.until(recipe_with("/conclave/z", lambda r: r["holder_count"] == 1 and r["layout"] == "mylock-"), "it")


def test_the_page_inside_the_server(world):
    server = world.start_conclave("serve", "--durability", "none", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
    address = server.stdout.readline().split()[2]
    page = Page.of(server)
    world.env["CONCLAVE_CONNECT"] = address
    overview = page.events(VIEWS)
    world.hold("x", "--label", "first")
    overview.until(recipe_with("/conclave/x", lambda r: r["holder_count"] == 1), "the holder")
    # The numbers of the server, under the names of Apache ZooKeeper.
    page.events("view=server").until(lambda d: d["server"].get("zk_global_sessions") == 2, "two sessions")
    until(lambda: "\nnum_alive_connections " in page.get("/metrics").text, "the connections")
    check = subprocess.run(["promtool", "check", "metrics"], input=page.get("/metrics").text, capture_output=True, text=True)
    # Three of Apache's names have a suffix that promtool advises against.
    assert all(re.match(r"\w+_count .*_count\" suffix$", line) for line in check.stderr.splitlines()), check
    began = time.monotonic()
    server.terminate()
    assert server.wait(30) == 0
    assert time.monotonic() - began < 5
    assert "--idle-exit" in world.refused("serve", "--http", "0", "--idle-exit", "1m")
    for flag in ["--http-token-file", "missing"], ["--http-allow-actions"], ["--http-host-name", "x"]:
        said = world.refused("serve", "--durability", "none", "--listen", "127.0.0.1:0", *flag)
        assert f"{flag[0]} requires --http" in said
    assert "--http needs" in world.refused("serve", "--durability", "none", "--http", "0")


def test_the_times_and_the_disk_of_the_server(world):
    server = world.start_conclave("serve", "--data", world.path("data"), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
    world.env["CONCLAVE_CONNECT"] = server.stdout.readline().split()[2]
    page = Page.of(server)
    for i in range(5):
        world.ok("queue", "push", "jobs", str(i))
    figures = page.events("view=server").until(
        lambda d: d["server"].get("conclave_commit_us_count", 0) >= 5 and d["server"], "the commits")
    assert figures["conclave_store_bytes"] > 0 and figures["conclave_disk_free_bytes"] > 0
    assert figures["conclave_journal_bytes"] > 0
    text = page.get("/metrics").text
    for name in ("turn", "commit", "flush"):
        family = f"conclave_server_{name}_seconds"
        buckets = [(float(le), int(n)) for le, n in re.findall(rf'{family}_bucket{{le="([^"]+)"}} (\d+)\n', text)]
        assert len(buckets) == 15 and buckets == sorted(buckets) and buckets[-1][0] == float("inf")
        assert (buckets[0][0], buckets[-2][0]) == (0.00005, 1), "seconds"
        assert [n for _, n in buckets] == sorted(n for _, n in buckets)
        assert f"\n{family}_count {buckets[-1][1]}\n" in text and buckets[-1][1] >= 5
        assert float(re.search(rf"\n{family}_sum (\S+)\n", text)[1]) > 0
    for name in ("store_bytes", "journal_bytes", "disk_free_bytes"):
        assert float(re.search(rf"\nconclave_server_{name} (\S+)\n", text)[1]) > 0
    # The page does not repeat these figures in the other views.
    assert "server" not in page.events(VIEWS).next()[1]


def page_in_server(world, *prefix):
    server = world.start(*prefix, BINARY, "serve", "--durability", "none", "--listen", "127.0.0.1:0", "--http",
                         "127.0.0.1:0")
    world.env["CONCLAVE_CONNECT"] = server.stdout.readline().split()[2]
    return server, Page.of(server)


def test_the_page_leaves_descriptors_to_the_clients_of_its_server(world):
    server, page = page_in_server(world, "prlimit", "--nofile=400:400")
    idle = [page.connect() for _ in range(500)]
    # The page either has accepted all of them, or closes the last one.
    descriptors = pathlib.Path(f"/proc/{server.pid}/fd")
    idle[-1].setblocking(False)
    until(lambda: len(list(descriptors.iterdir())) == 400 or select.select(idle[-1:], [], [], 0)[0], "the connections")
    try:
        world.ok("lock", "x", "--", "true")
    finally:
        for s in idle:
            s.close()
    until(lambda: page.get("/healthz").status == 200, "a reply")


def test_the_page_inside_a_server_that_requires_authentication(world):
    server = world.start_conclave("serve", "--durability", "none", "--socket", world.path("socket"), "--listen",
                                  "127.0.0.1:0", "--require-auth", "digest", "--http", "127.0.0.1:0")
    assert server.stdout.readline()
    page = Page.of(server)
    until(lambda: page.get("/readyz").status == 200, "the first state")


def test_rates_fall_while_another_lock_is_busy(page, served):
    _, zk = served
    events = page.events(VIEWS)

    def hand_off(path, nodes):
        nodes.append(zk.create(f"{path}/lock-", b"x", ephemeral=True, sequence=True, makepath=True))
        if len(nodes) > 1:
            zk.delete(nodes.pop(0))
    quiet, busy = [], []
    hand_off("/conclave/quiet", quiet)
    events.until(recipe_with("/conclave/quiet", lambda r: r["holder_count"] == 1), "the lock")
    for _ in range(5):
        hand_off("/conclave/quiet", quiet)
    events.until(recipe_with("/conclave/quiet", lambda r: r["handoffs_per_second"] > 0), "the rate")

    def falls(data):
        hand_off("/conclave/busy", busy)
        return recipe_with("/conclave/quiet", lambda r: r["handoffs_per_second"] == 0)(data)
    began = time.monotonic()
    events.until(falls, "the rate 0")
    assert time.monotonic() - began < 40, "before the tree is read again"


def test_hold_and_wait_times_agree_with_those_of_the_clients(page, served):
    _, zk = served
    zk.ensure_path("/conclave/t")
    stream = page.events("view=recipe&path=%2Fconclave%2Ft&layout=curator")
    waiting = []
    for _ in range(3):
        waiting.append((zk.create("/conclave/t/lock-", b"me", ephemeral=True, sequence=True), time.time()))
    stream.until(recipe_with("/conclave/t", lambda r: r["waiter_count"] == 2), "the waiters")
    for node, _ in waiting[:2]:
        time.sleep(0.2)
        zk.delete(node)
        released = time.time()
        waiting.append(released)
    first, second = waiting[3], waiting[4]
    data = {}

    def finished(d):
        for _, h in d.get("holds", {}).get("put", []) if isinstance(d.get("holds"), dict) else []:
            data[h["node"]] = h
        return sum("end_us" in h for h in data.values()) == 2 and len(data) == 3
    stream.until(finished, "two holds that have ended")
    b = data[waiting[1][0]]
    assert b["begin_us"] / 1e6 == pytest.approx(first, abs=0.05)
    assert b["end_us"] / 1e6 == pytest.approx(second, abs=0.05)
    assert b["waited_us"] / 1e6 == pytest.approx(first - waiting[1][1], abs=0.05)


def test_a_restarted_server(world):
    world.env["CONCLAVE_CONNECT"] = f"unix:{world.path('socket')}"
    serve = ["serve", "--data", world.path("data"), "--socket", world.path("socket")]
    first = world.start_conclave(*serve)
    assert first.stdout.readline()
    page = Page(world)
    until(lambda: page.get("/readyz").status == 200, "the first state")
    events = page.events(VIEWS)
    first.terminate()
    first.wait()
    events.until(lambda d: not d["status"]["connected"], "the lost connection")
    assert page.get("/readyz").status == 503 and page.get("/healthz").status == 200
    second = world.start_conclave(*serve)
    assert second.stdout.readline()
    events.until(lambda d: d["status"]["connected"] and d["status"]["complete"], "the connection")
    holder, _ = world.hold("after", "--label", "after")
    events.until(recipe_with("/conclave/after", lambda r: r["holder_count"] == 1), "a new lock")
    until(lambda: page.get("/readyz").status == 200, "readiness")


def test_few_reads_for_many_handoffs(page, served):
    """The owners of contenders that leave at once are not read, and all hand-offs are counted."""
    _, zk = served
    zk.ensure_path("/conclave/fast")
    events = page.events(VIEWS)
    nodes = [zk.create("/conclave/fast/lock-", b"me", ephemeral=True, sequence=True)]
    events.until(recipe_with("/conclave/fast", lambda r: r["holder_count"] == 1), "the first holder")
    for _ in range(1000):
        nodes.append(zk.create("/conclave/fast/lock-", b"me", ephemeral=True, sequence=True))
        zk.delete(nodes[-2])
    r = events.until(recipe_with("/conclave/fast", lambda r: r["handoffs"] >= 1000), "all hand-offs")
    assert r["handoffs"] == 1000
    status = {}
    events.until(lambda d: status.update(d["status"]) or True, "a state")
    assert status["node_reads"] < 900 and status["inspections"] < 500


# --- metrics


def test_metrics(page, served):
    world, zk = served
    world.hold("a", "--label", "first")
    world.start_conclave("lock", "--hold", "a", "--label", "second")
    odd = 'q"\\\u00e9'
    zk.create(f"/conclave/{odd}/lock-", b"x", ephemeral=True, sequence=True, makepath=True)
    world.ok("queue", "push", "jobs", "1")

    def found(text):
        return lambda: text in page.get("/metrics").text
    until(found('conclave_lock_waiters{path="/conclave/a",kind="lock",layout="curator"} 1\n'), "the waiter")
    until(found('conclave_queue_length{path="/conclave/jobs",kind="queue",layout="zookeeper"} 1\n'), "the queue")
    until(found('path="/conclave/q\\"\\\\\u00e9"'), "the escaped path")
    reply = page.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'conclave_lock_wait_seconds_bucket{kind="lock",le="+Inf"}' in reply.text
    assert shutil.which("promtool"), "install the package prometheus"
    check = subprocess.run(["promtool", "check", "metrics"], input=reply.text, capture_output=True, text=True)
    assert (check.returncode, check.stdout + check.stderr) == (0, "")


def test_a_prometheus_server_reads_the_metrics(page, served):
    """It also evaluates every query of the Grafana dashboard."""
    world, zk = served
    for _ in range(3):
        zk.create("/conclave/a/lock-", b"x", ephemeral=True, sequence=True, makepath=True)
    world.ok("queue", "push", "jobs", "1")
    with open(world.path("prometheus.yml"), "w") as f:
        json.dump({"scrape_configs": [{"job_name": "conclave", "scrape_interval": "1s",
                                       "static_configs": [{"targets": [page.host]}]}]}, f)
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    world.start("prometheus", "--config.file", world.path("prometheus.yml"), "--storage.tsdb.path", world.path("data"),
                "--web.listen-address", f"127.0.0.1:{port}", "--log.level", "error", stderr=subprocess.DEVNULL)

    def query(text):
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:
                return json.load(reply)["data"]["result"]
        except urllib.error.HTTPError as e:
            if e.code == 503:
                return []  # it is not ready yet
            raise AssertionError(f"{text}: {e.read().decode()}") from None
        except OSError:
            return []  # it does not listen yet
    until(lambda: query('conclave_lock_waiters{path="/conclave/a"} == 2'), "the waiters")
    with open(DASHBOARD) as f:
        panels = json.load(f)["panels"]
    for target in [t for p in panels for t in p["targets"]]:
        text = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
        until(lambda t=text: query(t), text)


def losses(page):
    """How many holds of locks ended with their sessions, by reason."""
    return {reason: int(n) for reason, n in re.findall(
        r'conclave_losses_total{kind="lock",reason="(\w+)"} (\d+)\n', page.get("/metrics").text)}


def test_losses(page, served):
    """A hold is lost if its session ends. A release is no loss, and neither is the end of a wait."""
    world, zk = served
    until(lambda: losses(page) == {"expired": 0, "process": 0, "closed": 0}, "no losses")
    for _ in range(3):
        with zk.Lock("/conclave/released", "me"):
            pass
    zk.ensure_path("/conclave/x")
    clients = [KazooClient(hosts=zk.address) for _ in range(3)]
    for client in clients:  # the first one holds the lock, and the others wait
        client.start()
        client.create("/conclave/x/lock-", b"", ephemeral=True, sequence=True)
    events = page.events("view=recipe&path=%2Fconclave%2Fx")
    events.until(recipe_with("/conclave/x", lambda r: r["waiter_count"] == 2), "the waiters")
    for client in (clients[1], clients[0]):  # a waiter and the holder close their sessions
        client.stop()
        client.close()
    until(lambda: losses(page) == {"expired": 0, "process": 0, "closed": 1}, "a session that was closed")
    # The third client releases the lock and closes its session at once.
    [node] = [n for n in zk.get_children("/conclave/x") if n.startswith("lock-")]
    clients[2].delete(f"/conclave/x/{node}")
    clients[2].stop()
    clients[2].close()
    holder, _ = world.hold("y", "--session-timeout", "4s")
    until(lambda: 'path="/conclave/y"' in page.get("/metrics").text, "the holder")
    holder.kill()
    until(lambda: losses(page) == {"expired": 1, "process": 0, "closed": 1}, "an expired session")


def test_the_end_of_a_process_is_a_loss(world):
    world.env["CONCLAVE_CONNECT"] = f"unix:{world.path('socket')}"
    server = world.start_conclave("serve", "--durability", "none", "--socket", world.path("socket"), "--http",
                                  "127.0.0.1:0")
    assert server.stdout.readline()
    page = Page.of(server)
    holder, _ = world.hold("x")
    until(lambda: 'path="/conclave/x"' in page.get("/metrics").text, "the holder")
    holder.kill()
    until(lambda: losses(page) == {"expired": 0, "process": 1, "closed": 0}, "the loss")


def test_only_some_paths_are_labels(page, served):
    _, zk = served
    for i in range(120):
        zk.create(f"/conclave/many{i}/lock-", b"x", ephemeral=True, sequence=True, makepath=True)
    until(lambda: 'conclave_recipes{kind="lock"} 120\n' in page.get("/metrics").text, "all locks")
    assert page.get("/metrics").text.count("conclave_lock_waiters{") == 50


def test_long_paths_are_cut_in_labels(page, served):
    _, zk = served
    beginning = "/conclave/" + "\u00e9" * 300
    for end in "12":
        zk.create(f"{beginning}{end}/lock-", b"x", ephemeral=True, sequence=True, makepath=True)
    until(lambda: 'conclave_recipes{kind="lock"} 2\n' in page.get("/metrics").text, "the locks")
    text = page.get("/metrics").text
    labels = re.findall(r'conclave_lock_waiters\{path="([^"]*)"', text)
    assert len(labels) == len(set(labels)) == 2
    for label in labels:
        assert len(label.encode()) <= 256 and label.startswith(beginning[:116] + "//")
    check = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (check.returncode, check.stdout + check.stderr) == (0, "")


def test_the_program_ends_on_a_signal(page):
    events = page.events(VIEWS)
    events.next()
    page.process.terminate()
    assert page.process.wait(30) == 0
