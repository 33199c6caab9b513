"""Over TCP the server counts time: whatever happens to `conclave lock`, its command has ended before
another one gets the lock, and a loss is never a success."""

import os
import signal
import sys
import time

import pytest
from conftest import alive, until
from relay import Relay
from relay import __file__ as relay_program

LOST = 75
# Writes the time as long as it lives; ends are seen to the hundredth.
BEATS = "echo $$; while :; do date +%s.%N >>beats; sleep 0.01; done"


@pytest.fixture
def server(world):
    """Its address; sessions end half a second to a second after the last word."""
    _, address = world.serve("--min-session-timeout", "200ms", "--tick", "100ms")
    return address


@pytest.fixture
def relay(server):
    r = Relay(server)
    yield r
    r.close()


def lock(world, address, *args, timeout="1s", **rest):
    return world.start_conclave("lock", "-C", address, "--session-timeout", timeout, *args, **rest)


def take_over(world, server):
    """The next holder, and when it got the lock."""
    r = world.conclave("lock", "-C", server, "--session-timeout", "1s", "x", "--", "date", "+%s.%N")
    assert r.returncode == 0, r
    return float(r.stdout)


def last_beat(world):
    return float(world.read("beats").split()[-1])


def beating(world, address, *flags, script=BEATS):
    p = lock(world, address, *flags, "x", "--", "sh", "-c", script)
    child = int(p.stdout.readline())
    until(lambda: os.path.exists(world.path("beats")) and world.read("beats").endswith("\n"),
          "the first beat")
    return p, child


def test_killed_its_group_dies_at_once(world, server):
    p, child = beating(world, server, script="sh -c 'echo $$; exec sleep 1000' & " + BEATS)
    other = int(p.stdout.readline())
    p.kill()
    until(lambda: not alive(child) and not alive(other), "the end of the group")
    assert take_over(world, server) > last_beat(world)


def test_stopped_past_the_timeout(world, server):
    p, child = beating(world, server)
    p.send_signal(signal.SIGSTOP)
    assert take_over(world, server) > last_beat(world)
    until(lambda: not alive(child), "the end of the command")
    p.send_signal(signal.SIGCONT)
    assert p.wait() == LOST
    assert p.stderr.read() == "conclave: the lock was lost while the command ran\n"


@pytest.mark.parametrize("trouble", ["relay", "command"])
def test_behind_a_relay_time_counts_on_a_unix_socket_as_well(world, trouble):
    _, tcp = world.serve("--socket", world.path("socket"),
                         "--min-session-timeout", "200ms", "--tick", "100ms")
    # As with ssh -L: the server sees the process at the far end, and we do not learn of its death.
    far = world.start(sys.executable, relay_program, "unix:" + world.path("socket"), world.path("far"))
    assert far.stdout.readline() == "ready\n"
    near = Relay("unix:" + world.path("far"), at=world.path("near"))
    near.tell_nobody()
    p, child = beating(world, near.address, "--kill-after", "200ms")
    (far if trouble == "relay" else p).kill()
    got = take_over(world, tcp)
    assert p.wait() == (LOST if trouble == "relay" else -signal.SIGKILL)
    until(lambda: not alive(child), "the end of the command")
    assert got > last_beat(world)
    near.close()


@pytest.mark.parametrize("trouble", ["silence", "cut"])
def test_without_a_connection(world, server, relay, trouble):
    p, child = beating(world, relay.address, "--kill-after", "200ms",
                       script="trap 'echo asked to end; exit 0' TERM; " + BEATS)
    getattr(relay, trouble)()
    got = take_over(world, server)
    assert got > last_beat(world)
    assert p.wait() == LOST
    assert p.stdout.read() == "asked to end\n"


@pytest.mark.parametrize("trouble", ["silence", "cut"])
def test_a_command_that_ignores_sigterm_is_killed_in_time(world, server, relay, trouble):
    p, child = beating(world, relay.address, "--kill-after", "200ms", script="trap '' TERM; " + BEATS)
    getattr(relay, trouble)()
    assert take_over(world, server) > last_beat(world)
    assert p.wait() == LOST


def test_a_short_cut_is_survived(world, server, relay):
    p = lock(world, relay.address, "x", "--", "sh", "-c",
             "echo ready; while [ ! -e go ]; do sleep 0.01; done; exit 3", timeout="2s")
    p.stdout.readline()
    relay.cut()
    relay.heal()
    # It is there again, and has its lock.
    assert world.conclave("lock", "-C", server, "-n", "x", "--", "true").returncode == 1
    open(world.path("go"), "w").close()
    assert p.wait() == 3


def test_on_suspend_term(world, server, relay):
    # Without a child: the shell would report that it was terminated as well.
    p = lock(world, relay.address, "--on-suspend", "term", "x", "--",
             "sh", "-c", "trap 'echo asked to end; exit 0' TERM; mkfifo go; exec 3<>go; echo ready; "
             "read a <&3", timeout="2s")
    p.stdout.readline()
    begin = time.monotonic()
    relay.cut()
    assert p.wait() == LOST
    assert p.stdout.read() == "asked to end\n"
    assert time.monotonic() - begin < 1  # and not only when the time runs out
    assert p.stderr.read() == ("conclave: the command was ended because the connection was lost; "
                               "the lock was held until its end\n")


def test_on_suspend_stop(world, server, relay):
    p = lock(world, relay.address, "--on-suspend", "stop", "x", "--",
             "sh", "-c", "mkfifo go; echo $$; read a <go; exit 3", timeout="2s")
    child = int(p.stdout.readline())
    relay.cut()

    def state():
        with open(f"/proc/{child}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]

    until(lambda: state() == "T", "the stop")
    relay.heal()
    until(lambda: state() != "T", "going on")
    with open(world.path("go"), "w") as f:
        f.write("\n")
    assert p.wait() == 3


def test_on_suspend_stop_past_the_timeout(world, server, relay):
    p, child = beating(world, relay.address, "--on-suspend", "stop")
    relay.cut()
    assert take_over(world, server) > last_beat(world)
    assert p.wait() == LOST


def test_hold_is_lost(world, server, relay):
    p = lock(world, relay.address, "--hold", "x")
    p.stdout.readline()
    relay.cut()
    assert p.wait() == LOST
    assert p.stderr.read() == "conclave: the lock was lost\n"


def test_hold_that_was_stopped_past_the_timeout_is_lost(world, server):
    p = lock(world, server, "--hold", "x")
    p.stdout.readline()
    p.send_signal(signal.SIGSTOP)
    take_over(world, server)
    p.send_signal(signal.SIGCONT)
    assert p.wait() == LOST


def test_the_server_goes_and_does_not_come_back(world):
    server, address = world.serve("--min-session-timeout", "200ms", "--tick", "100ms")
    p, child = beating(world, address)
    server.kill()
    assert p.wait() == LOST
    assert not alive(child)


def test_a_command_that_ended_well_after_the_loss_is_no_success(world, server):
    """Stopped together, past the timeout; the guard kills what it can."""
    p = lock(world, server, "x", "--", "sh", "-c", "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    p.send_signal(signal.SIGSTOP)
    os.kill(child, signal.SIGSTOP)
    take_over(world, server)
    until(lambda: not alive(child), "the guard's work")
    p.send_signal(signal.SIGCONT)
    assert p.wait() == LOST


def test_somebody_deletes_the_node(world, server):
    from kazoo.client import KazooClient
    p = lock(world, server, "x", "--", "sh", "-c", "echo $CONCLAVE_LOCK_NODE; exec sleep 1000")
    node = p.stdout.readline().strip()
    zk = KazooClient(server)
    zk.start()
    zk.delete(node)
    zk.stop()
    assert p.wait() == LOST


def test_the_guard_goes_with_the_command(world, server):
    p = lock(world, server, "x", "--", "sh", "-c", "echo ready; read a; exit 3", stdin=-1)
    p.stdout.readline()

    def guards():
        return [pid for pid in os.listdir("/proc") if pid.isdigit() and guards_of(pid, p.pid)]

    until(lambda: len(guards()) == 1, "the guard")  # it gives itself its name
    guard, = map(int, guards())
    assert os.getpgid(guard) == guard, "a signal to our group would reach it"
    assert os.getsid(guard) == os.getsid(p.pid), "a new session may be scheduled seconds later"
    p.communicate("\n")
    assert p.returncode == 3
    assert guards() == []


def guards_of(pid, parent):
    try:
        with open(f"/proc/{pid}/stat") as f:
            name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
        return name == "conclave-guard" and int(rest.split()[1]) == parent
    except (FileNotFoundError, ProcessLookupError):
        return False
