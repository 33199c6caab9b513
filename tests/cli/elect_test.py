"""`conclave elect` and `conclave leader`: who leads, what runs meanwhile, and how it ends."""

import json
import os
import signal
import threading
import time

import pytest

from conftest import alive, ended_by, until

LAYOUTS = ["election", "leader-latch", "curator", "kazoo"]


def leader(world, *args):
    r = world.conclave("leader", "--json", *args)
    assert r.returncode in (0, 1), r
    return json.loads(r.stdout)


def candidates(world, *args):
    r = world.conclave("leader", "--json", "--all", *args)
    return [c["id"] for c in json.loads(r.stdout)]


def lead(world, *args, command="echo $$; exec sleep 1000"):
    """A candidate that leads when this returns: (process, its command's process)."""
    p = world.start_conclave("elect", *args, "--", "sh", "-c", command, start_new_session=True)
    return p, int(p.stdout.readline())


def test_runs_the_command_with_its_own_code(world):
    assert world.conclave("elect", "e", "--", "sh", "-c", "exit 7").returncode == 7
    assert world.conclave("elect", "--once", "e", "-c", "kill -9 $$").returncode == 128 + 9
    assert world.conclave("elect", "e", "--", "/no/such").returncode == 127
    assert world.conclave("elect", "e", "--", world.folder).returncode == 126


def test_what_the_command_is_told(world):
    said = world.ok("elect", "--id", "me", "e", "--", "env")
    env = dict(line.split("=", 1) for line in said.splitlines())
    assert env["CONCLAVE_ELECTION_PATH"] == "/conclave/e"
    assert env["CONCLAVE_LEADER_ID"] == "me"
    assert env["CONCLAVE_LOCK_NODE"].startswith("/conclave/e/n_")
    assert int(env["CONCLAVE_FENCING_TOKEN"]) > 0
    assert int(env["CONCLAVE_SESSION_ID"]) != 0


@pytest.mark.parametrize("args, right", [
    (["e", "./job"], "conclave elect e -- ./job"),
    (["e"], "conclave elect e -- COMMAND"),
    (["e", "--forever", "sh", "-c", "exit 1"], "conclave elect e --forever -- sh -c 'exit 1'"),
    (["--observe", "e", "--", "true"], "--observe runs no command"),
    (["--once", "--forever", "e", "--", "true"], "--forever"),
    (["--layout", "x", "e", "--", "true"], "leader-latch"),
    (["--json", "e", "--", "true"], "--observe"),
    (["e", "-c", "true", "--", "true"], "one of them"),
])
def test_usage(world, args, right):
    r = world.conclave("elect", *args)
    assert r.returncode == 64
    assert right in r.stderr


def test_no_server(world):
    r = world.conclave(
        "elect", "-C", "127.0.0.1:1", "--connect-timeout", "100ms", "e", "--", "true")
    assert r.returncode == 69


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_next_leads_when_the_leader_ends(world, layout):
    args = ["--layout", layout, "e"]
    assert leader(world, *args) is None
    first, child = lead(world, "--id", "one", *args)
    second = world.start_conclave("elect", "--id", "two", *args, "--", "echo", "two leads")
    until(lambda: candidates(world, *args) == ["one", "two"], "the second candidate")
    now = leader(world, *args)
    assert (now["id"], now["leads"]) == ("one", True)
    os.kill(child, signal.SIGTERM)
    assert first.wait() == 128 + signal.SIGTERM
    assert second.communicate()[0] == "two leads\n"
    assert second.wait() == 0
    assert leader(world, *args) is None


def test_tokens_grow(world):
    token = "echo $CONCLAVE_FENCING_TOKEN"
    tokens = [int(world.ok("elect", "e", "-c", token)) for _ in range(3)]
    assert tokens == sorted(set(tokens))


def test_leader_for_people(world):
    r = world.conclave("leader", "e")
    assert (r.returncode, r.stdout) == (1, "")
    p, _ = lead(world, "--id", "one", "e")
    world.start_conclave("elect", "--id", "the second", "e", "--", "true")
    until(lambda: len(candidates(world, "e")) == 2, "the second candidate")
    assert world.ok("leader", "e").startswith("one  leads for ")
    both = world.ok("leader", "--all", "e").splitlines()
    assert both[0].startswith("one         leads for ")
    assert both[1].startswith("the second  waits for ")
    why = "conclave: %s /conclave/e: node n_0000000000 has the layout election, this command the " \
          "layout kazoo; pass --layout election\n"
    assert world.refused("leader", "--layout", "kazoo", "e", code=78) == why % "leader"
    assert world.refused("elect", "--layout", "kazoo", "e", "--", "true", code=78) == why % "elect"
    p.kill()


def test_a_signal_while_waiting(world):
    p, _ = lead(world, "--id", "one", "e")
    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        waiter = world.start_conclave("elect", "e", "--", "true")
        until(lambda: len(candidates(world, "e")) == 2, "the second candidate")
        waiter.send_signal(s)
        assert waiter.wait() == ended_by(s)
        assert candidates(world, "e") == ["one"]
    assert p.poll() is None


def test_signals_are_passed_on(world):
    p = world.start_conclave(
        "elect", "e", "-c", "trap 'echo got it; exit 5' TERM; echo up; while :; do sleep 0.01; done")
    assert p.stdout.readline() == "up\n"
    p.send_signal(signal.SIGTERM)
    assert p.communicate()[0] == "got it\n"
    assert p.returncode == 5


def test_forever(world):
    """Again and again, but not at once if the command has nothing to do."""
    begin = time.time_ns()
    p = world.start_conclave("elect", "--forever", "e", "-c", "date +%s%N >> rounds; exit 3")
    until(lambda: len(world.lines("rounds")) >= 2, "the second round")
    # Not from the first date, which a busy machine may run late.
    assert int(world.lines("rounds")[1]) - begin > 990_000_000
    assert p.poll() is None
    p.send_signal(signal.SIGTERM)
    assert p.wait() == 128 + signal.SIGTERM
    assert leader(world, "e") is None


def test_forever_takes_turns(world):
    """Who has led goes to the end of the line, and pauses if that was short."""
    a = world.start_conclave("elect", "--forever", "--id", "a", "e", "-c",
                             "echo $CONCLAVE_LEADER_ID >> order")
    b = world.start_conclave("elect", "--forever", "--id", "b", "e", "-c",
                             "echo $CONCLAVE_LEADER_ID >> order")
    until(lambda: len(world.lines("order")) >= 4, "four rounds")
    order = world.lines("order")
    assert 1 <= order.count("a") <= len(order) - 1
    for p in (a, b):
        p.send_signal(signal.SIGINT)
        assert p.wait() == -signal.SIGINT


def test_forever_ends_when_the_command_has_dealt_with_the_signal(world):
    p = world.start_conclave(
        "elect", "--forever", "e", "-c",
        "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done")
    assert p.stdout.readline() == "up\n"
    p.send_signal(signal.SIGTERM)
    assert p.communicate()[0] == "bye\n"
    assert p.returncode == 128 + signal.SIGTERM


def test_forever_ends_if_the_command_cannot_be_run(world):
    assert world.conclave("elect", "--forever", "e", "--", "/no/such").returncode == 127


def test_the_leader_is_killed(world):
    """On this machine what it has started leads on, as with flock; then the next one does."""
    p, child = lead(world, "--id", "one", "e")
    second = world.start_conclave("elect", "--id", "two", "e", "--", "echo", "two leads")
    until(lambda: len(candidates(world, "e")) == 2, "the second candidate")
    p.kill()
    p.wait()
    assert leader(world, "e")["id"] == "one"
    assert alive(child)
    os.kill(child, signal.SIGKILL)
    assert second.communicate()[0] == "two leads\n"


def test_over_tcp_a_killed_leader_takes_its_command_with_it(world):
    _, at = world.serve()
    args = ["-C", at, "--session-timeout", "4s"]
    p, child = lead(world, *args, "e", command="sleep 1000 & echo $!; wait")
    second = world.start_conclave("elect", *args, "e", "--", "echo", "two leads")
    until(lambda: len(candidates(world, "-C", at, "e")) == 2, "the second candidate")
    p.kill()
    until(lambda: not alive(child), "the end of the grandchild")
    assert second.communicate()[0] == "two leads\n"


def test_what_is_left_behind_still_leads(world):
    p = world.start_conclave("elect", "--id", "one", "e", "-c", "sleep 1000 & echo $!")
    left = int(p.stdout.readline())
    assert p.wait() == 0
    assert leader(world, "e")["id"] == "one"
    os.kill(left, signal.SIGKILL)
    until(lambda: leader(world, "e") is None, "the end of leadership")


def test_forever_nobody_else_leads_beside_what_is_left_behind(world):
    """The command ends at once, and what it has left is waited for."""
    p = world.start_conclave(
        "elect", "--forever", "--id", "one", "e", "-c", "sleep 1000 & echo $! >> left")
    left = int(until(lambda: world.lines("left"), "the first round")[0])
    second = world.start_conclave("elect", "--id", "two", "e", "--", "true")
    until(lambda: len(candidates(world, "e")) == 2, "the second candidate")
    # Long enough for a resignation, had there been one: the second one would have led.
    assert world.ok("elect", "other", "-c", "sleep 0.3; echo well") == "well\n"
    assert second.poll() is None
    assert leader(world, "e")["id"] == "one"
    os.kill(left, signal.SIGKILL)
    assert second.wait() == 0
    # And a signal leaves leadership to what is there.
    left = int(until(lambda: world.lines("left")[1:], "the second round")[0])
    until(lambda: leader(world, "e") is not None and leader(world, "e")["id"] == "one", "the leader")
    p.send_signal(signal.SIGTERM)
    assert p.wait() == 128 + signal.SIGTERM
    assert leader(world, "e")["id"] == "one"
    os.kill(left, signal.SIGKILL)
    until(lambda: leader(world, "e") is None, "the end of leadership")


def test_leadership_lost(world):
    """The server is gone: TERM to the command before anybody else can lead."""
    server, at = world.serve()
    p, child = lead(world, "-C", at, "--session-timeout", "2s", "--kill-after", "100ms", "e")
    forever = world.start_conclave(
        "elect", "--forever", "-C", at, "--session-timeout", "2s", "f", "-c", "echo up; exec sleep 1000")
    assert forever.stdout.readline() == "up\n"
    server.kill()
    assert p.wait() == 75
    assert not alive(child)
    assert "lost" in p.stderr.read()
    assert "campaigning again" in forever.stderr.readline()
    assert forever.poll() is None


def test_forever_leads_again_when_the_server_is_back(world):
    """Its own server is killed under it; the session is a new one then, or the old."""
    p = world.start_conclave("elect", "--forever", "e", "-c", "echo up; exec sleep 1000")
    assert p.stdout.readline() == "up\n"
    os.kill(world.local_pid(), signal.SIGKILL)
    until(lambda: leader(world, "e") is not None, "a leader")


def test_a_leader_whose_node_is_removed_by_hand(world, peer):
    """That is a loss: the next one may lead already."""
    p, child = lead(world, "-C", peer.address, "e")
    peer.delete(leader(world, "-C", peer.address, "e")["node"])
    assert p.wait() == 75
    assert not alive(child)


def test_shared_with_kazoo(world, peer):
    args = ["-C", peer.address, "--layout", "kazoo", "e"]
    theirs = peer.Election("/conclave/e", "kazoo")
    p, child = lead(world, *args)
    thread = threading.Thread(target=theirs.run, args=(lambda: led.append(leader(world, *args)),))
    led = []
    thread.start()
    until(lambda: len(candidates(world, *args)) == 2, "the other library's candidate")
    os.kill(child, signal.SIGKILL)
    thread.join()
    assert led[0]["id"] == "kazoo"


def test_observe(world):
    people = world.start_conclave("elect", "--observe", "e")
    programs = world.start_conclave("elect", "--observe", "--json", "e")
    assert people.stdout.readline().endswith("  nobody leads\n")
    assert json.loads(programs.stdout.readline())["leader"] is None
    p, child = lead(world, "--id", "one", "e")
    assert "  one leads, token " in people.stdout.readline()
    now = json.loads(programs.stdout.readline())
    assert now["leader"]["id"] == "one"
    assert now["leader"]["fencing_token"] == leader(world, "e")["fencing_token"]
    os.kill(child, signal.SIGKILL)
    assert people.stdout.readline().endswith("  nobody leads\n")
    assert json.loads(programs.stdout.readline())["leader"] is None
    for o, s in ((people, signal.SIGTERM), (programs, signal.SIGINT)):
        o.send_signal(s)
        assert o.wait() == 0
        assert o.stderr.read() == ""


def test_observer_whose_reader_has_gone(world):
    o = world.start_conclave("elect", "--observe", "e")
    assert o.stdout.readline().endswith("  nobody leads\n")
    o.stdout.close()
    p, _ = lead(world, "e")
    assert o.wait() != 0


def test_never_two_leaders(world):
    """Candidates that are killed at random: the intervals in which they lead do not overlap.

    Each command takes a folder that only one can make, and puts it away at its end.
    """
    one = ("mkdir busy || echo two leaders >> trouble; echo $$ >> rounds; "
           "sleep 0.03; rmdir busy")
    started = [world.start_conclave("elect", "--forever", "e", "-c", one) for _ in range(4)]
    for i in range(12):
        until(lambda: len(world.lines("rounds")) > i, "a leader")
        # Only conclave itself: its command goes on, and leads.
        victim = started.pop(0)
        victim.kill()
        victim.wait()
        started.append(world.start_conclave("elect", "--forever", "e", "-c", one))
    for p in started:
        p.send_signal(signal.SIGTERM)
    for p in started:
        p.wait()
    assert world.lines("trouble") == []
    assert len(world.lines("rounds")) >= 12
