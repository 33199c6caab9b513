"""This user's own server is killed, stops or ends by itself while it is in use: nobody loses a lock,
and nobody gets one that another has."""

import json
import os
import signal
import subprocess

from conftest import alive, until


def kill_server(world):
    pid = world.local_pid()
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), "the end of the server")
    return pid


def guarded(p):
    """Commands that run for some time have a guard."""
    with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
        children = f.read().split()
    return any(open(f"/proc/{c}/comm").read() == "conclave-guard\n" for c in children)


def test_a_holder_starts_it_again_and_keeps_its_lock(world):
    p = world.start_conclave("lock", "x", "--", "sh", "-c", "echo $CONCLAVE_LOCK_NODE; read a; exit 3",
                             stdin=-1)
    p.stdout.readline()
    before = kill_server(world)
    until(lambda: world.local_pid() not in (None, before), "another server")
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 1
    until(lambda: connections(world) >= 1, "the holder there again")
    p.communicate("\n")
    assert p.returncode == 3
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 0


def test_a_waiter_waits_on(world):
    holder, line = world.hold("x")
    waiter = world.start_conclave("lock", "x", "--", "sh", "-c", "echo $CONCLAVE_FENCING_TOKEN")
    # Whoever waits third would overtake it otherwise.
    until(lambda: connections(world) >= 2, "the waiter")
    for _ in range(3):
        kill_server(world)
        assert world.conclave("lock", "-n", "x", "--", "true").returncode == 1
    holder.terminate()
    out, err = waiter.communicate()
    assert (waiter.returncode, err) == (0, "")
    assert int(out) > line["fencing_token"]


def connections(world):
    return json.loads(world.conclave("local", "status", "--json").stdout).get("connections", 0) - 1


def test_tokens_grow_over_restarts(world):
    tokens = []
    for _ in range(3):
        tokens.append(int(world.ok("lock", "x", "--", "sh", "-c", "echo $CONCLAVE_FENCING_TOKEN")))
        kill_server(world)
    assert tokens == sorted(set(tokens))


def test_killed_together_with_the_command_nothing_is_left(world):
    p, _ = world.hold("--session-timeout", "1s", "x")
    kill_server(world)
    p.kill()
    p.wait()
    r = world.conclave("lock", "-w", "50", "--session-timeout", "1s", "x", "--", "true")
    assert (r.returncode, r.stderr) == (0, "")


def test_after_a_restart_what_the_command_leaves_behind_still_holds_the_lock(world):
    p = world.start_conclave("lock", "x", "--", "sh", "-c",
                             "sleep 1000 >&- 2>&- & echo $!; read a", stdin=-1)
    left = int(p.stdout.readline())
    before = kill_server(world)
    until(lambda: world.local_pid() not in (None, before), "another server")
    until(lambda: connections(world) >= 1, "the holder there again")
    p.stdin.write("\n")
    p.stdin.flush()
    # It may stay for that, or end and leave the lock; the lock is not free while it runs.
    try:
        p.wait(timeout=1)
    except subprocess.TimeoutExpired:
        pass
    code = world.conclave("lock", "-n", "x", "--", "true").returncode
    running = alive(left)
    if running:
        os.kill(left, signal.SIGKILL)
    assert code == 1 or not running


def test_after_a_restart_a_kill_of_conclave_leaves_the_command_its_lock(world):
    p = world.start_conclave("lock", "--session-timeout", "2s", "x", "--", "sh", "-c",
                             "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    before = kill_server(world)
    until(lambda: world.local_pid() not in (None, before), "another server")
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 1
    p.kill()
    p.wait()
    assert world.conclave("lock", "-w", "4", "x", "--", "true").returncode == 1
    assert alive(child)
    os.kill(child, signal.SIGKILL)
    until(lambda: world.conclave("lock", "-n", "x", "--", "true").returncode == 0, "the lock")


def test_the_server_and_conclave_killed_at_once(world):
    """The command lives on and has no connection any more: the lock must stay, or it must die."""
    p = world.start_conclave("lock", "--session-timeout", "3s", "x", "--", "sh", "-c",
                             "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    until(lambda: guarded(p), "the guard")
    server = world.local_pid()
    p.send_signal(signal.SIGSTOP)  # so that it cannot do anything between the two
    os.kill(server, signal.SIGKILL)
    p.kill()
    p.wait()
    code = world.conclave("lock", "-w", "6", "--session-timeout", "1s", "x", "--", "true").returncode
    running = alive(child)
    if running:
        os.kill(child, signal.SIGKILL)
    assert code == 1 or not running


def test_conclave_stopped_while_the_server_is_restarted_by_others(world):
    p = world.start_conclave("lock", "--session-timeout", "3s", "x", "--", "sh", "-c",
                             "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    until(lambda: guarded(p), "the guard")
    server = world.local_pid()
    p.send_signal(signal.SIGSTOP)
    os.kill(server, signal.SIGKILL)
    code = world.conclave("lock", "-w", "6", "--session-timeout", "1s", "x", "--", "true").returncode
    running = alive(child)
    if running:
        os.kill(child, signal.SIGKILL)
    p.send_signal(signal.SIGCONT)
    assert code == 1 or not running


def test_stopped_with_force_while_a_lock_is_held(world):
    p, _ = world.hold("x")
    before = world.local_pid()
    r = world.conclave("local", "stop")
    assert (r.returncode, r.stdout) == (1, "")
    assert "--force" in r.stderr and r.stderr.count("\n") == 1
    assert world.local_pid() == before
    assert world.conclave("local", "stop", "--force").returncode == 0
    until(lambda: world.local_pid() not in (None, before), "another server")
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 1
    p.terminate()
    assert p.wait() == 0


def test_commands_while_the_server_ends_again_and_again(world):
    """As when it ends idle just now."""
    for i in range(15):
        pid = world.local_pid()
        if pid:
            os.kill(pid, signal.SIGTERM)  # and do not wait
        assert world.conclave("lock", "x", "--", "true").returncode == 0




def test_a_command_that_ends_while_the_server_is_down_leaves_no_lock(world):
    world.ok("lock", "x", "--", "true")
    server = world.local_pid()
    p = world.conclave("lock", "x", "--", "sh", "-c", f"kill -9 {server}; exit 3")
    assert p.returncode == 3
    assert world.conclave("lock", "-w", "3", "x", "--", "true").returncode == 0
