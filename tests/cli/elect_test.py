"""`conclave elect` and `conclave leader`."""

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
    """Starts a candidate and waits until it leads. Returns the process and the process id of its
    command."""
    p = world.start_conclave("elect", *args, "--", "sh", "-c", command, start_new_session=True)
    return p, int(p.stdout.readline())


def test_exits_with_the_code_of_the_command(world):
    assert world.conclave("elect", "e", "--", "sh", "-c", "exit 7").returncode == 7
    assert world.conclave("elect", "--once", "e", "-c", "kill -9 $$").returncode == 128 + 9
    assert world.conclave("elect", "e", "--", "/no/such").returncode == 127
    assert world.conclave("elect", "e", "--", world.folder).returncode == 126


def test_environment_of_the_command(world):
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


def test_leader_as_text(world):
    r = world.conclave("leader", "e")
    assert (r.returncode, r.stdout) == (1, "")
    p, _ = lead(world, "--id", "one", "e")
    world.start_conclave("elect", "--id", "the second", "e", "--", "true")
    until(lambda: len(candidates(world, "e")) == 2, "the second candidate")
    assert world.ok("leader", "e").startswith("one  leads for ")
    both = world.ok("leader", "--all", "e").splitlines()
    assert both[0].startswith("one         leads for ")
    assert both[1].startswith("the second  waits for ")
    why = "conclave: %s /conclave/e: node n_0000000000 has the layout election, but this " \
          "command has the layout kazoo; pass --layout election\n"
    assert world.refused("leader", "--layout", "kazoo", "e", code=78) == why % "leader"
    assert world.refused("elect", "--layout", "kazoo", "e", "--", "true", code=78) == why % "elect"
    p.kill()


def test_a_reader_of_another_library_is_refused(served):
    world, zk = served
    zk.create("/conclave/e/_c_1-__READ__", b"", ephemeral=True, sequence=True, makepath=True)
    why = "conclave: %s /conclave/e: node _c_1-__READ__0000000000 is another library's reader or " \
          "writer, which does not see mutexes; use another path\n"
    curator = ["--layout", "curator", "e"]
    assert world.refused("leader", *curator, code=78) == why % "leader"
    assert world.refused("elect", *curator, "--", "true", code=78) == why % "elect"


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
    """It campaigns repeatedly, but pauses if the command ends immediately."""
    begin = time.time_ns()
    p = world.start_conclave("elect", "--forever", "e", "-c", "date +%s%N >> rounds; exit 3")
    until(lambda: len(world.lines("rounds")) >= 2, "the second round")
    # Does not use the time of the first round, because a busy machine may run that command late.
    assert int(world.lines("rounds")[1]) - begin > 990_000_000
    assert p.poll() is None
    p.send_signal(signal.SIGTERM)
    assert p.wait() == 128 + signal.SIGTERM
    assert leader(world, "e") is None


def test_forever_takes_turns(world):
    """A former leader becomes the last candidate, and pauses if it led only for a short time."""
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


def test_forever_ends_after_a_signal_that_the_command_handles(world):
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
    """On this machine, its command keeps the leadership until it ends, as with flock."""
    p, child = lead(world, "--id", "one", "e")
    second = world.start_conclave("elect", "--id", "two", "e", "--", "echo", "two leads")
    until(lambda: len(candidates(world, "e")) == 2, "the second candidate")
    p.kill()
    p.wait()
    assert leader(world, "e")["id"] == "one"
    assert alive(child)
    os.kill(child, signal.SIGKILL)
    assert second.communicate()[0] == "two leads\n"


def test_over_tcp_the_command_of_a_killed_leader_is_killed(world):
    _, at = world.serve()
    args = ["-C", at, "--session-timeout", "4s"]
    p, child = lead(world, *args, "e", command="sleep 1000 & echo $!; wait")
    second = world.start_conclave("elect", *args, "e", "--", "echo", "two leads")
    until(lambda: len(candidates(world, "-C", at, "e")) == 2, "the second candidate")
    p.kill()
    until(lambda: not alive(child), "the end of the grandchild")
    assert second.communicate()[0] == "two leads\n"


def test_a_background_process_keeps_the_leadership(world):
    p = world.start_conclave("elect", "--id", "one", "e", "-c", "sleep 1000 & echo $!")
    left = int(p.stdout.readline())
    assert p.wait() == 0
    assert leader(world, "e")["id"] == "one"
    os.kill(left, signal.SIGKILL)
    until(lambda: leader(world, "e") is None, "the end of leadership")


def test_forever_waits_for_a_background_process_before_it_resigns(world):
    """The command itself ends immediately."""
    p = world.start_conclave(
        "elect", "--forever", "--id", "one", "e", "-c", "sleep 1000 & echo $! >> left")
    left = int(until(lambda: world.lines("left"), "the first round")[0])
    second = world.start_conclave("elect", "--id", "two", "e", "--", "true")
    until(lambda: len(candidates(world, "e")) == 2, "the second candidate")
    # Waits long enough for a resignation. After a resignation, the second candidate would lead.
    assert world.ok("elect", "other", "-c", "sleep 0.3; echo well") == "well\n"
    assert second.poll() is None
    assert leader(world, "e")["id"] == "one"
    os.kill(left, signal.SIGKILL)
    assert second.wait() == 0
    # After a signal, the background process keeps the leadership.
    left = int(until(lambda: world.lines("left")[1:], "the second round")[0])
    until(lambda: leader(world, "e") is not None and leader(world, "e")["id"] == "one", "the leader")
    p.send_signal(signal.SIGTERM)
    assert p.wait() == 128 + signal.SIGTERM
    assert leader(world, "e")["id"] == "one"
    os.kill(left, signal.SIGKILL)
    until(lambda: leader(world, "e") is None, "the end of leadership")


def test_leadership_lost(world):
    """The server is killed. The command gets SIGTERM before another candidate can lead."""
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


def test_forever_leads_again_after_a_restart_of_the_server(world):
    """This user's own server is killed. The candidate then has the same or a new session."""
    p = world.start_conclave("elect", "--forever", "e", "-c", "echo up; exec sleep 1000")
    assert p.stdout.readline() == "up\n"
    os.kill(world.local_pid(), signal.SIGKILL)
    until(lambda: leader(world, "e") is not None, "a leader")


def test_a_leader_whose_node_is_deleted_by_another_client(world, peer):
    """The leadership is lost, because the next candidate may already lead."""
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
    text = world.start_conclave("elect", "--observe", "e")
    lines = world.start_conclave("elect", "--observe", "--json", "e")
    assert text.stdout.readline().endswith("  nobody leads\n")
    assert json.loads(lines.stdout.readline())["leader"] is None
    p, child = lead(world, "--id", "one", "e")
    assert "  one leads, token " in text.stdout.readline()
    now = json.loads(lines.stdout.readline())
    assert now["leader"]["id"] == "one"
    assert now["leader"]["fencing_token"] == leader(world, "e")["fencing_token"]
    os.kill(child, signal.SIGKILL)
    assert text.stdout.readline().endswith("  nobody leads\n")
    assert json.loads(lines.stdout.readline())["leader"] is None
    for o, s in ((text, signal.SIGTERM), (lines, signal.SIGINT)):
        o.send_signal(s)
        assert o.wait() == 0
        assert o.stderr.read() == ""


def test_an_observer_ends_if_its_reader_has_exited(world):
    o = world.start_conclave("elect", "--observe", "e")
    assert o.stdout.readline().endswith("  nobody leads\n")
    o.stdout.close()
    p, _ = lead(world, "e")
    assert o.wait() != 0


def test_never_two_leaders(world):
    """Candidates are killed. The intervals in which their commands run must not overlap.

    Each command creates a folder, which fails if it exists, and removes the folder at its end.
    """
    one = ("mkdir busy || echo two leaders >> violations; echo $$ >> rounds; "
           "sleep 0.03; rmdir busy")
    started = [world.start_conclave("elect", "--forever", "e", "-c", one) for _ in range(4)]
    for i in range(12):
        until(lambda: len(world.lines("rounds")) > i, "a leader")
        # Kills only conclave itself. Its command continues and keeps the leadership.
        victim = started.pop(0)
        victim.kill()
        victim.wait()
        started.append(world.start_conclave("elect", "--forever", "e", "-c", one))
    for p in started:
        p.send_signal(signal.SIGTERM)
    for p in started:
        p.wait()
    assert world.lines("violations") == []
    assert len(world.lines("rounds")) >= 12
