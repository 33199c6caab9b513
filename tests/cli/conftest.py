"""Drives the real program, with a server of its own for every test.

CONCLAVE_BINARY names the program. Nothing here waits for a fixed time: `until` looks again until
something is so, and fails loudly when it never is.
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
PATIENCE = 60  # seconds until something that should happen counts as missing


def until(condition, what="it"):
    """The first true value of condition()."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"{what} did not come true in {PATIENCE} s")


def state_of(pid):
    """As in /proc/PID/stat: R, S, T, Z and so on; empty if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(pid):
    return state_of(pid) not in ("", "Z")


def stop(process):
    """Returns when it is stopped: a signal arrives later than it is sent."""
    process.send_signal(signal.SIGSTOP)
    until(lambda: state_of(process.pid) == "T", "the stop of a process")


def ended_by(s):
    """Of Ctrl-C a program dies, for the sake of the shell; other signals are in its exit code."""
    return -s if s == signal.SIGINT else 128 + s


class Terminal:
    """A program on a terminal of its own, as the leader of a session."""

    def __init__(self, argv, env, cwd):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(argv[0], argv, env)
        self.text = ""
        self.status = None

    def read(self):
        """Adds what was written to the terminal; False once it is closed."""
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
        """The exit code, or minus the signal."""

        def ended():
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self.status = os.waitstatus_to_exitcode(status)
            return pid != 0

        if self.status is None:
            until(ended, "the end of the program")
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


class World:
    """A folder, and everything that was started for the test in it."""

    def __init__(self):
        # Short: a socket's path has 107 bytes at most.
        self.folder = tempfile.mkdtemp(prefix="cli")
        self.local = os.path.join(self.folder, "local")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("CONCLAVE_")}
        self.env["CONCLAVE_LOCAL"] = self.local
        # No settings of the machine's.
        self.env["CONCLAVE_CONFIG"] = "/dev/null"
        self._started = []
        self._terminals = []

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def read(self, *parts):
        with open(self.path(*parts)) as f:
            return f.read()

    def secret(self, text, name="auth"):
        """A file that only its owner can read: its path."""
        fd = os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fd, "w") as f:
            f.write(text)
        return self.path(name)

    def lines(self, *parts):
        """Of a file that may be there already."""
        try:
            return self.read(*parts).splitlines()
        except FileNotFoundError:
            return []

    def _with(self, env):
        return {k: v for k, v in {**self.env, **(env or {})}.items() if v is not None}

    def run(self, *argv, input=None, env=None, **rest):
        """Runs a program to its end: .returncode, .stdout, .stderr. env: None takes one away."""
        if input is None:
            rest.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            argv, input=input, env=self._with(env), cwd=self.folder, timeout=PATIENCE,
            capture_output=True, text=True, **rest)

    def conclave(self, *args, **rest):
        return self.run(BINARY, *args, **rest)

    def ok(self, *args, **rest):
        """Its output; it must succeed, without a word on stderr."""
        r = self.conclave(*args, **rest)
        assert (r.returncode, r.stderr) == (0, ""), (args, r)
        return r.stdout

    def refused(self, *args, code=64, **rest):
        """The one line on stderr of a command that ends with that code."""
        r = self.conclave(*args, **rest)
        assert (r.returncode, r.stdout) == (code, ""), r
        assert r.stderr.startswith("conclave: ") and r.stderr.count("\n") == 1, r
        return r.stderr

    def redirected(self, to, *args):
        """With stdout redirected by the shell: to a file, or "&-" to close it."""
        return self.run("sh", "-c", f'exec "$@" >{to}', "sh", BINARY, *args)

    def json(self, *args, **rest):
        return json.loads(self.ok(*args, **rest))

    def start(self, *argv, env=None, **rest):
        """A program that goes on: a Popen with pipes for its output, ended with the test."""
        rest.setdefault("stdin", subprocess.DEVNULL)
        rest.setdefault("stdout", subprocess.PIPE)
        rest.setdefault("stderr", subprocess.PIPE)
        p = subprocess.Popen(argv, env=self._with(env), cwd=self.folder, text=True, **rest)
        self._started.append(p)
        return p

    def start_conclave(self, *args, **rest):
        return self.start(BINARY, *args, **rest)

    def hold(self, *args, **rest):
        """`conclave lock --hold ...` that holds when this returns: (process, its line of JSON)."""
        p = self.start_conclave("lock", "--hold", *args, **rest)
        return p, json.loads(p.stdout.readline())

    def terminal(self, *argv, env=None):
        t = Terminal(argv, {"TERM": "xterm", **self._with(env)}, self.folder)
        self._terminals.append(t)
        return t

    def serve(self, *args):
        """A server of its own, in memory, on TCP, on a Unix socket only if asked for: (process,
        address)."""
        p = self.start_conclave("serve", "--durability", "none", "--listen", "127.0.0.1:0", *args)
        line = p.stdout.readline()
        assert line.startswith("conclave ready: "), line + p.stderr.read()
        return p, line.split()[2]

    def local_pid(self):
        """The process of this test's local server; None if it does not run."""
        r = self.conclave("local", "status", "--json")
        return json.loads(r.stdout).get("pid")

    def _left(self):
        """Every process of this test, by what stands in its environment."""
        mark = f"CONCLAVE_LOCAL={self.local}".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if mark in f.read().split(b"\0"):
                        yield int(pid)
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                pass

    def close(self):
        for t in self._terminals:
            t.close()
        for p in self._started:
            if p.poll() is None:
                p.kill()
        # The server too, and what a command had started and a kill has left: it has our pipes.
        while left := list(self._left()):
            for pid in left:
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
    """A client of another library, on a server of its own at .address."""
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
    """A server on TCP that every command uses, and a client of another library."""
    world.env["CONCLAVE_CONNECT"] = peer.address
    return world, peer
