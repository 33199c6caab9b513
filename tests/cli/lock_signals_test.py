"""`conclave lock` and signals, while the command runs and while it waits for the lock."""

import os
import signal
import subprocess

import pytest
from conftest import alive, state_of, until

NAMES = {"INT": signal.SIGINT, "TERM": signal.SIGTERM, "HUP": signal.SIGHUP,
         "QUIT": signal.SIGQUIT}


def is_free(world, path="x", *flags):
    return world.conclave("lock", "-n", *flags, path, "--", "true").returncode == 0


def start_waiter(world, *args, **rest):
    """Starts a holder and a waiter. Returns both."""
    holder, line = world.hold("x")
    waiter = world.start_conclave("lock", "x", *args, "--", "true", **rest)
    wait_for_sessions(world, 2)
    return holder, waiter


def wait_for_sessions(world, count):
    """Waits until the server has at least `count` sessions. Each of these tests uses only one
    path."""
    pid = world.local_pid()
    until(lambda: watched_processes(pid) >= count, "the sessions")


def watched_processes(pid):
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    return sum(link.startswith("anon_inode:[pidfd]") for link in links)


@pytest.mark.parametrize("name", NAMES)
def test_a_signal_is_passed_on_and_the_exit_code_of_the_command_is_used(world, name):
    p = world.start_conclave(
        "lock", "x", "--", "sh", "-c",
        f"trap 'echo got {name}; exit 9' {name}; echo ready; while :; do sleep 0.01; done")
    assert p.stdout.readline() == "ready\n"
    p.send_signal(NAMES[name])
    assert p.communicate()[0] == f"got {name}\n"
    assert p.returncode == 9
    assert is_free(world)


@pytest.mark.parametrize("name", NAMES)
def test_the_exit_code_is_128_plus_the_signal_that_ends_the_command(world, name):
    p = world.start_conclave("lock", "x", "--", "sh", "-c", "echo ready; exec sleep 1000")
    p.stdout.readline()
    p.send_signal(NAMES[name])
    assert p.wait() in (128 + NAMES[name], -NAMES[name])
    assert is_free(world)


def test_a_signal_is_passed_on_to_the_process_group(world):
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
def test_a_signal_while_waiting_removes_the_waiter(world, name):
    holder, waiter = start_waiter(world)
    waiter.send_signal(NAMES[name])
    assert waiter.wait() in (128 + NAMES[name], -NAMES[name])
    holder.terminate()
    assert holder.wait() == 0
    # The node of the waiter is gone.
    assert is_free(world)


@pytest.mark.parametrize("name", NAMES)
def test_hold_exits_with_0_after_a_signal(world, name):
    holder, _ = world.hold("x")
    holder.send_signal(NAMES[name])
    assert holder.wait() == 0
    assert is_free(world)


def test_a_signal_while_hold_waits(world):
    holder, _ = world.hold("x")
    waiter = world.start_conclave("lock", "--hold", "x")
    wait_for_sessions(world, 2)
    waiter.terminate()
    assert waiter.wait() in (128 + signal.SIGTERM, -signal.SIGTERM)
    assert waiter.stdout.read() == ""


def ignoring(*signals):
    def set_up():
        for s in signals:
            signal.signal(s, signal.SIG_IGN)
    return set_up


def test_under_nohup_a_waiter_ignores_sighup(world):
    holder, waiter = start_waiter(world, preexec_fn=ignoring(signal.SIGHUP))
    waiter.send_signal(signal.SIGHUP)
    holder.terminate()
    holder.wait()
    assert waiter.wait() == 0


def test_a_background_waiter_of_a_script_ignores_ctrl_c(world):
    holder, waiter = start_waiter(world, preexec_fn=ignoring(signal.SIGINT, signal.SIGQUIT))
    waiter.send_signal(signal.SIGINT)
    holder.terminate()
    holder.wait()
    assert waiter.wait() == 0


def test_under_nohup_the_command_ignores_sighup(world):
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


def test_a_signal_while_it_connects(world):
    p = world.start_conclave("lock", "-C", "127.0.0.1:1", "--connect-timeout", "8s", "x", "--",
                             "true")
    until(lambda: len(os.listdir(f"/proc/{p.pid}/task")) > 1, "the client's thread")
    p.send_signal(signal.SIGINT)
    assert p.wait(timeout=4) in (128 + signal.SIGINT, -signal.SIGINT)


@pytest.mark.parametrize("command", [["lock"], ["lock", "--shared"], ["lock", "-w", "60"],
                                     ["lock", "--permits", "1"], ["elect"]], ids=" ".join)
def test_a_stopped_waiter_does_not_block_the_waiters_behind_it(world, command):
    kind = [a for a in command if a not in ("-w", "60", "--shared")]
    holds = [*kind, "x", "--", "sh", "-c", "echo started; exec sleep 1000"]
    holder = world.start_conclave(*holds)
    assert holder.stdout.readline() == "started\n"
    waiter = world.start_conclave(*command, "x", "--", "echo", "ran")
    waiters = lambda: world.json("status", "x", "--json")["entries"][0]["waiters"]
    until(waiters, "the waiter")
    waiter.send_signal(signal.SIGTSTP)
    until(lambda: state_of(waiter.pid) == "T", "the stopped waiter")
    assert waiters() == []
    behind = world.start_conclave(*kind, "x", "--", "echo", "behind")
    until(waiters, "the second waiter")
    holder.terminate()
    assert behind.stdout.readline() == "behind\n"
    assert behind.wait() == 0
    waiter.send_signal(signal.SIGCONT)
    assert waiter.communicate() == ("ran\n", "")
    assert waiter.returncode == 0
