"""`conclave revoke`, and how `conclave lock` takes it; `conclave gc`."""

import signal
import threading

import pytest
from conftest import until
from kazoo.client import KazooClient


def test_the_holder_is_asked_and_goes_on(world):
    holder, line = world.hold("x", "--label", "me")
    asked = world.json("revoke", "x", "--json")
    assert asked["path"] == "/conclave/x"
    assert [(a["owner"], a["node"], a["fencing_token"]) for a in asked["asked"]] == [
        ("me", line["node"], line["fencing_token"])]
    # Nothing was taken away.
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 1
    entry = world.json("status", "--json")["entries"][0]
    assert entry["holders"][0]["asked_to_release"] is True
    assert "asked to let go" in world.ok("status")
    r = world.conclave("revoke", "x", "--wait", "1ms")
    assert r.returncode == 1
    # The request stands where the name stood.
    assert r.stderr == "conclave: __lock__0000000000 still holds /conclave/x after 1ms\n"
    assert world.conclave("revoke", "x", "--wait", "1ms", "--json").returncode == 1
    assert holder.poll() is None


def test_nobody_holds_it(world):
    assert world.ok("revoke", "x") == "nobody holds /conclave/x\n"
    assert world.ok("revoke", "x", "--wait", "5") == "nobody holds /conclave/x\n"
    assert world.json("revoke", "x", "--wait", "5", "--json") == {
        "path": "/conclave/x", "asked": [], "released": True}


def test_term_ends_the_command_with_its_own_code(world):
    p = world.start_conclave(
        "lock", "--on-revoke", "term", "--label", "me", "x", "--", "sh", "-c",
        "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done")
    assert p.stdout.readline() == "ready\n"
    out = world.ok("revoke", "x", "--wait", "60").splitlines()
    assert out[0].startswith("asked me to let go of /conclave/x, held for ")
    assert out[1].startswith("let go after ")
    assert p.wait() == 5


def test_term_lets_a_hold_go(world):
    p, _ = world.hold("--on-revoke", "term", "x")
    q, _ = world.hold("--on-revoke", "term", "--permits", "1", "sem")
    assert world.json("revoke", "x", "--wait", "60", "--json")["released"] is True
    assert world.json("revoke", "sem", "--wait", "60", "--json")["released"] is True
    assert (p.wait(), q.wait()) == (0, 0)


def test_all_readers_are_asked(world):
    holders = [world.hold("-s", "--on-revoke", "term", "x")[0] for _ in range(3)]
    assert len(world.json("revoke", "x", "--wait", "60", "--json")["asked"]) == 3
    assert [p.wait() for p in holders] == [0, 0, 0]


def test_several_paths_are_revoked_by_any(world):
    p, _ = world.hold("--on-revoke", "term", "a", "b")
    assert world.json("revoke", "b", "--wait", "60", "--json")["released"] is True
    assert p.wait() == 0


def test_waiters_are_not_asked(world):
    world.hold("x", "--label", "first")
    waiter = world.start_conclave("lock", "--on-revoke", "term", "x", "--", "true")
    until(lambda: world.json("status", "--json")["entries"][0]["waiters"], "the waiter")
    assert [a["owner"] for a in world.json("revoke", "x", "--json")["asked"]] == ["first"]
    assert waiter.poll() is None


@pytest.fixture
def served(world):
    _, address = world.serve()
    world.env["CONCLAVE_CONNECT"] = address
    zk = KazooClient(address)
    zk.start()
    yield world, zk
    zk.stop()
    zk.close()


def test_only_locks_are_revoked(served):
    world, zk = served
    zk.create("/conclave/e/n_", b"leader", ephemeral=True, sequence=True, makepath=True)
    zk.create("/conclave/q/qn-", b"item", sequence=True, makepath=True)
    for path, what in (("e", "an election"), ("q", "a queue")):
        r = world.conclave("revoke", path)
        assert r.returncode == 64 and what in r.stderr
    assert zk.get("/conclave/e/n_0000000000")[0] == b"leader"
    assert world.conclave("revoke").returncode == 64
    assert world.conclave("revoke", "a", "b").returncode == 64
