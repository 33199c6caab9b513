"""A server under a service manager. It uses a listening socket that the manager has opened
(sd_listen_fds), and reports its state (sd_notify)."""

import os
import select
import signal
import socket
import struct

import pytest
from conftest import BINARY, TIMEOUT


def peer_process(path):
    """The process that a new client of the socket sees as its server."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        pid, _, _ = struct.unpack("iii", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return pid


class Manager:
    """Opens a listening socket and starts servers that inherit it, as systemd does."""

    def __init__(self, world, family=socket.AF_UNIX):
        self.world = world
        self.path = world.path("socket")
        self.listening = socket.socket(family)
        self.listening.bind(self.path if family == socket.AF_UNIX else ("127.0.0.1", 0))
        self.listening.listen(16)
        self.to = ["-C", "unix:" + self.path]

    def start(self, *args, env=None, inherited=None):
        fd = (inherited or self.listening).fileno()

        def pass_on():
            os.dup2(fd, 3)
            os.set_inheritable(3, True)

        return self.world.start(
            "sh", "-c", 'export LISTEN_PID=$$; exec "$@"', "sh", BINARY, "serve", "--data", "data",
            *args, env={"LISTEN_FDS": "1", **(env or {})}, preexec_fn=pass_on, close_fds=False)

    def serve(self, *args, **rest):
        server = self.start("--socket", self.path, *args, **rest)
        line = server.stdout.readline()
        assert line == f"conclave ready: unix:{self.path}\n", line + server.stderr.read()
        return server

    def await_client(self):
        """Waits until a client is in the backlog."""
        assert select.select([self.listening], [], [], TIMEOUT)[0]


@pytest.fixture
def manager(world):
    m = Manager(world)
    yield m
    m.listening.close()


def expect_released_at_once(world, manager):
    """If the session were not bound to its process, it would end after 40 s."""
    world.ok("lock", "-w", "20", *manager.to, "x", "--", "true")


def test_sessions_are_bound_to_processes(world, manager):
    # The kernel shows a client the process that called listen(), which is not the server yet.
    assert peer_process(manager.path) == os.getpid()
    server = manager.serve()
    assert peer_process(manager.path) == server.pid
    holder, _ = world.hold("x", *manager.to, "--session-timeout", "40s")
    holder.kill()
    expect_released_at_once(world, manager)


def test_a_client_that_waited_for_the_server_has_a_bound_session(world, manager):
    holder = world.start_conclave("lock", "--hold", *manager.to, "--session-timeout", "40s", "x")
    manager.await_client()
    manager.serve()
    assert holder.stdout.readline() != ""
    holder.kill()
    expect_released_at_once(world, manager)


def test_a_four_letter_word_that_waited_for_the_server_is_answered(manager):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(TIMEOUT)
        s.connect(manager.path)
        s.send(b"ruok")
        manager.serve()
        assert s.recv(4) == b"imok"


@pytest.mark.parametrize("s", [signal.SIGKILL, signal.SIGTERM], ids=lambda s: s.name)
def test_a_lock_is_held_during_a_restart(world, manager, s):
    server = manager.serve()
    holder, _ = world.hold("x", *manager.to)
    server.send_signal(s)
    server.wait()
    # While no server runs, the socket accepts connections, but nobody answers.
    r = world.conclave("lock", *manager.to, "--connect-timeout", "0.3s", "x", "--", "echo", "ran")
    assert (r.returncode, r.stdout) == (69, ""), r
    assert world.local_pid() is None
    waiter = world.start_conclave("lock", *manager.to, "x", "--", "echo", "ran")
    manager.serve()
    r = world.conclave("lock", "-n", *manager.to, "x", "--", "echo", "ran")
    assert (r.returncode, r.stdout) == (1, ""), r
    holder.terminate()
    assert holder.wait() == 0
    assert waiter.communicate(timeout=TIMEOUT)[0] == "ran\n"


def test_a_tcp_socket(world):
    m = Manager(world, socket.AF_INET)
    port = m.listening.getsockname()[1]
    server = m.start("--no-socket")
    assert server.stdout.readline() == f"conclave ready: 127.0.0.1:{port}\n", server.stderr.read()
    world.ok("lock", "-C", f"127.0.0.1:{port}", "x", "--", "true")
    server.terminate()
    assert server.wait() == 0
    # The socket still listens, for the next server.
    with socket.create_connection(("127.0.0.1", port)):
        m.await_client()
    m.listening.close()


def test_sockets_for_another_process_are_ignored(world):
    path = world.path("own")
    server = world.start_conclave("serve", "--data", "data", "--socket", path,
                                  env={"LISTEN_PID": "1", "LISTEN_FDS": "1"})
    assert server.stdout.readline() == f"conclave ready: unix:{path}\n", server.stderr.read()


def test_a_descriptor_that_does_not_listen_is_refused(world, manager):
    with open("/dev/null") as null, socket.socket(socket.AF_UNIX) as unbound:
        for inherited in null, unbound:
            server = manager.start(inherited=inherited)
            out, err = server.communicate(timeout=TIMEOUT)
            assert (server.returncode, out, err.count("\n")) == (64, "", 1), err
            assert "descriptor 3" in err


@pytest.mark.parametrize("abstract", [False, True], ids=["file", "abstract"])
def test_the_manager_is_notified(world, manager, abstract):
    name = world.path("notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.settimeout(TIMEOUT)
        notified.bind("\0" + name if abstract else name)
        server = manager.serve(env={"NOTIFY_SOCKET": ("@" if abstract else "") + name})
        assert notified.recv(100) == b"READY=1"
        server.terminate()
        assert notified.recv(100) == b"STOPPING=1"
        assert server.wait() == 0


def test_a_manager_that_cannot_be_notified_is_reported(world, manager):
    server = manager.serve(env={"NOTIFY_SOCKET": world.path("nobody")})
    assert "cannot notify the service manager" in server.stderr.readline()
    server.terminate()
    assert server.wait() == 0
