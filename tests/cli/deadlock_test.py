"""Deadlocks: `conclave status --deadlocks`, `conclave why`, and the rates of `status --watch`."""

import contextlib
import json
import threading

import pytest
from conftest import BINARY, until
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

CERTAIN, POSSIBLE = 79, 80


def deadlocks(world, *args, code):
    r = world.conclave("status", "--deadlocks", "--json", *args)
    assert (r.returncode, r.stderr) == (code, ""), r
    return json.loads(r.stdout)["deadlocks"]


def contenders(world, path):
    document = json.loads(world.conclave("status", "--json").stdout)
    entries = {e["path"]: e for e in document["entries"]}
    e = entries.get(path, {"holders": [], "waiters": []})
    return [c["owner"] for c in e["holders"]], [c["owner"] for c in e["waiters"]]


def wait_for(world, path, holders, waiters=()):
    until(lambda: contenders(world, path) == (list(holders), list(waiters)), path)


def start_under(world, path, label, command, *options):
    """Runs `command` in a shell under a lock. The shell first waits for the file `go`."""
    script = "until [ -e go ]; do sleep 0.01; done; " + command
    p = world.start_conclave("lock", *options, path, "--label", label, "--", "sh", "-c", script)
    until(lambda: label in contenders(world, "/conclave/" + path)[0], label)
    return p


def let_them_continue(world):
    open(world.path("go"), "w").close()


def exec_lock(path, label, *options):
    return f"exec {BINARY} lock {path} --label {label} {' '.join(options)} -- true"


def deadlock_over(world, command_of):
    """Two commands under a lock each, which then wait for each other's lock."""
    processes = [start_under(world, "x", "A", command_of("y", "a")),
                 start_under(world, "y", "B", command_of("x", "b"))]
    let_them_continue(world)
    wait_for(world, "/conclave/x", ["A"], ["b"])
    wait_for(world, "/conclave/y", ["B"], ["a"])
    return processes


def acquire_in_thread(lock):
    """Acquires a lock of kazoo. The wait may also end with the session."""
    def acquire():
        with contextlib.suppress(KazooException):
            lock.acquire()
    thread = threading.Thread(target=acquire, daemon=True)
    thread.start()
    return thread


def test_two_commands_in_opposite_order_are_a_certain_deadlock(world):
    processes = deadlock_over(world, exec_lock)
    (d,) = deadlocks(world, code=CERTAIN)
    assert d["certain"] is True
    assert [m["certain"] for m in d["members"]] == [True, True]
    assert {(m["owner"], m["waits_for"]["path"], m["holds"][0]["path"]) for m in d["members"]} == {
        ("a", "/conclave/y", "/conclave/x"), ("b", "/conclave/x", "/conclave/y")}
    r = world.conclave("status", "--deadlocks")
    assert r.returncode == CERTAIN
    assert r.stdout == ("Deadlock: b holds /conclave/y and waits for /conclave/x; "
                        "a holds /conclave/x and waits for /conclave/y.\n")
    # A third command that only waits behind them is not part of the deadlock, but cannot go on.
    world.start_conclave("lock", "x", "--label", "third", "--", "true")
    wait_for(world, "/conclave/x", ["A"], ["b", "third"])
    assert len(deadlocks(world, code=CERTAIN)) == 1
    r = world.conclave("why", "x")
    assert r.returncode == CERTAIN
    lines = r.stdout.splitlines()
    assert lines[0].startswith("A has held /conclave/x for ") and "is connected" in lines[0]
    assert lines[1].startswith("A itself has waited ")
    assert lines[1].endswith(" for /conclave/y, held by B.")
    assert lines[2].startswith("2 contenders wait. The first one is b, for ")
    assert lines[3].startswith("Deadlock: ")
    # Ending one of the processes resolves it.
    processes[0].terminate()
    assert processes[1].wait() == 0
    until(lambda: world.conclave("status", "--deadlocks").returncode == 0, "no deadlock")
    assert deadlocks(world, code=0) == []


def test_nested_commands_to_any_depth(world):
    """The inner process lists the locks of all outer ones."""
    def command_of(path, label):
        return f"exec {BINARY} lock {path}-free --label {label} -- {BINARY} lock {path} " \
               f"--label {label} -- true"
    deadlock_over(world, command_of)
    (d,) = deadlocks(world, code=CERTAIN)
    assert len(d["members"]) == 2


def test_a_script_between_the_commands_makes_it_possible_only(world):
    """The shell could end without waiting for the inner command."""
    deadlock_over(world, lambda path, label: f"{BINARY} lock {path} --label {label} -- true; true")
    (d,) = deadlocks(world, code=POSSIBLE)
    assert d["certain"] is False
    assert world.conclave("why", "y").returncode == POSSIBLE


def test_a_limited_wait_is_no_certain_deadlock(world):
    deadlock_over(world, lambda path, label: exec_lock(path, label, "-w", "1h"))
    (d,) = deadlocks(world, code=POSSIBLE)
    assert [m["time_limit"] for m in d["members"]] == [True, True]
    assert "for a limited time" in d["explanation"]


def test_readers_and_permits(world):
    """Readers do not block each other. A waiter for a permit needs only one of two."""
    readers = [start_under(world, "x", "A", exec_lock("y", "a", "-s"), "-s"),
               start_under(world, "y", "B", exec_lock("x", "b", "-s"), "-s")]
    permits = ["--permits", "2"]
    world.hold(*permits, "s", "--label", "other")
    start_under(world, "s", "C", exec_lock("z", "c"), *permits)
    start_under(world, "z", "D", exec_lock("s", "d", *permits))
    let_them_continue(world)
    assert [r.wait() for r in readers] == [0, 0]
    wait_for(world, "/conclave/z", ["D"], ["c"])
    until(lambda: contenders(world, "/conclave/s")[1] == ["d"], "the waiter for a permit")
    assert deadlocks(world, code=0) == []


def test_all_permits_in_a_deadlock(world):
    permits = ["--permits", "2"]
    start_under(world, "s", "A", exec_lock("z", "a"), *permits)
    start_under(world, "s", "B", exec_lock("z", "b"), *permits)
    start_under(world, "z", "C", exec_lock("s", "c", *permits))
    let_them_continue(world)
    until(lambda: sorted(contenders(world, "/conclave/z")[1]) == ["a", "b"], "two waiters")
    until(lambda: contenders(world, "/conclave/s")[1] == ["c"], "the waiter for a permit")
    until(lambda: world.conclave("status", "--deadlocks").returncode != 0, "the deadlock")
    (d,) = deadlocks(world, code=CERTAIN)
    assert {m["owner"] for m in d["members"]} == {"a", "b", "c"}


def test_a_lock_without_a_deadlock_is_explained(served):
    world, _ = served
    holder, line = world.hold("x", "--label", "holder")
    world.start_conclave("lock", "x", "--label", "waiter", "--", "true")
    wait_for(world, "/conclave/x", ["holder"], ["waiter"])
    document = world.json("why", "x", "--json")
    assert (document["path"], document["in_use"]) == ("/conclave/x", True)
    assert document["deadlocks"] == []
    (lock,) = document["locks"]
    assert (lock["kind"], lock["waiters"], lock["first_waiter"]["owner"]) == ("lock", 1, "waiter")
    (shown,) = lock["holders"]
    assert (shown["owner"], shown["session_id"]) == ("holder", line["session_id"])
    assert shown["connection"] == "connected"
    assert shown["connected_from"].startswith("127.0.0.1:")
    assert shown["waits_for"] == []
    assert world.ok("why", "x").splitlines()[-1] == "There is no deadlock."
    holder.kill()
    holder.wait()

    def connection():
        return json.loads(world.conclave("why", "x", "--json").stdout)["locks"][0]["holders"][0]
    until(lambda: connection()["connection"] == "not_connected", "the lost connection")
    assert "has no connection now" in world.ok("why", "x")


def test_the_servers_may_not_tell_who_is_connected(world):
    _, address = world.serve("--words", "srvr")
    world.env["CONCLAVE_CONNECT"] = address
    world.hold("x", "--label", "holder")
    assert world.json("why", "x", "--json")["locks"][0]["holders"][0]["connection"] == "unknown"
    assert "do not report" in world.ok("why", "x")


def test_nothing_in_use(world):
    world.hold("x")
    r = world.conclave("why", "free")
    assert (r.returncode, r.stderr) == (1, "")
    assert r.stdout == "Nobody holds or waits for /conclave/free. It would be granted at once.\n"
    r = world.conclave("why", "free", "--json")
    assert json.loads(r.stdout) == {"path": "/conclave/free", "in_use": False, "locks": [],
                                    "deadlocks": [], "unreadable": []}
    assert world.ok("status", "--deadlocks") == "There is no deadlock.\n"
    world.ok("queue", "push", "q", "item")
    assert "has a queue" in world.refused("why", "q")
    world.refused("status", "--deadlocks", "--watch")
    world.refused("status", "--sort", "rate")


def hide(world, path):
    """Now only commands with the file `auth` can read this node."""
    world.secret("digest:me:hunter2")
    world.ok("znode", "acl", path, "--auth-file", "auth", "--set", "auth::cdrwa")


NOT_FOUND = "No deadlock was found in the part that can be read."
ACL = "not allowed by the node's ACL"
NO_PERMISSION = 77


def test_a_node_that_cannot_be_read_may_hide_a_deadlock(world):
    deadlock_over(world, exec_lock)
    hide(world, "/conclave/y")
    hidden = [{"path": "/conclave/y", "why": ACL}]
    for command in ["status", "--deadlocks"], ["why", "x"]:
        assert world.conclave(*command, "--auth-file", "auth").returncode == CERTAIN
        r = world.conclave(*command)
        assert (r.returncode, r.stderr) == (NO_PERMISSION, ""), r
        assert r.stdout.splitlines()[-2:] == [f"Cannot read /conclave/y: {ACL}.", NOT_FOUND]
        r = world.conclave(*command, "--json")
        document = json.loads(r.stdout)
        assert (r.returncode, r.stderr) == (NO_PERMISSION, ""), r
        assert (document["deadlocks"], document["unreadable"]) == ([], hidden)
    # Nothing is hidden at this path.
    assert world.conclave("why", "free").stdout.startswith("Nobody holds or waits for /conclave/free.")


@pytest.mark.parametrize("hidden", ["/conclave", "/conclave/x", "/conclave/x/deep"])
def test_a_lock_that_cannot_be_read_is_not_free(world, hidden):
    """The node of the lock, or a node above it."""
    world.hold("x/deep/lock")
    hide(world, hidden)
    for path in "x/deep", "x/deep/free":
        r = world.conclave("why", path)
        assert (r.returncode, r.stderr) == (NO_PERMISSION, ""), r
        assert r.stdout == f"Cannot read {hidden}: {ACL}.\n"
        r = world.conclave("why", path, "--json")
        assert r.returncode == NO_PERMISSION
        assert json.loads(r.stdout) == {
            "path": "/conclave/" + path, "in_use": None, "locks": [], "deadlocks": [],
            "unreadable": [{"path": hidden, "why": ACL}]}
    r = world.conclave("status", "--deadlocks")
    assert (r.returncode, r.stderr) == (NO_PERMISSION, "")
    assert r.stdout == f"Cannot read {hidden}: {ACL}.\n{NOT_FOUND}\n"


def test_a_lock_below_a_node_that_cannot_be_read(world):
    """In ZooKeeper, the ACL of a node does not apply to the nodes below it."""
    processes = deadlock_over(world, exec_lock)
    hide(world, "/conclave")
    r = world.conclave("why", "x")
    assert (r.returncode, r.stderr) == (NO_PERMISSION, ""), r
    assert r.stdout.startswith("A has held /conclave/x for ")
    assert r.stdout.endswith(f"Cannot read /conclave: {ACL}.\n{NOT_FOUND}\n")
    assert json.loads(world.conclave("why", "x", "--json").stdout)["in_use"] is True
    for p in processes:
        p.terminate()


def test_a_contender_that_cannot_be_read_may_be_in_a_deadlock(world):
    _, line = world.hold("x")
    hide(world, line["node"])
    r = world.conclave("why", "x")
    assert (r.returncode, r.stderr) == (NO_PERMISSION, ""), r
    assert r.stdout.endswith(NOT_FOUND + "\n")
    assert world.conclave("status", "--deadlocks").returncode == NO_PERMISSION


def test_only_some_of_many_unreadable_nodes_are_listed(world):
    world.hold("x")
    for i in range(7):
        world.ok("znode", "create", f"hidden{i}")
        hide(world, f"/conclave/hidden{i}")
    r = world.conclave("why", "x")
    assert r.returncode == NO_PERMISSION
    lines = r.stdout.splitlines()
    assert lines[-4:] == [f"Cannot read /conclave/hidden3: {ACL}.",
                          f"Cannot read /conclave/hidden4: {ACL}.",
                          "Cannot read 2 more nodes.", NOT_FOUND]


def test_sessions_of_kazoo_are_a_possible_deadlock(served):
    """A session of another library may have many threads, so nothing is certain."""
    world, one = served
    other = KazooClient(hosts=one.address)
    other.start()
    waiting = []
    try:
        held = [one.Lock("/conclave/x", "A"), other.Lock("/conclave/y", "B")]
        for lock in held:
            lock.acquire()
        for client, path, name in (one, "/conclave/y", "A"), (other, "/conclave/x", "B"):
            waiting.append(acquire_in_thread(client.Lock(path, name)))
        wait_for(world, "/conclave/x", ["A"], ["B"])
        wait_for(world, "/conclave/y", ["B"], ["A"])
        (d,) = deadlocks(world, code=POSSIBLE)
        assert d["certain"] is False
        assert {m["owner"] for m in d["members"]} == {"A", "B"}
        assert "may itself wait" in world.conclave("why", "/conclave/x").stdout
    finally:
        other.stop()
        other.close()
    waiting[0].join(60)
    assert not waiting[0].is_alive(), "the session of the other holder has ended"


def test_a_deadlock_with_another_library(served):
    """kazoo holds x and waits for y. A command holds y and waits for x."""
    world, zk = served
    held, wanted = zk.Lock("/conclave/x", "kazoo"), zk.Lock("/conclave/y", "kazoo")
    held.acquire()
    p = start_under(world, "y", "B", exec_lock("x", "b", "--layout", "kazoo"), "--layout", "kazoo")
    let_them_continue(world)
    thread = acquire_in_thread(wanted)
    wait_for(world, "/conclave/x", ["kazoo"], ["b"])
    wait_for(world, "/conclave/y", ["B"], ["kazoo"])
    (d,) = deadlocks(world, code=POSSIBLE)
    assert {(m["owner"], m["certain"]) for m in d["members"]} == {("kazoo", False), ("b", True)}
    held.release()
    assert p.wait() == 0
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("sort", ["rate", "wait", "waiters"])
def test_rates_and_order(served, sort):
    world, zk = served
    world.hold("busy", "--label", "first")
    world.start_conclave("lock", "--hold", "busy", "--label", "second")
    wait_for(world, "/conclave/busy", ["first"], ["second"])
    world.hold("a")
    watch = world.start_conclave("status", "--watch=250ms", "--json", "--sort", sort)
    stop = threading.Event()

    def lock_and_unlock():
        lock = zk.Lock("/conclave/fast", "fast")
        while not stop.is_set():
            with lock:
                pass
    thread = threading.Thread(target=lock_and_unlock, daemon=True)
    thread.start()
    try:
        for line in watch.stdout:
            entries = json.loads(line)["entries"]
            by_path = {e["path"]: e for e in entries}
            if by_path.get("/conclave/fast", {}).get("handoffs_per_second"):
                break
    finally:
        stop.set()
        thread.join()
    assert by_path["/conclave/fast"]["handoffs_per_second"] > 1
    assert by_path["/conclave/busy"]["handoffs_per_second"] == 0
    assert by_path["/conclave/busy"]["longest_wait_ms"] >= 0
    assert "longest_wait_ms" not in by_path["/conclave/a"]
    expected = "/conclave/fast" if sort == "rate" else "/conclave/busy"
    assert entries[0]["path"] == expected
    assert world.ok("status", "--sort", "waiters").splitlines()[0].split()[0] == "/conclave/busy"
