"""Runs the real program. Each test has its own folder and servers.

CONCLAVE_BINARY is the path of the program. Tests do not sleep for a fixed time. They use `until`,
which polls a condition and fails at a timeout.
"""

import contextlib
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

BINARY = os.environ["CONCLAVE_BINARY"]
TIMEOUT = 60  # seconds, for each wait


def until(condition, what="the condition"):
    """Polls condition() and returns its first true value."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"timeout after {TIMEOUT} s while waiting for: {what}")


def state_of(pid):
    """The state in /proc/PID/stat, for example R, S, T or Z. Empty if the process does not
    exist."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(pid):
    return state_of(pid) not in ("", "Z")


def stop(process):
    """Sends SIGSTOP and waits until the process is stopped, because signals are delivered later."""
    process.send_signal(signal.SIGSTOP)
    until(lambda: state_of(process.pid) == "T", "the stopped process")


def full_pipe():
    """Returns both ends of a full pipe, in which write() blocks."""
    reading, writing = os.pipe()
    fill(writing)
    return reading, writing


def fill(pipe):
    """Writes to a pipe until it is full, so that write() blocks. It has room again for a write of
    any length only when a page of it was read."""
    os.set_blocking(pipe, False)
    for part in b"x" * 4096, b"x":
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(pipe, part)
    os.set_blocking(pipe, True)


def ended_by(s):
    """The expected return code after signal s.

    After SIGINT, the program terminates itself with SIGINT, so that a shell stops its script. After
    other signals, it exits with 128 + s.
    """
    return -s if s == signal.SIGINT else 128 + s


class Terminal:
    """A program on its own terminal, as the leader of a session."""

    def __init__(self, argv, env, cwd):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(argv[0], argv, env)
        self.text = ""
        self.status = None

    def read(self):
        """Appends new output of the terminal to .text. Returns False if the terminal is closed."""
        ready, _, _ = select.select([self.fd], [], [], 0)
        if not ready:
            return True
        try:
            self.text += os.read(self.fd, 4096).decode(errors="replace")
            return True
        except OSError:
            return False

    def expect(self, part):
        def found():
            self.read()
            return part in self.text

        try:
            until(found, repr(part))
        except AssertionError as e:
            raise AssertionError(f"{e}; the terminal shows:\n{self.text}") from None

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self):
        """Returns the exit code, or the negative number of the signal."""

        def ended():
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self.status = os.waitstatus_to_exitcode(status)
            return pid != 0

        if self.status is None:
            until(ended, "the exit of the program")
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


class World:
    """The folder of a test, and all processes that the test starts."""

    def __init__(self):
        # A short path, because the path of a socket has at most 107 bytes.
        self.folder = tempfile.mkdtemp(prefix="cli")
        self.local = os.path.join(self.folder, "local")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("CONCLAVE_")}
        self.env["CONCLAVE_LOCAL"] = self.local
        # Ignores the settings files of this machine.
        self.env["CONCLAVE_CONFIG"] = "/dev/null"
        self._started = []
        self._terminals = []

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def read(self, *parts):
        with open(self.path(*parts)) as f:
            return f.read()

    def secret(self, text, name="auth"):
        """Writes a file that only its owner can read, and returns its path."""
        fd = os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fd, "w") as f:
            f.write(text)
        return self.path(name)

    def lines(self, *parts):
        """The lines of a file, or an empty list if the file does not exist."""
        try:
            return self.read(*parts).splitlines()
        except FileNotFoundError:
            return []

    def _with(self, env):
        return {k: v for k, v in {**self.env, **(env or {})}.items() if v is not None}

    def run(self, *argv, input=None, env=None, **rest):
        """Runs a program and returns its CompletedProcess. The value None in env removes a
        variable."""
        if input is None:
            rest.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            argv, input=input, env=self._with(env), cwd=self.folder, timeout=TIMEOUT,
            capture_output=True, text=True, **rest)

    def conclave(self, *args, **rest):
        return self.run(BINARY, *args, **rest)

    def ok(self, *args, **rest):
        """Runs a command that must succeed with empty stderr, and returns its stdout."""
        r = self.conclave(*args, **rest)
        assert (r.returncode, r.stderr) == (0, ""), (args, r)
        return r.stdout

    def refused(self, *args, code=64, **rest):
        """Runs a command that must exit with `code`, and returns its only line on stderr."""
        r = self.conclave(*args, **rest)
        assert (r.returncode, r.stdout) == (code, ""), r
        assert r.stderr.startswith("conclave: ") and r.stderr.count("\n") == 1, r
        return r.stderr

    def redirected(self, to, *args):
        """Runs a command with stdout redirected by the shell to a file, or closed with "&-"."""
        return self.run("sh", "-c", f'exec "$@" >{to}', "sh", BINARY, *args)

    def json(self, *args, **rest):
        return json.loads(self.ok(*args, **rest))

    def start(self, *argv, env=None, **rest):
        """Starts a program and returns its Popen, with pipes for its output. Killed after the
        test."""
        rest.setdefault("stdin", subprocess.DEVNULL)
        rest.setdefault("stdout", subprocess.PIPE)
        rest.setdefault("stderr", subprocess.PIPE)
        p = subprocess.Popen(argv, env=self._with(env), cwd=self.folder, text=True, **rest)
        self._started.append(p)
        return p

    def start_conclave(self, *args, **rest):
        return self.start(BINARY, *args, **rest)

    def hold(self, *args, **rest):
        """Starts `conclave lock --hold`, waits for the grant, and returns the process and its JSON
        line."""
        p = self.start_conclave("lock", "--hold", *args, **rest)
        return p, json.loads(p.stdout.readline())

    def terminal(self, *argv, env=None):
        t = Terminal(argv, {"TERM": "xterm", **self._with(env)}, self.folder)
        self._terminals.append(t)
        return t

    def serve(self, *args):
        """Starts a server in memory that listens on TCP, and on a Unix socket only if requested.
        Returns the process and the address."""
        p = self.start_conclave("serve", "--durability", "none", "--listen", "127.0.0.1:0", *args)
        line = p.stdout.readline()
        assert line.startswith("conclave ready: "), line + p.stderr.read()
        return p, line.split()[2]

    def local_pid(self):
        """The process id of this user's own server in this test, or None if it does not run."""
        r = self.conclave("local", "status", "--json")
        return json.loads(r.stdout).get("pid")

    def processes(self):
        """All processes of this test, which are recognised by their environment."""
        variable = f"CONCLAVE_LOCAL={self.local}".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if variable in f.read().split(b"\0"):
                        yield int(pid)
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                pass

    def close(self):
        for t in self._terminals:
            t.close()
        for p in self._started:
            if p.poll() is None:
                p.kill()
        # Also kills servers and processes that killed commands have left. They have our pipes open.
        while processes := list(self.processes()):
            for pid in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for p in self._started:
            p.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def world():
    w = World()
    yield w
    w.close()


@pytest.fixture
def peer(world):
    """A client of another library (kazoo). Its own server is at .address."""
    from kazoo.client import KazooClient

    _, address = world.serve("--words", "*")
    zk = KazooClient(hosts=address)
    zk.address = address
    zk.start()
    yield zk
    zk.stop()
    zk.close()


@pytest.fixture
def served(world, peer):
    """The world and a client of another library. All commands use the TCP server of that client."""
    world.env["CONCLAVE_CONNECT"] = peer.address
    return world, peer
