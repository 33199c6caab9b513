"""Over TCP, the session has a timeout. The command of `conclave lock` always ends before another
client is granted the lock, and a lost lock is never reported as success."""

import os
import signal
import sys
import time

import pytest
from conftest import alive, state_of, until
from relay import Relay
from relay import __file__ as relay_program

LOST = 75
# Appends the time to a file every 10 ms while it is alive.
HEARTBEAT = "echo $$; while :; do date +%s.%N >>heartbeats; sleep 0.01; done"


@pytest.fixture
def server(world):
    """The address of a server with short session timeouts."""
    _, address = world.serve("--min-session-timeout", "200ms", "--tick", "100ms")
    return address


@pytest.fixture
def relay(server):
    r = Relay(server)
    yield r
    r.close()


def lock(world, address, *args, timeout="1s", **rest):
    return world.start_conclave("lock", "-C", address, "--session-timeout", timeout, *args, **rest)


def next_grant(world, server):
    """Acquires the lock with another command and returns the time of the grant."""
    r = world.conclave("lock", "-C", server, "--session-timeout", "1s", "x", "--", "date", "+%s.%N")
    assert r.returncode == 0, r
    return float(r.stdout)


def last_heartbeat(world):
    return float(world.read("heartbeats").split()[-1])


def start_heartbeat(world, address, *flags, script=HEARTBEAT, **rest):
    p = lock(world, address, *flags, "x", "--", "sh", "-c", script, **rest)
    child = int(p.stdout.readline())
    file = "heartbeats"
    until(lambda: os.path.exists(world.path(file)) and world.read(file).endswith("\n"),
          "the first heartbeat")
    return p, child


def test_if_conclave_is_killed_the_process_group_is_killed(world, server):
    p, child = start_heartbeat(world, server,
                               script="sh -c 'echo $$; exec sleep 1000' & " + HEARTBEAT)
    other = int(p.stdout.readline())
    p.kill()
    until(lambda: not alive(child) and not alive(other), "the end of the group")
    assert next_grant(world, server) > last_heartbeat(world)


def test_conclave_is_stopped_until_the_session_expires(world, server):
    p, child = start_heartbeat(world, server)
    p.send_signal(signal.SIGSTOP)
    assert next_grant(world, server) > last_heartbeat(world)
    until(lambda: not alive(child), "the end of the command")
    p.send_signal(signal.SIGCONT)
    assert p.wait() == LOST
    assert p.stderr.read() == "conclave: the lock was lost while the command ran\n"


@pytest.mark.parametrize("killed", ["relay", "command"])
def test_with_a_relay_the_timeout_also_applies_to_a_unix_socket(world, killed):
    _, tcp = world.serve("--socket", world.path("socket"),
                         "--min-session-timeout", "200ms", "--tick", "100ms")
    # As with ssh -L, the server sees the remote relay process, and the client does not notice its
    # end.
    remote = world.start(sys.executable, relay_program, "unix:" + world.path("socket"),
                         world.path("remote"))
    assert remote.stdout.readline() == "ready\n"
    local = Relay("unix:" + world.path("remote"), at=world.path("local-relay"))
    local.keep_half_open()
    p, child = start_heartbeat(world, local.address, "--kill-after", "200ms")
    (remote if killed == "relay" else p).kill()
    granted = next_grant(world, tcp)
    assert p.wait() == (LOST if killed == "relay" else -signal.SIGKILL)
    until(lambda: not alive(child), "the end of the command")
    assert granted > last_heartbeat(world)
    local.close()


@pytest.mark.parametrize("fault", ["silence", "disconnect"])
def test_the_connection_is_lost(world, server, relay, fault):
    # The shell needs time to run its trap, more than usual on a busy machine.
    p, child = start_heartbeat(world, relay.address, "--kill-after", "600ms",
                               script="trap 'echo asked to end; exit 0' TERM; " + HEARTBEAT)
    getattr(relay, fault)()
    granted = next_grant(world, server)
    assert granted > last_heartbeat(world)
    assert p.wait() == LOST
    assert p.stdout.read() == "asked to end\n"


@pytest.mark.parametrize("fault", ["silence", "disconnect"])
def test_a_command_that_ignores_sigterm_is_killed_in_time(world, server, relay, fault):
    p, child = start_heartbeat(world, relay.address, "--kill-after", "200ms",
                               script="trap '' TERM; " + HEARTBEAT)
    getattr(relay, fault)()
    assert next_grant(world, server) > last_heartbeat(world)
    assert p.wait() == LOST


def test_the_lock_is_kept_after_a_short_disconnect(world, server, relay):
    p = lock(world, relay.address, "x", "--", "sh", "-c",
             "echo ready; while [ ! -e go ]; do sleep 0.01; done; exit 3", timeout="2s")
    p.stdout.readline()
    relay.disconnect()
    relay.restore()
    # The command still holds its lock.
    assert world.conclave("lock", "-C", server, "-n", "x", "--", "true").returncode == 1
    open(world.path("go"), "w").close()
    assert p.wait() == 3


def test_on_suspend_term(world, server, relay):
    # The shell has no child process. Otherwise it would report that the child was terminated.
    p = lock(world, relay.address, "--on-suspend", "term", "x", "--",
             "sh", "-c", "trap 'echo asked to end; exit 0' TERM; mkfifo go; exec 3<>go; echo ready; "
             "read a <&3", timeout="2s")
    p.stdout.readline()
    begin = time.monotonic()
    relay.disconnect()
    assert p.wait() == LOST
    assert p.stdout.read() == "asked to end\n"
    assert time.monotonic() - begin < 1  # and not only at the deadline
    assert p.stderr.read() == ("conclave: the command was ended because the connection was lost; "
                               "the lock was held until its end\n")


def test_on_suspend_stop(world, server, relay):
    p = lock(world, relay.address, "--on-suspend", "stop", "x", "--",
             "sh", "-c", "mkfifo go; echo $$; read a <go; exit 3", timeout="2s")
    child = int(p.stdout.readline())
    relay.disconnect()

    def state():
        with open(f"/proc/{child}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]

    until(lambda: state() == "T", "the stopped command")
    relay.restore()
    until(lambda: state() != "T", "the command to continue")
    with open(world.path("go"), "w") as f:
        f.write("\n")
    assert p.wait() == 3


def test_on_suspend_stop_until_the_session_expires(world, server, relay):
    p, child = start_heartbeat(world, relay.address, "--on-suspend", "stop")
    relay.disconnect()
    assert next_grant(world, server) > last_heartbeat(world)
    assert p.wait() == LOST


def test_hold_is_lost(world, server, relay):
    p = lock(world, relay.address, "--hold", "x")
    p.stdout.readline()
    relay.disconnect()
    assert p.wait() == LOST
    assert p.stderr.read() == "conclave: the lock was lost\n"


def test_hold_that_is_stopped_until_the_session_expires_is_lost(world, server):
    p = lock(world, server, "--hold", "x")
    p.stdout.readline()
    p.send_signal(signal.SIGSTOP)
    next_grant(world, server)
    p.send_signal(signal.SIGCONT)
    assert p.wait() == LOST


def test_the_server_is_killed_and_not_restarted(world):
    server, address = world.serve("--min-session-timeout", "200ms", "--tick", "100ms")
    p, child = start_heartbeat(world, address)
    server.kill()
    assert p.wait() == LOST
    assert not alive(child)


def test_a_lost_lock_is_not_a_success_if_command_and_conclave_were_stopped(world, server):
    """Both are stopped until the session expires. The guard kills the command."""
    p = lock(world, server, "x", "--", "sh", "-c", "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    p.send_signal(signal.SIGSTOP)
    os.kill(child, signal.SIGSTOP)
    next_grant(world, server)
    until(lambda: not alive(child), "the guard to kill the command")
    p.send_signal(signal.SIGCONT)
    assert p.wait() == LOST


def test_another_client_deletes_the_node(world, server):
    from kazoo.client import KazooClient
    p = lock(world, server, "x", "--", "sh", "-c", "echo $CONCLAVE_LOCK_NODE; exec sleep 1000")
    node = p.stdout.readline().strip()
    zk = KazooClient(server)
    zk.start()
    zk.delete(node)
    zk.stop()
    assert p.wait() == LOST


def test_the_guard_exits_with_the_command(world, server):
    p = lock(world, server, "x", "--", "sh", "-c", "echo ready; read a; exit 3", stdin=-1)
    p.stdout.readline()

    def guards():
        return [pid for pid in os.listdir("/proc") if pid.isdigit() and is_guard(pid, p.pid)]

    until(lambda: len(guards()) == 1, "the guard")  # it sets its name after its start
    guard, = map(int, guards())
    # Signals to our process group must not reach the guard.
    assert os.getpgid(guard) == guard
    # The guard stays in our session, because the kernel may schedule a new session seconds later.
    assert os.getsid(guard) == os.getsid(p.pid)
    p.communicate("\n")
    assert p.returncode == 3
    assert guards() == []


def is_guard(pid, parent):
    try:
        with open(f"/proc/{pid}/stat") as f:
            name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
        return name == "conclave-guard" and int(rest.split()[1]) == parent
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_the_command_is_stopped_before_it_is_ended(world):
    """With a short session timeout, SIGTERM follows soon after the suspension."""
    _, address = world.serve("--max-session-timeout", "8s")
    relay = Relay(address)
    p, child = start_heartbeat(world, relay.address, "--on-suspend", "stop",
                               script="trap 'echo asked to end; exit 0' TERM; " + HEARTBEAT,
                               timeout="8s")
    relay.silence()
    seen = [state_of(child)]
    until(lambda: seen.append(state_of(child)) or seen[-1] in ("T", "Z", ""), "the stopped command")
    assert seen[-1] == "T"
    assert p.wait() == LOST
    relay.close()
    assert p.stdout.read() == "asked to end\n"
