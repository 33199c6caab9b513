"""Over TCP, each reply extends the deadline of a session. A lock is kept as long as its session has
time left, whether `conclave` is stopped for a while or blocked by its output."""

import contextlib
import os
import re
import signal
import time

import pytest
from conftest import alive, fill, full_pipe, state_of, until
from relay import Relay

# In seconds. Only a pause of the machine for half this time makes a test fail.
SESSION_TIMEOUT = 9
# Ends with 3 when the file `go` exists.
COMMAND = ["sh", "-c", "echo $$; until [ -e go ]; do sleep 0.01; done; exit 3"]


@pytest.fixture
def relay(world):
    _, address = world.serve()
    r = Relay(address)
    yield r
    r.close()


def lock(world, relay, *flags, **rest):
    """Starts `conclave lock`. Returns its process, the process of the command, and a time after
    the grant."""
    p = world.start_conclave("lock", "-C", relay.address, "--session-timeout", f"{SESSION_TIMEOUT}s",
                             *flags, "x", "--", *COMMAND, **rest)
    return p, int(p.stdout.readline()), time.monotonic()


def wait_for_second_ping(relay, begin):
    """The first ping is sent after a third of the session timeout."""
    until(lambda: relay.last_reply > begin + 0.5 * SESSION_TIMEOUT, "the reply to the second ping")


def wait_for_deadline_of_grant(begin):
    until(lambda: time.monotonic() > begin + 0.95 * SESSION_TIMEOUT, "the deadline of the grant")


def go(world):
    open(world.path("go"), "w").close()


@pytest.mark.parametrize("how, grace", [
    (signal.SIGSTOP, "1s"), (signal.SIGSTOP, "0"), (signal.SIGTSTP, "0")],
    ids=lambda x: getattr(x, "name", x))
def test_a_pause_that_ends_before_the_deadline_has_no_effect(world, relay, how, grace):
    """At the end of the pause, a second ping has extended the deadline by half a timeout."""
    p, child, begin = lock(world, relay, "--kill-after", grace)
    wait_for_second_ping(relay, begin)
    p.send_signal(how)
    until(lambda: state_of(p.pid) == "T", "the stopped process")
    wait_for_deadline_of_grant(begin)
    assert alive(child)
    p.send_signal(signal.SIGCONT)
    go(world)
    assert (p.wait(), p.stderr.read()) == (3, "")


def test_with_several_unix_sockets_the_guard_has_a_deadline(world):
    """The open connection keeps the session. But while `conclave` is stopped, it does not notice
    that the server is restarted."""
    socket = world.path("socket")
    serve = ["serve", "--data", world.path("data"), "--socket", socket, "--tick", "100ms",
             "--min-session-timeout", "200ms"]

    def start_server():
        server = world.start_conclave(*serve)
        assert server.stdout.readline().startswith("conclave ready: ")
        return server

    server = start_server()
    heartbeat = "echo $$; while :; do date +%s.%N >>heartbeats; sleep 0.01; done"
    p = world.start_conclave("lock", "-C", f"unix:{world.path('missing')},unix:{socket}",
                             "--session-timeout", "1s", "x", "--", "sh", "-c", heartbeat)
    child = int(p.stdout.readline())
    p.send_signal(signal.SIGSTOP)
    until(lambda: state_of(p.pid) == "T", "the stopped process")
    server.kill()
    server.wait()
    start_server()
    granted = world.ok("lock", "-C", "unix:" + socket, "x", "--", "date", "+%s.%N")
    until(lambda: not alive(child), "the end of the command")
    assert float((world.lines("heartbeats") or ["0"])[-1]) < float(granted)
    p.send_signal(signal.SIGCONT)
    assert p.wait() == 75


def test_a_worker_that_blocks_on_stderr_keeps_its_claims(world, relay):
    for item in "ab":
        world.ok("queue", "push", "-C", relay.address, "q", item)
    reading, writing = full_pipe()
    # The command of b fails, and the worker blocks when it reports that.
    p = world.start_conclave(
        "queue", "work", "-n", "2", "-j", "2", "-C", relay.address, "--session-timeout",
        f"{SESSION_TIMEOUT}s", "q", "-c",
        "read -r x; [ $x = a ] || exit 1; echo $$; until [ -e go ]; do sleep 0.01; done",
        stderr=writing)
    os.close(writing)
    child = int(p.stdout.readline())
    begin = time.monotonic()
    until(lambda: is_blocked(p.pid), "the worker to block")
    wait_for_second_ping(relay, begin)
    wait_for_deadline_of_grant(begin)
    assert alive(child)
    go(world)
    with os.fdopen(reading) as f:
        said = f.read()
    assert p.wait() == 1
    assert "lost" not in said and "deadline" not in said, said.replace("x", "")
    assert [i["data"] for i in world.json("queue", "ls", "--json", "-C", relay.address, "q")] == ["b"]


def is_blocked(pid):
    """Returns whether the first thread of the process is in write() to stderr."""
    with open(f"/proc/{pid}/syscall") as f:
        return f.read().split()[:2] == ["1", "0x2"]


@contextlib.contextmanager
def blocked_stderr(world, relay, *flags):
    """`conclave lock -v` whose stderr is a full pipe."""
    reading, writing = os.pipe()
    p, child, _ = lock(world, relay, "-v", *flags, stderr=writing)
    fill(writing)
    os.close(writing)
    with os.fdopen(reading) as f:
        yield p, f


def interrupt(relay, p):
    """Closes the connection and waits until the client has reconnected."""
    relay.disconnect()
    begin = time.monotonic()
    relay.restore()
    until(lambda: relay.last_reply > begin or p.poll() is not None, "the reconnect")
    assert p.poll() is None


def test_a_blocked_stderr_does_not_delay_a_reconnect(world, relay):
    with blocked_stderr(world, relay) as (p, stderr):
        interrupt(relay, p)
        go(world)
        said = stderr.read()
    assert p.wait() == 3
    suspended, reconnected = said.find(" suspended"), said.find(" reconnected")
    assert 0 < suspended < reconnected, said.replace("x", "")


def test_a_blocked_stderr_does_not_use_up_memory(world, relay):
    with blocked_stderr(world, relay) as (p, stderr):
        for _ in range(60):  # with several messages each
            interrupt(relay, p)
        go(world)
        said = stderr.read()
    assert p.wait() == 3
    assert re.search(r"\nconclave: \d+ further messages were dropped, because stderr was blocked\n",
                     said), said.replace("x", "")


def test_a_blocked_stderr_does_not_delay_the_exit_code_for_long(world, relay):
    """Nobody reads stderr, so the messages are not written."""
    with blocked_stderr(world, relay) as (p, _):
        interrupt(relay, p)
        go(world)
        assert p.wait() == 3
