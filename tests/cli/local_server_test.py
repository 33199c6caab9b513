"""This user's own server: how commands find and start it, and the messages if they cannot."""

import json
import os
import pwd
import signal
import socket
import subprocess
import time

import pytest
from conftest import BINARY, TIMEOUT, alive, until


def servers(world):
    """The ids of the server processes with this test's folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if words[1:4] == [b"serve", b"--data", world.local.encode()] and alive(pid):
            found.append(int(pid))
    return found


def no_server_message(world, *args, **rest):
    """Runs a command that must exit with 69, and returns its only line on stderr."""
    r = world.conclave(*(args or ["lock", "x", "--", "echo", "ran"]), **rest)
    assert (r.returncode, r.stdout) == (69, ""), r
    assert r.stderr.startswith("conclave: ") and r.stderr.count("\n") == 1, r
    return r.stderr


def test_fifty_concurrent_commands_start_one_server(world):
    line = 'echo "$CONCLAVE_FENCING_TOKEN" >>tokens'
    commands = [world.start_conclave("lock", "x", "-c", line) for _ in range(50)]
    for p in commands:
        assert p.communicate() == ("", "")
        assert p.returncode == 0
    assert servers(world) == [world.local_pid()]
    # All were granted the lock in turn, by one server.
    tokens = [int(t) for t in world.read("tokens").split()]
    assert len(tokens) == 50 and tokens == sorted(set(tokens))


def test_the_server_does_not_keep_the_output_of_the_command_open(world):
    script = f'a=$("{BINARY}" lock x -- echo inner 2>&1); echo "got $a"'
    assert world.run("sh", "-c", script).stdout == "got inner\n"
    assert alive(world.local_pid())


def test_the_server_does_not_inherit_descriptors_and_working_folder(world):
    reading, writing = os.pipe()
    with open(world.path("inherited"), "w") as inherited:
        world.ok("lock", "x", "--", "true", pass_fds=[writing, inherited.fileno()])
    os.close(writing)
    assert os.read(reading, 1) == b""  # no process has the write end open
    os.close(reading)
    pid = world.local_pid()
    files = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    assert world.path("inherited") not in files
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    # It has its own session, so signals of the terminal do not reach it.
    assert os.getsid(pid) != os.getsid(0)


def test_only_this_user_may_use_it(world):
    world.ok("lock", "x", "--", "true")
    assert os.stat(world.local).st_mode & 0o777 == 0o700
    for name in "conclave.db", "socket", "log":
        assert os.stat(world.path("local", name)).st_mode & 0o077 == 0, name


def test_an_empty_environment(world):
    """As with cron. Only the variables for this test's server are set."""
    r = subprocess.run([BINARY, "lock", "x", "--", "/bin/sh", "-c", "echo $CONCLAVE_LOCK_PATH"],
                       env={"CONCLAVE_LOCAL": world.local, "CONCLAVE_CONFIG": "/dev/null"},
                       cwd="/", capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (r.returncode, r.stdout, r.stderr) == (0, "/conclave/x\n", "")
    assert servers(world) == [world.local_pid()]


@pytest.mark.parametrize("home", [None, "", "/nonexistent", "elsewhere"])
def test_the_home_folder_depends_on_the_user_id_and_not_on_the_environment(world, home):
    r = world.conclave("local", "status", "--json", env={"CONCLAVE_LOCAL": None, "HOME": home})
    assert r.returncode in (0, 1) and r.stderr == ""
    own = pwd.getpwuid(os.geteuid()).pw_dir
    assert json.loads(r.stdout)["data"] == os.path.join(own, ".local/share/conclave")


def test_status_and_stop_do_not_start_a_server(world):
    r = world.conclave("local", "status")
    assert r.returncode == 1 and world.local in r.stdout
    assert world.ok("local", "stop") == "not running\n"
    assert not os.path.exists(world.local)


def test_stop_and_start_again(world):
    first = json.loads(world.ok("lock", "x", "--", BINARY, "local", "status", "--json"))
    assert first["running"] and first["connect"] == f"unix:{world.local}/socket"
    world.ok("znode", "create", "/kept", "data")
    world.ok("local", "stop")
    assert not alive(first["pid"])
    assert world.ok("znode", "get", "/kept").strip() == "data"
    assert world.local_pid() != first["pid"]


def test_a_backup_while_it_runs(world):
    world.ok("znode", "create", "/kept", "data")
    os.mkdir(world.path("other"))
    copy = world.path("other", "conclave.db")
    backup = ["serve", "--data", world.local, "--backup", copy]
    assert world.ok(*backup) == copy + "\n"
    assert world.ok("znode", "get", "/kept", env={"CONCLAVE_LOCAL": world.path("other")}) == "data"
    for code, place, said in (1, world.local, "the backup failed"), (69, "nobody", "conclave serve"):
        r = world.conclave("serve", "--data", place, "--backup", world.path("no", "folder"))
        assert (r.returncode, r.stdout, r.stderr.count("\n")) == (code, "", 1)
        assert r.stderr.startswith("conclave: ") and said in r.stderr


def test_a_backup_starts_the_server(world):
    copy = world.path("copy.db")
    assert "conclave serve" in world.refused("serve", "--backup", copy, code=69)
    assert not os.path.exists(world.local), "there is nothing to copy"
    world.ok("znode", "create", "/kept", "data")
    world.ok("local", "stop")
    assert world.ok("serve", "--backup", copy) == copy + "\n"


def test_folders_that_cannot_be_created(world):
    with open(world.path("file"), "w"):
        pass
    for folder in world.path("file"), world.path("file", "below"), "/proc/conclave", "/proc":
        line = no_server_message(world, env={"CONCLAVE_LOCAL": folder})
        assert folder in line and "CONCLAVE_LOCAL" in line
        r = world.conclave("local", "status", "--json", env={"CONCLAVE_LOCAL": folder})
        assert (r.returncode, json.loads(r.stdout)["running"]) == (1, False)


def test_a_folder_path_that_is_too_long_for_a_socket(world):
    folder = world.path("l" * 120)
    for args in [], ["local", "status"], ["znode", "ls", "/"]:
        assert "CONCLAVE_LOCAL" in no_server_message(world, *args, env={"CONCLAVE_LOCAL": folder})
    assert not os.path.exists(folder)
    # The longest possible path.
    longest = world.path("m" * (107 - len("/socket") - len(world.path(""))))
    world.ok("lock", "x", "--", "true", env={"CONCLAVE_LOCAL": longest})
    world.ok("local", "stop", env={"CONCLAVE_LOCAL": longest})


@pytest.mark.parametrize("name", ["conclave.db", "socket", "start.lock"])
def test_a_folder_at_the_path_of_a_file(world, name):
    os.makedirs(world.path("local", name))
    assert name in no_server_message(world)
    assert servers(world) == []


def test_a_file_at_the_path_of_the_socket_is_not_overwritten(world):
    os.mkdir(world.local)
    with open(world.path("local", "socket"), "w") as f:
        f.write("mine")
    assert "remove it" in no_server_message(world)
    assert world.read("local", "socket") == "mine"


@pytest.mark.parametrize("damage", ["random", "text", "header"])
def test_a_corrupt_database_is_kept_and_named(world, damage):
    world.ok("znode", "create", "/kept", "data")
    world.ok("local", "stop")
    file = world.path("local", "conclave.db")
    with open(file, "r+b") as f:
        content = bytearray(f.read())
        if damage == "random":
            content[:] = os.urandom(len(content))
        if damage == "text":
            content[:] = b"not a database\n"
        if damage == "header":
            content[:100] = bytes(100)
        f.seek(0)
        f.truncate()
        f.write(content)
    assert file in no_server_message(world)
    with open(file, "rb") as f:
        assert f.read() == content
    assert servers(world) == []


def test_the_socket_of_a_killed_server_is_replaced(world):
    world.ok("znode", "create", "/kept", "data")
    pid = world.local_pid()
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), "the end of the server")
    assert os.path.exists(world.path("local", "socket"))
    r = world.conclave("local", "status", "--json")
    assert (r.returncode, json.loads(r.stdout)["running"]) == (1, False)
    assert world.ok("znode", "get", "/kept").strip() == "data"
    assert servers(world) == [world.local_pid()]


@pytest.fixture
def silent(world):
    """A process that listens on the socket and never answers."""
    os.mkdir(world.local)
    listening = ("import socket, sys, signal\n"
                 "s = socket.socket(socket.AF_UNIX)\n"
                 f"s.bind({world.local + '/socket'!r}); s.listen(50)\n"
                 "print('ready', flush=True); signal.pause()")
    p = world.start("/usr/bin/python3", "-c", listening)
    assert p.stdout.readline() == "ready\n"
    return p


def test_a_server_that_never_answers(world, silent):
    line = no_server_message(world, "lock", "--connect-timeout", "0.3s", "x", "--", "echo", "ran")
    assert world.path("local", "socket") in line
    assert "socket" in no_server_message(world, "znode", "ls", "--connect-timeout", "0.3s", "/")
    assert silent.poll() is None


def test_status_of_a_server_that_never_answers(world, silent):
    r = world.conclave("local", "status")
    assert r.returncode == 69 and r.stderr.count("\n") == 1


def test_status_of_a_server_that_never_answers_times_out(world, silent):
    begin = time.monotonic()
    world.conclave("local", "status")
    assert time.monotonic() - begin < TIMEOUT / 2
    assert silent.poll() is None


def test_a_server_that_disconnects_immediately(world):
    os.mkdir(world.local)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(world.path("local", "socket"))
        s.listen(50)
        p = world.start_conclave("lock", "--connect-timeout", "0.3s", "x", "--", "echo", "ran")

        def disconnect():
            s.settimeout(0.01)
            try:
                s.accept()[0].close()
            except TimeoutError:
                pass
            return p.poll() is not None

        until(disconnect, "the exit of the command")
    out, err = p.communicate()
    assert (p.returncode, out, err.count("\n")) == (69, "", 1), err


@pytest.mark.xfail(os.geteuid() != 0, reason="only root can change owners", run=False)
@pytest.mark.parametrize("whose", ["folder", "lock file", "server"])
def test_another_users_server_is_not_used(world, whose):
    """Root does not start a server in another user's folder either. The owner could not use that
    server."""
    other_user = 54321
    os.mkdir(world.local, 0o700)
    if whose == "folder":
        os.chown(world.local, other_user, other_user)
    elif whose == "lock file":
        open(world.path("local", "start.lock"), "w").close()
        os.chown(world.path("local", "start.lock"), other_user, other_user)
    else:
        os.chown(world.local, other_user, other_user)
        os.chmod(world.folder, 0o711)
        program = os.open(BINARY, os.O_RDONLY)
        p = world.start("setpriv", f"--reuid={other_user}", "--clear-groups", "--",
                        f"/proc/self/fd/{program}", "serve", "--data", world.local,
                        pass_fds=[program])
        os.close(program)
        line = p.stdout.readline()
        assert line.startswith("conclave ready: "), line + p.stderr.read()
        os.chown(world.local, 0, 0)
    before = sorted(os.listdir(world.local))
    for args in ["lock", "x", "--", "echo", "ran"], ["status"]:
        assert str(other_user) in world.refused(*args, code=69)
    assert sorted(os.listdir(world.local)) == before
    if whose == "folder":
        for verb in "status", "stop":
            assert str(other_user) in world.refused("local", verb, code=69)


def test_a_folder_that_others_can_write_to_is_refused(world):
    os.mkdir(world.local)
    os.chmod(world.local, 0o777)
    assert "chmod" in world.refused("lock", "x", "--", "true", code=69)


def test_a_folder_that_is_a_link_is_refused(world):
    os.mkdir(world.path("elsewhere"), 0o700)
    os.symlink(world.path("elsewhere"), world.local)
    assert world.local in world.refused("lock", "x", "--", "true", code=69)
    assert os.listdir(world.path("elsewhere")) == []


@pytest.mark.parametrize("exists", [True, False])
def test_a_log_that_is_a_link_is_refused(world, exists):
    target = world.path("target")
    if exists:
        with open(target, "w") as f:
            f.write("mine")
    os.mkdir(world.local, 0o700)
    os.symlink(target, world.path("local", "log"))
    assert world.path("local", "log") + " is a symbolic link" in no_server_message(world)
    assert world.read("target") == "mine" if exists else not os.path.exists(target)
    until(lambda: servers(world) == [], "the exit of the server")


@pytest.mark.xfail(os.geteuid() != 0, reason="only root can change owners", run=False)
def test_a_log_of_another_user_is_refused(world):
    log = world.path("local", "log")
    os.mkdir(world.local, 0o700)
    with open(log, "w") as f:
        f.write("x" * (2 << 20))
    os.chown(log, 54321, 54321)
    assert log + " belongs to user 54321" in no_server_message(world)
    assert os.path.getsize(log) == 2 << 20
    until(lambda: servers(world) == [], "the exit of the server")


def test_a_large_log_is_truncated(world):
    log = world.path("local", "log")
    os.mkdir(world.local, 0o700)
    for size, left in (1 << 20, 1 << 20), ((1 << 20) + 1, 0):
        with open(log, "w") as f:
            f.write("x" * size)
        world.ok("lock", "x", "--", "true")
        assert os.path.getsize(log) == left
        world.ok("local", "stop")


def test_the_log_can_be_a_device(world):
    """/dev/stdout is a link."""
    p, _ = world.serve("--verbose", "--log", "/dev/stdout")
    p.send_signal(signal.SIGHUP)
    p.send_signal(signal.SIGTERM)
    out, _ = p.communicate()
    assert p.returncode == 0 and "SIGHUP: there are no certificates" in out, out
    p, address = world.serve("--log", "/dev/null")
    world.ok("status", "-C", address)


def test_a_relative_folder_is_refused(world):
    said = world.refused("lock", "x", "--", "true", env={"CONCLAVE_LOCAL": "local"})
    assert "CONCLAVE_LOCAL" in said and not os.path.exists(world.local)


@pytest.mark.parametrize("limit", [5, 7, 9, 12])
def test_too_few_descriptors_are_not_reported_as_a_missing_server(world, limit):
    command = ["sh", "-c", f'ulimit -n {limit}; exec "$0" lock x -- true', BINARY]
    r = world.run(*command)
    assert r.returncode == 71 or "limit is too low for a server" in r.stderr, r
    world.ok("znode", "ls", "/")  # starts the server
    r = world.run(*command)
    assert r.returncode in (0, 71), r


def test_every_limit_on_descriptors_is_high_enough_or_reported(world):
    """With one descriptor too few, `conclave` can connect, but the command cannot inherit a
    connection."""
    world.ok("znode", "ls", "/")  # starts the server
    codes = []
    for limit in range(4, 40):
        # LeakSanitizer needs descriptors, too.
        r = world.run("sh", "-c", f'ulimit -n {limit}; exec "$0" lock x -- true', BINARY,
                      env={"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"})
        assert r.returncode in (0, 71), (limit, r)
        codes.append(r.returncode)
    assert codes == sorted(codes, reverse=True) and codes[-1] == 0


@pytest.mark.parametrize("separator", ",:")
def test_a_folder_whose_path_cannot_be_in_a_connect_string(world, separator):
    """Otherwise the command would contact the host whose name follows the separator."""
    folder = world.path("x" + separator + "localhost")
    for command in ["lock", "x", "--", "echo", "ran"], ["local", "status"]:
        assert folder in world.refused(*command, env={"CONCLAVE_LOCAL": folder})
    assert not os.path.exists(folder)


def on_file_system(world, magic):
    """Runs a command for which the folders of this test are on this type of file system."""
    preloaded = {"LD_PRELOAD": os.environ["CONCLAVE_FAKE_STATFS"], "FAKE_STATFS_TYPE": magic}
    # AddressSanitizer must not insist on being the first library.
    options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return world.conclave("znode", "ls", "/", env={**preloaded, "ASAN_OPTIONS": options})


@pytest.mark.parametrize("name, magic", [
    ("NFS", "6969"), ("SMB", "517b"), ("SMB", "ff534d42"), ("SMB", "fe534d42"),
    ("AFS", "5346414f"), ("AFS", "6b414653"), ("CephFS", "c36400"), ("Lustre", "bd00bd0"),
    ("GPFS", "47504653"), ("BeeGFS", "19830326"), ("GFS2", "1161970"), ("OCFS2", "7461636f"),
    ("vboxsf", "786f4256")])
def test_a_network_file_system_is_refused(world, name, magic):
    r = on_file_system(world, magic)
    assert (r.returncode, r.stdout) == (69, ""), r
    assert f"{world.local} is on a network file system ({name}); set CONCLAVE_LOCAL" in r.stderr
    assert servers(world) == []


@pytest.mark.parametrize("magic", [
    "ef53", "58465342", "9123683e", "1021994", "794c7630", "2fc12fc1", "65735546", "1021997"])
def test_a_file_system_that_may_be_local_is_accepted(world, magic):
    """ext4, XFS, Btrfs, tmpfs, overlayfs, ZFS, FUSE and 9p."""
    r = on_file_system(world, magic)
    assert (r.returncode, r.stderr) == (0, ""), r
