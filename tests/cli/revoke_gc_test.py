"""`conclave revoke` and `conclave lock --on-revoke`; `conclave gc`."""

import collections
import threading

from conftest import until


def test_a_holder_that_ignores_the_request_keeps_the_lock(world):
    holder, line = world.hold("x", "--label", "me")
    asked = world.json("revoke", "x", "--json")
    assert asked["path"] == "/conclave/x"
    assert [(a["owner"], a["node"], a["fencing_token"]) for a in asked["asked"]] == [
        ("me", line["node"], line["fencing_token"])]
    # The lock is still held.
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 1
    entry = world.json("status", "--json")["entries"][0]
    # The owner is still visible.
    assert entry["holders"][0]["asked_to_release"] is True
    assert entry["holders"][0]["owner"] == "me"
    shown = world.ok("status").splitlines()[-1]
    assert shown.split()[1] == "me" and shown.endswith("  asked to release")
    r = world.conclave("revoke", "x", "--wait", "1ms")
    assert r.returncode == 1
    assert r.stderr == "conclave: me still holds /conclave/x after 1ms\n"
    assert world.conclave("revoke", "x", "--wait", "1ms", "--json").returncode == 1
    assert holder.poll() is None


def test_a_lock_without_a_holder(world):
    assert world.ok("revoke", "x") == "nobody holds /conclave/x\n"
    assert world.ok("revoke", "x", "--wait", "5") == "nobody holds /conclave/x\n"
    assert world.json("revoke", "x", "--wait", "5", "--json") == {
        "path": "/conclave/x", "asked": [], "released": True}


def test_term_ends_the_command_and_its_exit_code_is_used(world):
    p = world.start_conclave(
        "lock", "--on-revoke", "term", "--label", "me", "x", "--", "sh", "-c",
        "trap 'exit 5' TERM; echo ready; for i in $(seq 3000); do sleep 0.01; done")
    assert p.stdout.readline() == "ready\n"
    out = world.ok("revoke", "x", "--wait", "60").splitlines()
    assert out[0].startswith("asked me to release /conclave/x, held for ")
    assert out[1].startswith("released after ")
    assert p.wait() == 5


def test_term_releases_a_hold(world):
    p, _ = world.hold("--on-revoke", "term", "x")
    q, _ = world.hold("--on-revoke", "term", "--permits", "1", "sem")
    assert world.json("revoke", "x", "--wait", "60", "--json")["released"] is True
    assert world.json("revoke", "sem", "--wait", "60", "--json")["released"] is True
    assert (p.wait(), q.wait()) == (0, 0)


def test_other_libraries_get_the_request_of_curator(served):
    world, zk = served
    node = zk.create("/conclave/x/_c_5-lock-", b"10.0.0.1", ephemeral=True, sequence=True,
                     makepath=True)
    assert [a["owner"] for a in world.json("revoke", "x", "--json")["asked"]] == ["10.0.0.1"]
    assert zk.get(node)[0] == b"__REVOKE__"  # Curator compares all of the data


def test_all_readers_are_asked(world):
    holders = [world.hold("-s", "--on-revoke", "term", "x")[0] for _ in range(3)]
    assert len(world.json("revoke", "x", "--wait", "60", "--json")["asked"]) == 3
    assert [p.wait() for p in holders] == [0, 0, 0]


def test_several_paths_are_revoked_by_any(world):
    p, _ = world.hold("--on-revoke", "term", "a", "b")
    assert world.json("revoke", "b", "--wait", "60", "--json")["released"] is True
    assert p.wait() == 0


def test_a_server_that_is_killed_during_the_wait_is_not_a_holder(world):
    server, address = world.serve()
    world.hold("-C", address, "x")
    p = world.start_conclave("revoke", "-C", address, "--session-timeout", "4s", "x", "--wait", "3")
    assert p.stdout.readline().startswith("asked ")
    server.kill()
    assert p.wait() == 69
    assert "still holds" not in p.stderr.read()


def test_waiters_are_not_asked(world):
    world.hold("x", "--label", "first")
    waiter = world.start_conclave("lock", "--on-revoke", "term", "x", "--", "true")
    until(lambda: world.json("status", "--json")["entries"][0]["waiters"], "the waiter")
    assert [a["owner"] for a in world.json("revoke", "x", "--json")["asked"]] == ["first"]
    assert waiter.poll() is None


def test_only_locks_can_be_revoked(served):
    world, zk = served
    zk.create("/conclave/e/n_", b"leader", ephemeral=True, sequence=True, makepath=True)
    zk.create("/conclave/q/qn-", b"item", sequence=True, makepath=True)
    for path, what in (("e", "an election"), ("q", "a queue")):
        r = world.conclave("revoke", path)
        assert r.returncode == 64 and what in r.stderr
    assert zk.get("/conclave/e/n_0000000000")[0] == b"leader"
    assert world.conclave("revoke").returncode == 64
    assert world.conclave("revoke", "a", "b").returncode == 64


def test_a_lock_on_the_path_of_a_queue_is_revoked(world):
    _, line = world.hold("x")
    world.ok("queue", "push", "x", "item")
    world.ok("queue", "pop", "x")
    assert [a["node"] for a in world.json("revoke", "x", "--json")["asked"]] == [line["node"]]


def test_holders_that_cannot_be_read(served):
    from kazoo.security import make_digest_acl

    world, zk = served
    zk.create("/conclave/x/lock-", b"", ephemeral=True, sequence=True, makepath=True)
    zk.set_acls("/conclave/x", [make_digest_acl("somebody", "secret", all=True)])
    for wait in ([], ["--wait", "1"]):
        r = world.conclave("revoke", "x", *wait)
        assert r.returncode == 77 and r.stdout == ""
        assert r.stderr.startswith("conclave: revoke /conclave/x: cannot read /conclave/x: ")
    # A lock below this path is another lock.
    assert world.ok("revoke", "/conclave") == "nobody holds /conclave\n"


def paths(document):
    return {n["path"] for n in document["nodes"]}


def gc(world, *args):
    return world.json("gc", "--json", "--older-than", "0s", *args)


def test_gc_lists_and_removes_empty_nodes(served):
    world, zk = served
    world.ok("lock", "a/b/c", "--", "true")
    world.ok("lock", "--permits", "2", "sem", "--", "true")
    world.hold("a/used")
    zk.create("/conclave/config", b"")  # never had children
    zk.create("/conclave/data/x", b"", makepath=True)
    zk.delete("/conclave/data/x")
    zk.set("/conclave/data", b"of another program")
    expected = {"/conclave/a/b/c", "/conclave/a/b", "/conclave/sem", "/conclave/sem/locks",
                "/conclave/sem/leases"}
    listed = gc(world)
    assert paths(listed) == expected
    kinds = {n["path"]: n["kind"] for n in listed["nodes"]}
    assert kinds["/conclave/a/b/c"] == "lock" and kinds["/conclave/a/b"] == "folder"
    assert kinds["/conclave/sem"] == kinds["/conclave/sem/leases"] == "semaphore"
    assert zk.exists("/conclave/a/b/c")  # nothing was removed
    assert world.ok("gc") == "nothing to remove\n"  # the nodes have changed recently
    assert "5 to remove; use --remove to remove them" in world.ok("gc", "--older-than", "0s")
    assert paths(gc(world, "a")) == {"/conclave/a/b/c", "/conclave/a/b"}
    done = gc(world, "--remove")
    assert paths(done) == expected and {n["outcome"] for n in done["nodes"]} == {"removed"}
    assert sorted(zk.get_children("/conclave")) == ["a", "config", "data"]
    assert zk.get_children("/conclave/a") == ["used"]
    assert gc(world)["nodes"] == []
    world.ok("lock", "a/b/c", "--", "true")


def test_gc_of_paths(served):
    world, zk = served
    for path in "/locks/x", "/other/y", "/locks-of-others/z":
        world.ok("lock", path, "--", "true")
    assert gc(world)["nodes"] == []
    assert paths(gc(world, "/locks")) == {"/locks", "/locks/x"}
    assert "1 removed" in world.ok("gc", "--remove", "--older-than", "0s", "/other/y")
    assert zk.exists("/other") and not zk.exists("/other/y")


def test_gc_of_queues(served):
    world, zk = served
    for queue in "idle", "waited", "full":
        zk.create(f"/conclave/{queue}/qn-", b"i", sequence=True, makepath=True)
        for folder in "producers", "consumers", "taken", "waiting":
            zk.ensure_path(f"/conclave/{queue}.conclave/{folder}")
    for queue in "idle", "waited":
        zk.delete(f"/conclave/{queue}/qn-0000000000")
    zk.create("/conclave/waited.conclave/waiting/lock-", b"w", ephemeral=True, sequence=True)
    # kazoo creates these nodes only once, so they must not be removed.
    locking = zk.LockingQueue("/conclave/locking")
    locking.put(b"x")
    locking.get()
    locking.consume()
    folders = {f"/conclave/{q}.conclave/{f}" for q in ("idle", "full")
              for f in ("producers", "consumers", "taken", "waiting")}
    folders |= {f"/conclave/waited.conclave/{f}" for f in ("producers", "consumers", "taken")}
    assert paths(gc(world, "--remove")) == folders | {
        "/conclave/idle", "/conclave/idle.conclave", "/conclave/full.conclave"}
    assert sorted(zk.get_children("/conclave")) == [
        "full", "locking", "waited", "waited.conclave"]
    assert sorted(zk.get_children("/conclave/locking")) == ["entries", "taken"]


def test_gc_while_locks_are_acquired_and_released(served):
    """Commands acquire their locks, and nodes in use are kept."""
    world, _ = served
    ended = threading.Event()
    codes = []

    def use(name):
        while not ended.is_set():
            codes.append(world.conclave("lock", name, "--", "true").returncode)

    # Each command uses its own lock. A lock that both use would almost always be held.
    users = [threading.Thread(target=use, args=(name,)) for name in ("busy/x", "busy/y")]
    for u in users:
        u.start()
    removed = collections.Counter()
    attempts = 0
    try:
        while removed["/conclave/busy"] == 0 or removed.total() < 20 or len(codes) < 60:
            attempts += 1
            assert attempts <= 1000, f"only {removed} were removed, in {len(codes)} uses"
            nodes = gc(world, "--remove")["nodes"]
            removed.update(n["path"] for n in nodes if n["outcome"] == "removed")
    finally:
        ended.set()
        for u in users:
            u.join()
    assert set(codes) == {0}


def test_gc_without_permission(served):
    from kazoo.security import make_acl

    world, zk = served
    world.ok("lock", "kept/x", "--", "true")
    zk.set_acls("/conclave/kept", [make_acl("world", "anyone", read=True, write=True, create=True)])
    r = world.conclave("gc", "--remove", "--older-than", "0s")
    assert r.returncode == 77
    assert r.stdout.splitlines()[0].startswith("/conclave/kept/x ")
    assert "kept: " in r.stdout and r.stdout.endswith("0 removed\n")
    assert zk.exists("/conclave/kept/x")


def test_gc_usage(world):
    assert world.conclave("gc", "--older-than", "soon").returncode == 64
    assert world.conclave("gc", "x/").returncode == 64
