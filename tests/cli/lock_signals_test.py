"""`conclave lock` and signals: those it passes on to the command, and those while it waits."""

import os
import signal
import subprocess

import pytest
from conftest import alive, until

NAMES = {"INT": signal.SIGINT, "TERM": signal.SIGTERM, "HUP": signal.SIGHUP,
         "QUIT": signal.SIGQUIT}


def free(world, path="x", *flags):
    return world.conclave("lock", "-n", *flags, path, "--", "true").returncode == 0


def waiting(world, *args, **rest):
    """A waiter that stands in line behind somebody, and that somebody."""
    holder, line = world.hold("x")
    waiter = world.start_conclave("lock", "x", *args, "--", "true", **rest)
    in_line(world, 2)
    return holder, waiter


def in_line(world, count):
    """Until so many sessions are there: each of these tests has one path only."""
    pid = world.local_pid()
    until(lambda: sockets_of(pid) >= count, "another one in line")


def sockets_of(pid):
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    return sum(link.startswith("anon_inode:[pidfd]") for link in links)


@pytest.mark.parametrize("name", NAMES)
def test_the_command_gets_it_and_its_answer_counts(world, name):
    p = world.start_conclave(
        "lock", "x", "--", "sh", "-c",
        f"trap 'echo got {name}; exit 9' {name}; echo ready; while :; do sleep 0.01; done")
    assert p.stdout.readline() == "ready\n"
    p.send_signal(NAMES[name])
    assert p.communicate()[0] == f"got {name}\n"
    assert p.returncode == 9
    assert free(world)


@pytest.mark.parametrize("name", NAMES)
def test_a_command_that_dies_of_it_gives_128_and_the_signal(world, name):
    p = world.start_conclave("lock", "x", "--", "sh", "-c", "echo ready; exec sleep 1000")
    p.stdout.readline()
    p.send_signal(NAMES[name])
    assert p.wait() in (128 + NAMES[name], -NAMES[name])
    assert free(world)


def test_the_whole_group_of_the_command_gets_it(world):
    p = world.start_conclave(
        "lock", "x", "--", "sh", "-c", "trap : TERM; sh -c 'echo $$; exec sleep 1000' & wait; exit 3")
    grandchild = int(p.stdout.readline())
    p.terminate()
    assert p.wait() == 3
    until(lambda: not alive(grandchild), "the end of the grandchild")


def test_a_signal_to_the_group_of_conclave_reaches_the_command_once(world):
    p = world.start_conclave(
        "lock", "x", "--", "sh", "-c",
        "n=0; trap 'n=$((n+1))' INT; trap 'echo $n; exit' TERM; echo ready; "
        "while :; do sleep 0.01; done", start_new_session=True)
    p.stdout.readline()
    os.killpg(p.pid, signal.SIGINT)
    os.killpg(p.pid, signal.SIGTERM)
    assert p.communicate()[0] == "1\n"


def test_a_stopped_command_still_gets_sigterm(world):
    p = world.start_conclave("lock", "x", "--", "sh", "-c", "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    os.kill(child, signal.SIGSTOP)
    p.terminate()
    assert p.wait() in (128 + signal.SIGTERM, -signal.SIGTERM)


@pytest.mark.parametrize("name", NAMES)
def test_while_waiting_it_leaves_the_line(world, name):
    holder, waiter = waiting(world)
    waiter.send_signal(NAMES[name])
    assert waiter.wait() in (128 + NAMES[name], -NAMES[name])
    holder.terminate()
    assert holder.wait() == 0
    # Nothing of it is left in the line.
    assert free(world)


@pytest.mark.parametrize("name", NAMES)
def test_hold_ends_well_with_a_signal(world, name):
    holder, _ = world.hold("x")
    holder.send_signal(NAMES[name])
    assert holder.wait() == 0
    assert free(world)


def test_hold_that_still_waits_is_interrupted(world):
    holder, _ = world.hold("x")
    waiter = world.start_conclave("lock", "--hold", "x")
    in_line(world, 2)
    waiter.terminate()
    assert waiter.wait() in (128 + signal.SIGTERM, -signal.SIGTERM)
    assert waiter.stdout.read() == ""


def ignoring(*signals):
    def set_up():
        for s in signals:
            signal.signal(s, signal.SIG_IGN)
    return set_up


def test_under_nohup_a_waiter_outlives_the_hangup(world):
    holder, waiter = waiting(world, preexec_fn=ignoring(signal.SIGHUP))
    waiter.send_signal(signal.SIGHUP)
    holder.terminate()
    holder.wait()
    assert waiter.wait() == 0


def test_in_a_scripts_background_a_waiter_outlives_ctrl_c(world):
    holder, waiter = waiting(world, preexec_fn=ignoring(signal.SIGINT, signal.SIGQUIT))
    waiter.send_signal(signal.SIGINT)
    holder.terminate()
    holder.wait()
    assert waiter.wait() == 0


def test_under_nohup_the_command_ignores_the_hangup(world):
    p = world.start_conclave(
        "lock", "x", "--", "sh", "-c", "echo ready; read line; exit 4",
        preexec_fn=ignoring(signal.SIGHUP), stdin=subprocess.PIPE)
    p.stdout.readline()
    p.send_signal(signal.SIGHUP)
    p.communicate("\n")
    assert p.returncode == 4


def test_started_with_sigchld_ignored(world):
    p = world.start_conclave("lock", "x", "--", "sh", "-c", "exit 3",
                             preexec_fn=ignoring(signal.SIGCHLD))
    assert p.wait(timeout=5) == 3


def test_a_signal_while_it_looks_for_the_server(world):
    p = world.start_conclave("lock", "-C", "127.0.0.1:1", "--connect-timeout", "8s", "x", "--",
                             "true")
    until(lambda: len(os.listdir(f"/proc/{p.pid}/task")) > 1, "the client's thread")
    p.send_signal(signal.SIGINT)
    assert p.wait(timeout=4) in (128 + signal.SIGINT, -signal.SIGINT)
