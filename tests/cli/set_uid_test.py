"""A command that runs as another user, as with sudo. `conclave` is not permitted to signal it and
reports this. If the lock is lost, `conclave` exits without waiting for the command."""

import os
import shutil
import signal

import pytest
from conftest import BINARY, TIMEOUT, alive, stop, until
from relay import Relay

LOST = 75
USER = 54323  # a user id without other processes

pytestmark = pytest.mark.xfail(os.geteuid() != 0, reason="only root can become another user", run=False)


@pytest.fixture
def user(world):
    """A function that starts `conclave` as USER, connected to a TCP server through .relay, with
    stderr in the file `err`. `sudo` is a set-uid program that becomes root."""
    _, address = world.serve("--min-session-timeout", "200ms", "--tick", "100ms")
    os.chmod(world.folder, 0o711)
    sudo = shutil.copy(shutil.which("setpriv"), world.path("sudo"))
    os.chmod(sudo, 0o4755)
    program = os.open(BINARY, os.O_RDONLY)

    def start(*args):
        with open(world.path("err"), "w") as err:
            return world.start("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups",
                               f"/proc/self/fd/{program}", *args, stderr=err, pass_fds=[program],
                               env={"CONCLAVE_CONNECT": start.relay.address})

    start.relay = Relay(address)
    start.server = address
    yield start
    start.relay.close()
    os.close(program)


# Prints its process id. Does not keep our pipes open.
ROOT = ["./sudo", "--reuid=0", "--regid=0", "--clear-groups", "sh", "-c",
        "echo $$; exec sleep 1000 >/dev/null 2>&1"]
IN_A_SCRIPT = ["sh", "-c", '"$@"; exit 1', "sh", *ROOT]


def start_lock(user, *flags, timeout="1s", command=ROOT):
    p = user("lock", "--session-timeout", timeout, *flags, "x", "--", *command)
    return p, int(p.stdout.readline())


def wait_for_message(world, part):
    until(lambda: part in world.read("err"), part)


def expect_grant(world, user):
    """Checks that another command can acquire the lock."""
    assert world.ok("lock", "-C", user.server, "x", "--", "echo", "held") == "held\n"


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP"])
def test_a_signal_that_cannot_be_passed_on_is_reported(world, user, name):
    p, child = start_lock(user, timeout="20s")
    p.send_signal(getattr(signal, "SIG" + name))
    wait_for_message(world, f"conclave: cannot send SIG{name} to process {child} of the command: ")
    # The command still runs and holds the lock.
    assert world.conclave("lock", "-C", user.server, "-n", "x", "--", "true").returncode == 1
    assert alive(child) and p.poll() is None
    os.kill(child, signal.SIGKILL)
    assert p.wait(timeout=TIMEOUT) == 128 + signal.SIGKILL


@pytest.mark.parametrize("fault", ["silence", "disconnect"])
@pytest.mark.parametrize("command", [ROOT, IN_A_SCRIPT], ids=["itself", "script"])
def test_conclave_exits_after_a_loss_without_waiting_for_the_command(world, user, fault, command):
    p, child = start_lock(user, command=command)
    getattr(user.relay, fault)()
    assert p.wait(timeout=TIMEOUT) == LOST
    assert f"conclave: the lock was lost, but process {child} of the command still runs: " in \
        world.read("err").splitlines()[-1]
    assert alive(child)
    expect_grant(world, user)


def test_on_suspend_term_cannot_end_the_command(world, user):
    p, child = start_lock(user, "--on-suspend", "term", "--kill-after", "0.1", timeout="20s")
    user.relay.disconnect()
    wait_for_message(world, f"cannot send SIGKILL to process {child}")
    user.relay.restore()
    # The lock is still held, so the command may continue.
    assert world.conclave("lock", "-C", user.server, "-n", "x", "--", "true").returncode == 1
    os.kill(child, signal.SIGKILL)
    assert p.wait(timeout=TIMEOUT) == LOST
    said = world.read("err")
    assert [said.count(f"cannot send SIG{s} ") for s in ("TERM", "KILL")] == [1, 1], said
    assert "held until its end" in said.splitlines()[-1]


def test_the_guard_cannot_kill_the_command_either(world, user):
    p, child = start_lock(user)
    stop(p)
    expect_grant(world, user)
    p.send_signal(signal.SIGCONT)
    assert p.wait(timeout=TIMEOUT) == LOST
    assert f"process {child} of the command still runs: " in world.read("err")
    assert alive(child)


@pytest.mark.parametrize("args", [["elect", "--forever"], ["queue", "work", "-q"]],
                         ids=lambda a: a[0])
def test_no_second_command_is_started(world, user, args):
    world.ok("queue", "push", "-C", user.server, "x", "one", "two")
    path = "x" if args[0] == "queue" else "y"
    p = user(*args, "--session-timeout", "1s", path, "--", *ROOT)
    child = int(p.stdout.readline())
    user.relay.silence()
    wait_for_message(world, f"was lost, but process {child} of the command still runs: ")
    user.relay.restore()
    assert p.wait(timeout=TIMEOUT) == LOST
    assert p.stdout.read() == ""
    assert alive(child)
