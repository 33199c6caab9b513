"""`conclave status`: locks, queues and elections of this and other libraries; --watch."""

import fcntl
import json
import os
import queue
import signal
import struct
import termios
import threading
import time
from datetime import datetime

import pytest
from conftest import BINARY, TIMEOUT, until
from kazoo.security import make_digest_acl


def entries(world, *args):
    document = world.json("status", "--json", *args)
    return {e["path"]: e for e in document["entries"]}


def wait_for(world, path, condition):
    return until(lambda: (lambda e: e if e and condition(e) else None)(
        {e["path"]: e for e in json.loads(
            world.conclave("status", "--json").stdout)["entries"]}.get(path)), path)


def owners(contenders):
    return [contender["owner"] for contender in contenders]


def test_a_lock_with_its_holder_and_waiters_in_order(world):
    _, line = world.hold("a/b", "--label", "first")
    for n, label in enumerate(["second", "third"]):
        world.start_conclave("lock", "--hold", "a/b", "--label", label)
        lock = wait_for(world, "/conclave/a/b", lambda e: len(e["waiters"]) == n + 1)
    assert lock["kind"] == "lock"
    assert owners(lock["holders"]) == ["first"]
    assert owners(lock["waiters"]) == ["second", "third"]
    assert lock["holders"][0]["fencing_token"] == line["fencing_token"]
    assert lock["holders"][0]["session_id"] == line["session_id"]
    assert lock["holders"][0]["node"] == line["node"]
    text = world.ok("status").splitlines()
    assert text[0] == "/conclave"
    assert text[1].split() == ["a/b", "lock,", "2", "waiting"]
    assert text[2].split()[:3] == ["*", "first", "holds"]
    assert text[2].split()[-2:] == ["token", str(line["fencing_token"])]
    assert [t.split()[:3] for t in text[3:]] == [["1", "second", "waits"], ["2", "third", "waits"]]
    assert "\033" not in "".join(text)
    assert world.ok("status", "--limit", "1").splitlines()[-1].strip() == "and 1 more"


def test_the_time_of_the_grant(served):
    world, zk = served
    first, line = world.hold("x", "--label", "first")
    world.start_conclave("lock", "--hold", "x", "--label", "second")
    lock = wait_for(world, "/conclave/x", lambda e: e["waiters"])
    assert lock["holders"][0]["holding_since"] == lock["holders"][0]["created"]
    assert not any(k.startswith("holding_since") for k in lock["waiters"][0])
    # If a holder ends while it sets the watch on its node, it closes its session without a release.
    def watchers():
        _, _, rest = zk.command(b"wchp").partition(line["node"] + "\n")
        return [w.strip() for w in rest.partition("/")[0].splitlines()]

    until(lambda: hex(line["session_id"]) in watchers(), "the holder's watch")
    before = int(time.time() * 1000)
    first.terminate()
    lock = wait_for(world, "/conclave/x", lambda e: owners(e["holders"]) == ["second"])
    holder = lock["holders"][0]
    assert holder["created_ms"] <= before <= holder["holding_since_ms"]
    assert datetime.fromisoformat(holder["holding_since"].replace("Z", "+00:00")).timestamp() * 1000 \
        == pytest.approx(holder["holding_since_ms"], abs=0.5)
    assert " at most " not in world.ok("status")


def test_bounds_for_the_time_of_a_grant_of_other_libraries(served):
    """Other libraries do not record a release, so the time of the next grant is not known."""
    world, zk = served
    nodes = [zk.create("/conclave/x/__lock__", b"", ephemeral=True, sequence=True, makepath=True)
             for _ in range(3)]
    assert "holding_since" in entries(world)["/conclave/x"]["holders"][0]
    zk.delete(nodes[0])
    holder = entries(world)["/conclave/x"]["holders"][0]
    assert holder["holding_since_earliest"] == holder["created"]
    assert "holding_since" not in holder and "holding_since_latest" not in holder
    assert "holds  at most " in world.ok("status")
    zk.create("/conclave/x/__lock__", b"", ephemeral=True, sequence=True)
    lock = entries(world)["/conclave/x"]
    assert lock["holders"][0]["holding_since_latest_ms"] == lock["waiters"][-1]["created_ms"]


def test_ids_are_also_printed_as_text(world):
    _, line = world.hold("x", "--label", "me")
    holder = entries(world)["/conclave/x"]["holders"][0]
    asked = world.json("revoke", "x", "--json")["asked"][0]
    for shown in line, holder, asked:
        assert shown["fencing_token_text"] == str(line["fencing_token"])
        assert shown["session_id_text"] == hex(line["session_id"])
    stat = world.json("znode", "stat", line["node"], "--json")
    assert stat["czxid_text"] == line["fencing_token_text"]
    assert stat["ephemeral_owner_text"] == line["session_id_text"]
    assert (stat["created"], stat["created_ms"]) == (holder["created"], holder["created_ms"])


def test_readers_writers_and_permits(world):
    world.hold("-s", "rw", "--label", "r1")
    world.hold("-s", "rw", "--label", "r2")
    world.start_conclave("lock", "--hold", "rw", "--label", "w")
    rw = wait_for(world, "/conclave/rw", lambda e: e["waiters"])
    assert rw["kind"] == "read-write lock"
    assert owners(rw["holders"]) == ["r1", "r2"]
    assert [(w["owner"], w["role"]) for w in rw["waiters"]] == [("w", "writer")]
    world.hold("--permits", "2", "sem", "--label", "p1")
    world.hold("--permits", "2", "sem", "--label", "p2")
    # The first waiter already has a node among the permits.
    world.start_conclave("lock", "--hold", "--permits", "2", "sem", "--label", "p3")
    sem = wait_for(world, "/conclave/sem", lambda e: e["waiters"] and len(e["holders"]) == 2)
    assert sem["kind"] == "semaphore"
    assert owners(sem["holders"]) == ["p1", "p2"]
    assert owners(sem["waiters"]) == ["p3"]
    assert sem["permits"] == 2
    assert "semaphore, 2 of 2, 1 waiting" in world.ok("status", "sem")


def test_nested_paths(world):
    world.hold("a")
    world.hold("a/b")
    world.hold("c")
    assert set(entries(world)) == {"/conclave/a", "/conclave/a/b", "/conclave/c"}
    assert set(entries(world, "a")) == {"/conclave/a", "/conclave/a/b"}
    assert set(entries(world, "a/b", "/conclave/c")) == {"/conclave/a/b", "/conclave/c"}
    assert set(entries(world, "a", "a/b")) == {"/conclave/a", "/conclave/a/b"}
    text = world.ok("status", "a/b").splitlines()
    assert text[0].split() == ["/conclave/a/b", "lock"] and len(text) == 2


def test_nothing_in_use(world):
    assert world.ok("status") == "nothing in use at /conclave\n"
    r = world.conclave("status", "x")
    assert (r.returncode, r.stdout) == (1, "nothing in use at /conclave/x\n")
    world.ok("lock", "x", "--", "true")
    assert world.json("status", "--json")["entries"] == []
    assert entries(world, "--empty")["/conclave/x"]["kind"] == "lock"


def test_usage(world):
    assert world.conclave("status", "--all", "x").returncode == 64
    assert world.conclave("status", "--limit", "0").returncode == 64
    assert world.conclave("status", "--all", "--watch", "x").returncode == 64
    assert world.conclave("status", "x/").returncode == 64


def test_recipes_of_kazoo(served):
    world, zk = served
    lock = zk.Lock("/app/lock", "kazoo me")
    lock.acquire()
    zk.create("/app/leader/n_", b"host-a", ephemeral=True, sequence=True, makepath=True)
    zk.create("/app/leader/n_", b"host-b", ephemeral=True, sequence=True)
    semaphore = zk.Semaphore("/app/sem", "s1", max_leases=3)
    semaphore.acquire()
    waiters = zk.Lock("/app/sem-__lock__", "s2")  # the lock of those that wait for a lease
    waiters.acquire()
    zk.Queue("/app/queue").put(b"one")
    zk.Queue("/app/queue").put(b"two", priority=7)
    locking = zk.LockingQueue("/app/locking")
    locking.put_all([b"one", b"two", b"three"])
    assert locking.get() == b"one"
    found = entries(world, "--all")
    assert {p: e["kind"] for p, e in found.items()} == {
        "/app/lock": "lock", "/app/leader": "election", "/app/sem": "semaphore",
        "/app/queue": "queue", "/app/locking": "queue"}
    assert owners(found["/app/lock"]["holders"]) == ["kazoo me"]
    assert owners(found["/app/leader"]["holders"]) == ["host-a"]
    assert owners(found["/app/leader"]["waiters"]) == ["host-b"]
    assert owners(found["/app/sem"]["holders"]) == ["s1"]
    assert owners(found["/app/sem"]["waiters"]) == ["s2"]
    assert found["/app/sem"]["permits"] == 3
    assert entries(world, "/app/sem") == {"/app/sem": found["/app/sem"]}
    assert found["/app/queue"]["length"] == 2
    assert (found["/app/locking"]["length"], found["/app/locking"]["claimed"]) == (3, 1)
    assert "leads" in world.ok("status", "/app/leader")
    assert "3 items, 1 claimed" in world.ok("status", "/app/locking")
    assert world.json("status", "--json")["entries"] == []  # these nodes are not below /conclave


@pytest.mark.parametrize("layout", ["election", "leader-latch"])
def test_the_layout_of_an_election_is_a_value_of_the_flag(served, layout):
    world, zk = served
    prefix = {"election": "n_", "leader-latch": "latch-"}[layout]
    zk.create(f"/conclave/e/{prefix}", b"other", ephemeral=True, sequence=True, makepath=True)
    shown = entries(world)["/conclave/e"]
    assert (shown["kind"], shown["layout"]) == ("election", layout)
    assert world.json("leader", "--json", "--layout", shown["layout"], "e")["id"] == "other"
    assert "elections" in world.refused("lock", "--layout", "leader-latch", "x", "--", "true")


@pytest.mark.parametrize("layout", ["zookeeper", "kazoo", "kazoo-locking"])
def test_the_layout_of_a_queue_is_a_value_of_the_flag(world, layout):
    world.ok("queue", "push", "--layout", layout, "q", "one")
    found = entries(world)
    assert set(found) == {"/conclave/q"}
    assert (found["/conclave/q"]["layout"], found["/conclave/q"]["length"]) == (layout, 1)
    assert world.ok("queue", "len", "--layout", found["/conclave/q"]["layout"], "q") == "1\n"


def test_a_queue_and_its_additional_nodes(served):
    world, zk = served
    for name in ["qn-0000000004", "qn-0000000005"]:
        zk.create(f"/conclave/jobs/{name}", b"data", makepath=True)
    folder = "/conclave/jobs.conclave"
    zk.create(f"{folder}/taken/qn-0000000004", b"worker 1\nid ab", ephemeral=True, makepath=True)
    zk.create(f"{folder}/waiting/lock-", b"w\nid cd", ephemeral=True, sequence=True, makepath=True)
    zk.create(f"{folder}/consumers/ff", b"", ephemeral=True, makepath=True)
    zk.create("/conclave/idle.conclave/waiting/lock-", b"w\nid cd", ephemeral=True, sequence=True,
              makepath=True)
    found = entries(world)
    assert set(found) == {"/conclave/jobs", "/conclave/idle"}
    jobs = found["/conclave/jobs"]
    assert [jobs[k] for k in ("length", "claimed", "consumers", "waiting")] == [2, 1, 1, 1]
    assert [(c["owner"], c["node"]) for c in jobs["claims"]] == [
        ("worker 1", f"{folder}/taken/qn-0000000004")]
    assert found["/conclave/idle"]["waiting"] == 1
    assert entries(world, "jobs") == {"/conclave/jobs": jobs}
    text = world.ok("status", "jobs")
    assert "queue, 2 items, 1 claimed, 1 consumer waiting" in text
    assert "worker 1 (qn-0000000004)" in text


def test_folders_with_the_names_of_internal_nodes(world):
    """`locks` and `leases` are nodes of a semaphore, but can also be folders of a user."""
    world.hold("locks/a")
    world.hold("leases/b")
    world.hold("entries/c")
    world.hold("taken/d")
    assert set(entries(world)) == {
        f"/conclave/{p}" for p in ("locks/a", "leases/b", "entries/c", "taken/d")}


def test_other_prefixes(served):
    world, zk = served
    # Contenders of this library are recognised by their data, others only with --layout.
    world.hold("--layout", "job-", "x", "--label", "me")
    zk.create("/conclave/service/member-", b"10.0.0.1", ephemeral=True, sequence=True,
              makepath=True)
    zk.create("/conclave/named", b"me\nid 1", ephemeral=True)
    zk.create("/conclave/other", b"10.0.0.1", ephemeral=True)
    found = entries(world)
    assert set(found) == {"/conclave/x", "/conclave/named"}
    assert [owners(e["holders"]) for e in found.values()] == [["me"], ["me"]]
    assert "/conclave/service" in entries(world, "--layout", "member-")
    # A path with two layouts has two locks.
    world.hold("y")
    zk.create("/conclave/y/__lock__", b"other", ephemeral=True, sequence=True)
    both = [e for e in world.json("status", "--json")["entries"] if e["path"] == "/conclave/y"]
    assert [e["layout"] for e in both] == ["curator", "kazoo"]


def test_nodes_without_permission_to_read_are_listed(served):
    world, zk = served
    acl = [make_digest_acl("u", "p", all=True)]
    zk.ensure_path("/conclave")
    zk.create("/conclave/secret", b"", acl=acl)
    zk.add_auth("digest", "u:p")
    world.hold("x")
    zk.create("/conclave/x/lock-", b"me\nid 1", acl=acl, ephemeral=True, sequence=True)
    document = world.json("status", "--json")
    assert [e["path"] for e in document["entries"]] == ["/conclave/x"]
    assert len(document["entries"][0]["waiters"]) == 1
    assert [u["path"] for u in document["unreadable"]] == [
        "/conclave/secret", "/conclave/x/lock-0000000001"]
    text = world.ok("status")
    assert "cannot read /conclave/secret: " in text
    assert "lock-0000000001 (cannot be read)" in text


def test_owners_cannot_contain_control_sequences(served):
    world, zk = served
    zk.create("/conclave/x/__lock__", "\033[2Jevil\n\u009b1mand \u00fc".encode(), ephemeral=True,
              sequence=True, makepath=True)
    out = world.ok("status")
    assert "\033" not in out and "\u009b" not in out
    assert "evil" in out and "\u00fc" in out


def test_thousands_of_nodes_that_are_created_and_deleted(served):
    world, zk = served
    zk.ensure_path("/conclave/many")
    zk.ensure_path("/conclave/one")
    n, m = 600, 1500  # more than one batch of requests
    for parents in ["/conclave/one"] * m, [f"/conclave/many/{i}" for i in range(n)]:
        if len(parents) == n:
            for r in [zk.create_async(p) for p in parents]:
                r.get()
        for r in [zk.create_async(f"{p}/__lock__", b"o", ephemeral=True, sequence=True)
                  for p in parents]:
            r.get()
    ended = threading.Event()

    def churn():
        while not ended.is_set():
            for i in range(20):
                zk.create(f"/conclave/churn/{i}/__lock__", b"o", ephemeral=True, sequence=True,
                          makepath=True)
            zk.delete("/conclave/churn", recursive=True)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(3):
            found = entries(world)
            assert sum(p.startswith("/conclave/many/") for p in found) == n
            waiters = [w["node"] for w in found["/conclave/one"]["waiters"]]
            assert len(waiters) == m - 1 and waiters == sorted(waiters)
    finally:
        ended.set()
        thread.join()


class Lines:
    """Reads the output of a program line by line, with a timeout."""

    def __init__(self, p):
        self._queue = queue.Queue()

        def read():
            for line in p.stdout:
                self._queue.put(line)

        threading.Thread(target=read, daemon=True).start()

    def next(self):
        return self._queue.get(timeout=TIMEOUT)

    def paths(self):
        return [e["path"] for e in json.loads(self.next())["entries"]]


def test_watch_prints_a_block_for_each_change(world):
    holder, _ = world.hold("x", "--label", "one")
    p = world.start_conclave("status", "--watch", "250ms", "--json")
    lines = Lines(p)
    assert lines.paths() == ["/conclave/x"]
    world.hold("y")
    assert lines.paths() == ["/conclave/x", "/conclave/y"]
    holder.terminate()
    assert lines.paths() == ["/conclave/y"]
    p.send_signal(signal.SIGINT)
    assert p.wait() == 0
    assert p.stderr.read() == ""


def test_watch_in_text(world):
    p = world.start_conclave("status", "--watch=250ms")
    lines = Lines(p)
    assert lines.next().count(":") == 2  # the time
    assert lines.next() == "nothing in use at /conclave\n"
    world.hold("x")
    assert lines.next() == "\n"
    assert lines.next().count(":") == 2
    assert lines.next() == "/conclave\n"
    assert lines.next().split() == ["x", "lock"]
    p.terminate()
    assert p.wait() == 0
    # An argument after --watch that is not a time is a path.
    lines = Lines(world.start_conclave("status", "--watch", "y"))
    lines.next()
    assert lines.next() == "nothing in use at /conclave/y\n"


def test_watch_continues_after_a_restart_of_the_server(world):
    lines = Lines(world.start_conclave("status", "--watch=250ms", "--json"))
    assert lines.paths() == []
    os.kill(world.local_pid(), signal.SIGKILL)
    world.hold("x")
    until(lambda: lines.paths() == ["/conclave/x"], "the lock")


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def test_watch_on_a_terminal(world):
    holder, line = world.hold("x", "--label", "o" * 60)
    t = world.terminal(BINARY, "status", "--watch=250ms", env={"LANG": "C.UTF-8"})
    t.expect("\033[?1049h")
    resize(t, 24, 70)
    t.text = ""
    t.expect("o…")
    t.expect(str(line["fencing_token"]))
    # No line is wider than the terminal. A new size is used immediately.
    resize(t, 24, 200)
    t.expect("o" * 60)
    world.hold("y")
    t.expect("y\033[0m")
    resize(t, 3, 60)
    t.text = ""
    t.expect("more lines")
    t.type("\x03")
    assert t.wait() == 0
    until(lambda: not t.read() or t.text.endswith("\033[?1049l"), "the original screen")
    assert "\033[?25h" in t.text


def test_watch_is_stopped_and_resumed(world):
    def state():
        with open(f"/proc/{t.pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]

    t = world.terminal(BINARY, "status", "--watch=250ms")
    t.expect("nothing in use")
    t.type("\x1a")
    t.expect("\033[?1049l")  # the original screen is restored
    until(lambda: state() == "T", "the stopped process")
    t.text = ""
    os.kill(t.pid, signal.SIGCONT)
    t.expect("\033[?1049h")
    t.expect("nothing in use")
    t.type("\x03")
    assert t.wait() == 0


def test_widths_on_a_terminal(world):
    world.hold("some/rather/long/path/to/a/lock", "--label", "w" * 100)
    argv = ["sh", "-c", f"stty rows 24 cols 60; exec '{BINARY}' status"]
    t = world.terminal(*argv, env={"LANG": "C.UTF-8", "NO_COLOR": "1"})
    assert t.wait() == 0
    until(lambda: not t.read(), "the end of the output")
    lines = t.text.replace("\r", "").splitlines()
    assert "└─ some/rather" in lines[1] and "● w" in lines[2] and "holds" in lines[2]
    assert max(map(len, lines)) <= 60


def test_no_server(world):
    r = world.conclave("status", "-C", "127.0.0.1:1", "--connect-timeout", "100ms")
    assert r.returncode == 69 and "no server" in r.stderr


def test_a_lock_without_permission_to_read_is_not_reported_as_free(served):
    world, zk = served
    zk.ensure_path("/conclave")
    zk.create("/conclave/secret", b"", acl=[make_digest_acl("u", "p", all=True)])
    r = world.conclave("status", "secret")
    assert (r.returncode, r.stderr) == (77, "")
    assert r.stdout.startswith("cannot read /conclave/secret: ") and "nothing" not in r.stdout
    r = world.conclave("status", "--json", "secret")
    assert r.returncode == 77 and '"unreadable":[{"path":"/conclave/secret"' in r.stdout
