"""This user's own server is killed, stopped or exits while it is in use. No lock is lost or granted
twice."""

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


def has_guard(p):
    """Returns whether the command has a guard process."""
    with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
        children = f.read().split()
    return any(open(f"/proc/{c}/comm").read() == "conclave-guard\n" for c in children)


def test_a_holder_restarts_the_server_and_keeps_its_lock(world):
    p = world.start_conclave("lock", "x", "--", "sh", "-c", "echo $CONCLAVE_LOCK_NODE; read a; exit 3",
                             stdin=-1)
    p.stdout.readline()
    before = kill_server(world)
    until(lambda: world.local_pid() not in (None, before), "another server")
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 1
    until(lambda: connections(world) >= 1, "the holder to reconnect")
    p.communicate("\n")
    assert p.returncode == 3
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 0


def test_a_waiter_keeps_its_position(world):
    holder, line = world.hold("x")
    waiter = world.start_conclave("lock", "x", "--", "sh", "-c", "echo $CONCLAVE_FENCING_TOKEN")
    # Otherwise the next command could arrive before the waiter.
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


def test_tokens_increase_after_restarts(world):
    tokens = []
    for _ in range(3):
        tokens.append(int(world.ok("lock", "x", "--", "sh", "-c", "echo $CONCLAVE_FENCING_TOKEN")))
        kill_server(world)
    assert tokens == sorted(set(tokens))


def test_the_lock_is_released_if_server_and_holder_are_killed(world):
    p, _ = world.hold("--session-timeout", "1s", "x")
    kill_server(world)
    p.kill()
    p.wait()
    r = world.conclave("lock", "-w", "50", "--session-timeout", "1s", "x", "--", "true")
    assert (r.returncode, r.stderr) == (0, "")


def test_after_a_restart_a_background_process_still_holds_the_lock(world):
    p = world.start_conclave("lock", "x", "--", "sh", "-c",
                             "sleep 1000 >&- 2>&- & echo $!; read a", stdin=-1)
    background = int(p.stdout.readline())
    before = kill_server(world)
    until(lambda: world.local_pid() not in (None, before), "another server")
    until(lambda: connections(world) >= 1, "the holder to reconnect")
    p.stdin.write("\n")
    p.stdin.flush()
    # conclave may or may not exit. The lock must not be free while the background process runs.
    try:
        p.wait(timeout=1)
    except subprocess.TimeoutExpired:
        pass
    code = world.conclave("lock", "-n", "x", "--", "true").returncode
    running = alive(background)
    if running:
        os.kill(background, signal.SIGKILL)
    assert code == 1 or not running


def test_after_a_restart_the_command_keeps_its_lock_if_conclave_is_killed(world):
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


def test_the_server_and_conclave_are_killed_together(world):
    """Either the lock stays held, or the command is killed."""
    p = world.start_conclave("lock", "--session-timeout", "3s", "x", "--", "sh", "-c",
                             "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    until(lambda: has_guard(p), "the guard")
    server = world.local_pid()
    p.send_signal(signal.SIGSTOP)  # so that it cannot react between the two kills
    os.kill(server, signal.SIGKILL)
    p.kill()
    p.wait()
    code = world.conclave("lock", "-w", "6", "--session-timeout", "1s", "x", "--", "true").returncode
    running = alive(child)
    if running:
        os.kill(child, signal.SIGKILL)
    assert code == 1 or not running


def test_conclave_is_stopped_while_another_command_restarts_the_server(world):
    p = world.start_conclave("lock", "--session-timeout", "3s", "x", "--", "sh", "-c",
                             "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    until(lambda: has_guard(p), "the guard")
    server = world.local_pid()
    p.send_signal(signal.SIGSTOP)
    os.kill(server, signal.SIGKILL)
    code = world.conclave("lock", "-w", "6", "--session-timeout", "1s", "x", "--", "true").returncode
    running = alive(child)
    if running:
        os.kill(child, signal.SIGKILL)
    p.send_signal(signal.SIGCONT)
    assert code == 1 or not running


def test_local_stop_with_force_while_a_lock_is_held(world):
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


def test_commands_while_the_server_exits_repeatedly(world):
    """For example, the server may exit because it is idle just when a command starts."""
    for i in range(15):
        pid = world.local_pid()
        if pid:
            os.kill(pid, signal.SIGTERM)  # without waiting for its exit
        assert world.conclave("lock", "x", "--", "true").returncode == 0


def test_a_command_that_ends_while_the_server_is_down_releases_its_lock(world):
    world.ok("lock", "x", "--", "true")
    server = world.local_pid()
    p = world.conclave("lock", "x", "--", "sh", "-c", f"kill -9 {server}; exit 3")
    assert p.returncode == 3
    assert world.conclave("lock", "-w", "3", "x", "--", "true").returncode == 0
