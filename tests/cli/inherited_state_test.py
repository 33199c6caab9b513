"""A server that a command starts does not inherit limits, signals, secrets or priority of the
command."""

import os
import signal
import subprocess

import pytest
from conftest import BINARY, TIMEOUT

# User ids that no other processes have.
STRANGER = 54321
LIMITED = 54322  # its number of processes is limited

root_only = pytest.mark.xfail(os.geteuid() != 0, reason="only root can become another user",
                              run=False)


def facts(pid, name):
    with open(f"/proc/{pid}/{name}") as f:
        return f.read()


def limits(pid):
    """{name: (soft, hard)}"""
    return {line[:25].strip(): tuple(line[26:].split()[:2])
            for line in facts(pid, "limits").splitlines()[1:]}


def test_the_server_does_not_inherit_the_environment(world):
    world.ok("lock", "x", "--", "true", env={"PASSWORD": "hunter2", "LC_ALL": "de_DE.UTF-8"})
    pid = world.local_pid()
    names = {v.split("=")[0] for v in facts(pid, "environ").split("\0") if v}
    assert "hunter2" not in facts(pid, "environ")
    assert names <= {"CONCLAVE_LOCAL", "PATH", "LD_LIBRARY_PATH"} | {
        n for n in names if n.endswith("SAN_OPTIONS")}


def address_space_limit():
    """AddressSanitizer reserves terabytes, so a program with it does not start with a limit."""
    with open(BINARY, "rb") as f:
        return "unlimited" if b"__asan_init" in f.read() else "4000000"


def test_soft_limits_of_the_caller_are_raised(world):
    script = (f"ulimit -S -t 7 && ulimit -S -f 100 && ulimit -S -n 64 &&"
              f" ulimit -S -v {address_space_limit()} && exec '{BINARY}' lock x -- true")
    r = world.run("bash", "-c", script)
    assert (r.returncode, r.stderr) == (0, "")
    for name in "Max cpu time", "Max file size", "Max open files", "Max address space":
        soft, hard = limits(world.local_pid())[name]
        assert soft == hard, name


@root_only
def test_root_also_raises_hard_limits(world):
    script = f"ulimit -t 7 && ulimit -f 100 && ulimit -v {address_space_limit()} && exec"
    r = world.run("bash", "-c", f"{script} '{BINARY}' lock x -- true")
    raising = ["--cpu=unlimited", "--fsize=unlimited", "--as=unlimited", "true"]
    if world.run("bash", "-c", f"{script} prlimit {' '.join(raising)}").returncode != 0:
        # In some containers, root is not permitted to raise hard limits.
        assert r.returncode == 69 and "ulimit -t 7" in r.stderr
        return
    assert (r.returncode, r.stderr) == (0, "")
    for name in "Max cpu time", "Max file size", "Max address space":
        assert limits(world.local_pid())[name] == ("unlimited", "unlimited")


@root_only
@pytest.mark.parametrize("limit, said", [
    (["--cpu=20:20"], "ulimit -t 20"), (["--fsize=1048576:1048576"], "ulimit -f 1024"),
    (["--nofile=50:50"], "ulimit -n 50")], ids=lambda x: x if isinstance(x, str) else "")
def test_a_limit_that_cannot_be_raised_is_named(world, limit, said):
    os.chmod(world.folder, 0o711)
    os.mkdir(world.path("other"), 0o700)
    os.chown(world.path("other"), STRANGER, STRANGER)
    program = os.open(BINARY, os.O_RDONLY)
    try:
        r = subprocess.run(
            ["prlimit", *limit, "setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}",
             "--clear-groups", f"/proc/self/fd/{program}", "lock", "x", "--", "echo", "ran"],
            env={**world.env, "CONCLAVE_LOCAL": world.path("other")}, cwd="/", pass_fds=[program],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT)
    finally:
        os.close(program)
    assert (r.returncode, r.stdout, r.stderr.count("\n")) == (69, "", 1), r
    assert said in r.stderr and "conclave serve" in r.stderr


def test_too_few_descriptors_are_a_system_failure(world):
    _, address = world.serve()
    args = ["lock", "-C", address, "--connect-timeout", "0.1", "x", "--", "echo", "ran"]
    codes = set()
    for n in [*range(10, 16), 64]:
        r = world.run("prlimit", f"--nofile={n}:{n}", BINARY, *args)
        assert (r.returncode == 0) == (r.stdout == "ran\n"), r
        assert r.returncode == 0 or r.stderr.count("\n") == 1, r
        codes.add(r.returncode)
    assert {0, 71} <= codes <= {0, 69, 71}
    assert world.ok(*args) == "ran\n"


@root_only
@pytest.mark.parametrize("limit", ["--nproc=1:1", "--nproc=2:2", "--nofile=6:6"])
def test_too_few_processes_are_a_system_failure(world, limit):
    """The limits affect a thread, the guard or the command, and the event queue."""
    _, address = world.serve()
    os.chmod(world.folder, 0o711)
    program = os.open(BINARY, os.O_RDONLY)
    try:
        r = world.run("prlimit", limit, "setpriv", f"--reuid={LIMITED}", f"--regid={LIMITED}",
                      "--clear-groups", f"/proc/self/fd/{program}", "lock", "-C", address, "x", "--",
                      "echo", "ran", pass_fds=[program],
                      # LeakSanitizer starts another process.
                      env={"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"})
    finally:
        os.close(program)
    assert (r.returncode, r.stdout, r.stderr.count("\n")) == (71, "", 1), r


@root_only
def test_the_server_has_the_default_priority(world):
    r = world.run("nice", "-n", "10", BINARY, "lock", "x", "--", "true")
    assert (r.returncode, r.stderr) == (0, "")
    assert os.getpriority(os.PRIO_PROCESS, world.local_pid()) == 0


def test_the_server_does_not_inherit_ignored_signals_and_the_umask(world):
    script = f"trap '' INT TERM QUIT USR2; umask 0; exec '{BINARY}' lock x -- true"
    r = world.run("sh", "-c", script)
    assert (r.returncode, r.stderr) == (0, "")
    status = dict(line.split(":\t", 1) for line in facts(world.local_pid(), "status").splitlines()
                  if ":\t" in line)
    signals = (1 << 31) - 1  # the C library uses the next two signals
    # The server itself ignores these two signals, and no other signal.
    assert int(status["SigIgn"], 16) & signals == sum(
        1 << (s - 1) for s in (signal.SIGPIPE, signal.SIGXFSZ))
    assert status["Umask"] == "0077"
