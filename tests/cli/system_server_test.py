"""A server for all users of a machine. Members of its group may use it, and others get an error.

Tests that root runs switch to other users. If mounting is not permitted, tests that need
/run/conclave use the address of the socket instead.
"""

import grp
import json
import os
import re
import signal
import socket
import stat
import subprocess

import pytest
from conftest import BINARY, TIMEOUT, until

SYSTEM = "/run/conclave/socket"
# Ids that no other processes have.
STRANGER, MEMBER, OTHER_GROUP = 54321, 54322, 54323
# A group that this process does not belong to.
GROUP = next(g for g in grp.getgrall() if g.gr_gid not in (os.getegid(), *os.getgroups()))

root_only = pytest.mark.xfail(os.geteuid() != 0, reason="only root can become another user",
                              run=False)


def as_user(world, uid, groups, *args, inside=(), env=None):
    """Runs a command as another user, who may have no access to the folder of the program."""
    program = os.open(BINARY, os.O_RDONLY)
    try:
        groups = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
        become = ["setpriv", f"--reuid={uid}", f"--regid={OTHER_GROUP}", *groups, "--"]
        environment = {k: v for k, v in {**world.env, **(env or {})}.items() if v is not None}
        return subprocess.run(
            [*inside, *(become if uid else []), f"/proc/self/fd/{program}", *args],
            env=environment, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True,
            pass_fds=[program], timeout=TIMEOUT)
    finally:
        os.close(program)


def ready(p):
    line = p.stdout.readline()
    assert line.startswith("conclave ready: "), line + p.stderr.read()
    return p


UMASKS = [0o007, 0o022]
umasks = pytest.mark.parametrize("umask", UMASKS, ids=oct)


@pytest.fixture
def umask():
    return 0o007


@pytest.fixture
def shared(world, umask):
    """The address of a server for a group."""
    os.chmod(world.folder, 0o711)
    os.mkdir(world.path("run"))
    os.chmod(world.path("run"), 0o755)
    ready(world.start_conclave("serve", "--data", world.path("data"), "--socket",
                               world.path("run", "socket"), "--socket-group", GROUP.gr_name,
                               umask=umask))
    return "unix:" + world.path("run", "socket")


@root_only
@umasks
def test_the_socket_is_for_the_group(world, umask):
    p = ready(world.start_conclave("serve", "--durability", "none", "--socket",
                                   world.path("socket"), "--socket-group", GROUP.gr_name,
                                   umask=umask))
    found = os.stat(world.path("socket"))
    assert (found.st_gid, stat.S_IMODE(found.st_mode)) == (GROUP.gr_gid, 0o660)
    assert p.poll() is None


def test_only_one_of_several_servers_replaces_an_unused_socket(world):
    """All servers start at the same time and find the socket of a server that has exited."""
    path = world.path("socket")
    for _ in range(4):
        with socket.socket(socket.AF_UNIX) as unused:
            unused.bind(path)
        servers = [world.start_conclave("serve", "--durability", "none", "--socket", path)
                   for _ in range(6)]
        running = lambda: [p for p in servers if p.poll() is None]
        until(lambda: len(running()) == 1, "one server")
        (last,) = running()
        assert last.stdout.readline().startswith("conclave ready")
        assert all("another server listens there" in p.stderr.read() for p in servers if p != last)
        last.terminate()
        assert last.wait() == 0


def test_no_such_group(world):
    r = world.conclave("serve", "--durability", "none", "--socket", world.path("socket"),
                       "--socket-group", "no-such-group")
    assert r.returncode != 0 and "groupadd" in r.stderr and r.stderr.count("\n") == 1
    assert not os.path.exists(world.path("socket"))


@root_only
@umasks
def test_only_members_of_the_group_can_connect(world, shared):
    lock = ["lock", "-C", shared, "x", "--", "sh", "-c", "id -u; echo $CONCLAVE_LOCK_PATH"]
    r = as_user(world, MEMBER, [GROUP.gr_gid], "lock", "--connect-timeout", "3s", *lock[1:])
    assert (r.returncode, r.stdout, r.stderr) == (0, f"{MEMBER}\n/conclave/x\n", "")
    for groups in [], [OTHER_GROUP]:
        r = as_user(world, STRANGER, groups, "lock", "--connect-timeout", "0.3s", *lock[1:])
        assert (r.returncode, r.stdout, r.stderr.count("\n")) == (69, "", 1), r
        assert world.path("run", "socket") in r.stderr and "ermission denied" in r.stderr
    r = as_user(world, 0, [], *lock)
    assert (r.returncode, r.stderr) == (0, "")


@root_only
def test_users_exclude_each_other(world, shared):
    world.hold("x", "-C", shared)  # root's
    args = ["lock", "-n", "-C", shared, "x", "--", "true"]
    assert as_user(world, MEMBER, [GROUP.gr_gid], *args).returncode == 1
    assert as_user(world, MEMBER, [GROUP.gr_gid], "lock", "-n", "-C", shared, "y", "--",
                   "true").returncode == 0


@root_only
def test_other_users_cannot_use_a_private_server(world):
    """They cannot connect even if they have access to the folder."""
    world.ok("lock", "x", "--", "true")
    os.chmod(world.folder, 0o711)
    os.chmod(world.local, 0o711)
    address = f"unix:{world.local}/socket"
    for open_socket in False, True:
        if open_socket:
            os.chmod(world.path("local", "socket"), 0o666)
        r = as_user(world, STRANGER, [], "lock", "-C", address, "--connect-timeout", "0.5s", "x",
                    "--", "echo", "ran")
        assert (r.returncode, r.stdout, r.stderr.count("\n")) == (69, "", 1), r


def may_mount():
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/run"],
                          capture_output=True).returncode == 0


MAY_MOUNT = may_mount()
may_mount_only = pytest.mark.xfail(not MAY_MOUNT, reason="mounting is not permitted", run=False)


@root_only
@may_mount_only
@pytest.mark.parametrize("hide", ["chmod 750 /etc/conclave", "chmod 640 /etc/conclave/config",
                                  "ln -sf /not/mounted /etc/conclave/config"])
def test_settings_that_cannot_be_read_are_not_ignored(world, hide):
    """Without these settings, the command would use a different server than other commands."""
    script = (f"mkdir etc && cp /etc/passwd /etc/group etc/ && mkdir -m 755 etc/conclave && "
              f"echo connect = 127.0.0.1:1 > etc/conclave/config && mount --bind etc /etc && "
              f'{hide} && exec "$@"')
    r = as_user(world, STRANGER, [], "status", env={"CONCLAVE_LOCAL": None, "CONCLAVE_CONFIG": None},
                inside=["unshare", "-m", "--wd", world.folder, "sh", "-c", script, "sh"])
    assert (r.returncode, r.stdout) == (64, ""), r
    assert "cannot read /etc/conclave/config" in r.stderr


@may_mount_only
def test_a_backup_that_the_command_cannot_see_is_a_failure(world):
    """With PrivateTmp, for example, the server has a different /tmp."""
    os.mkdir(world.path("tmp"))
    ready(world.start("unshare", "-m", "sh", "-c",
                      'mount -t tmpfs none tmp && exec "$0" serve --data data', BINARY))
    r = world.conclave("serve", "--data", "data", "--backup", "tmp/copy.db")
    assert (r.returncode, r.stdout) == (1, "") and "PrivateTmp" in r.stderr, r
    # The command refuses an existing file, because the file would hide this failure.
    with open(world.path("tmp", "other.db"), "w"):
        r = world.conclave("serve", "--data", "data", "--backup", "tmp/other.db")
    assert (r.returncode, r.stdout) == (1, "") and "exists already" in r.stderr, r
    assert world.ok("serve", "--data", "data", "--backup", "copy.db") == world.path("copy.db") + "\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_server_with_closed_descriptors_does_not_write_messages_to_its_store(world, closed):
    command = ["serve", "--data", "data", "--no-socket", "--listen", "127.0.0.1:0", "--idle-exit",
               "0.1s"]
    world.ok(*command)
    r = world.run("sh", "-c", f'"$@" {closed}', "sh", BINARY, *command)
    assert r.returncode == 0, r
    assert re.fullmatch("process [0-9]+ *\n(run [0-9a-f]{16}\n|run -{16}\n){2}"
                        "a store was made here\n", world.read("data/lock"))


class Machine:
    """A mount namespace with its own /run and a server for all users."""

    def __init__(self, world, prepare):
        serve = f'exec "$0" serve --data "$1" --socket {SYSTEM} --socket-group "$2"'
        script = f"mount -t tmpfs -o mode=755 none /run && {prepare} && umask 007 && {serve}"
        self.server = ready(world.start("unshare", "-m", "sh", "-c", script, BINARY,
                                        world.path("system"), GROUP.gr_name))
        self.world = world
        # In a chroot, the root folder of the namespace differs from ours.
        of = f"/proc/{self.server.pid}"
        self.inside = ["nsenter", f"--mount={of}/ns/mnt", f"--root={of}/root", "--"]

    def run(self, uid, groups, *args, env=None):
        """Runs a command without settings for a server, except those in env."""
        return as_user(self.world, uid, groups, *args, inside=self.inside,
                       env={"CONCLAVE_LOCAL": None, **(env or {})})


def expect_refused(r):
    assert (r.returncode, r.stdout, r.stderr.count("\n")) == (69, "", 1), r
    assert SYSTEM in r.stderr and "group" in r.stderr and "--connect" in r.stderr


@root_only
def test_it_takes_precedence_over_a_private_server(world, shared):
    if not MAY_MOUNT:
        # With the address of the socket, the same rule applies.
        r = as_user(world, STRANGER, [], "lock", "-C", shared, "--connect-timeout", "0.3s", "x",
                    "--", "true")
        assert r.returncode == 69
        return
    machine = Machine(world, "mkdir -m 755 /run/conclave")
    # Root and a member use the same server.
    assert machine.run(0, [], "znode", "create", "/here", "yes").returncode == 0
    r = machine.run(MEMBER, [GROUP.gr_gid], "znode", "get", "/here")
    assert (r.returncode, r.stdout.strip(), r.stderr) == (0, "yes", "")
    r = machine.run(MEMBER, [GROUP.gr_gid], "lock", "x", "--", "echo", "ran")
    assert (r.returncode, r.stdout, r.stderr) == (0, "ran\n", "")
    # Users without permission do not get a private server, because its locks would not exclude
    # others.
    for args in ["lock", "x", "--", "echo", "ran"], ["znode", "get", "/here"], ["status"]:
        expect_refused(machine.run(STRANGER, [], *args))
    # Variables take precedence over the server of the machine.
    r = machine.run(0, [], "znode", "get", "/here", env={"CONCLAVE_LOCAL": world.local})
    assert r.returncode == 1, r
    assert json.loads(world.conclave("local", "status", "--json").stdout)["running"]
    r = machine.run(0, [], "znode", "get", "/here", env={"CONCLAVE_CONNECT": shared})
    assert r.returncode == 1, r


@root_only
def test_users_without_access_to_the_folder_get_the_same_message(world):
    """If the folder does not exist, the server creates it for its group."""
    if not MAY_MOUNT:
        os.mkdir(world.path("closed"), 0o700)
        os.chmod(world.folder, 0o711)
        r = as_user(world, STRANGER, [], "znode", "ls", "/", "-C",
                    "unix:" + world.path("closed", "socket"), "--connect-timeout", "0.3s")
        assert r.returncode == 69 and "ermission denied" in r.stderr
        return
    machine = Machine(world, "true")
    assert machine.run(MEMBER, [GROUP.gr_gid], "znode", "ls", "/").returncode == 0
    expect_refused(machine.run(STRANGER, [], "lock", "x", "--", "echo", "ran"))


class RestartableMachine:
    """A mount namespace with its own /run, /var/lib and /etc/systemd. The test starts the
    server."""

    def __init__(self, world, prepare):
        places = "/run /var/lib /etc/systemd"
        script = (f"for p in {places}; do mkdir -p $p && mount -t tmpfs -o mode=755 none $p; done && "
                  f"{prepare} && echo ready && exec sleep 1000")
        self.keeper = world.start("unshare", "-m", "sh", "-c", script)
        assert self.keeper.stdout.readline() == "ready\n", self.keeper.stderr.read()
        self.world = world
        of = f"/proc/{self.keeper.pid}"
        self.inside = ["nsenter", f"--mount={of}/ns/mnt", f"--root={of}/root", "--"]

    def serve(self):
        return ready(self.world.start(
            *self.inside, BINARY, "serve", "--data", "/var/lib/conclave", "--socket", SYSTEM,
            "--socket-group", GROUP.gr_name))

    def run(self, *args):
        return as_user(self.world, 0, [], *args, inside=self.inside, env={"CONCLAVE_LOCAL": None})

    def start(self, *args):
        return self.world.start(*self.inside, BINARY, *args, env={"CONCLAVE_LOCAL": None})


needs_mount = pytest.mark.xfail(not MAY_MOUNT, reason="needs its own mounts", run=False)


@root_only
@needs_mount
@pytest.mark.parametrize("sign", [
    "mkdir /run/conclave", "mkdir /var/lib/conclave",
    "d=/etc/systemd/system/multi-user.target.wants && mkdir -p $d && ln -s gone $d/conclave.service",
    "d=/etc/systemd/system/sockets.target.wants && mkdir -p $d && ln -s gone $d/conclave.socket"],
    ids=["run", "data", "service", "socket"])
def test_no_private_server_is_started_while_the_server_of_the_machine_is_down(world, sign):
    machine = RestartableMachine(world, sign)
    r = machine.run("lock", "--connect-timeout", "0.5s", "x", "--", "echo", "ran")
    assert (r.returncode, r.stdout, r.stderr.count("\n")) == (69, "", 1), r
    assert SYSTEM in r.stderr
    r = machine.run("lock", "-n", "-E", "0", "--connect-timeout", "0.5s", "x", "--", "echo", "ran")
    assert (r.returncode, r.stdout, r.stderr.count("\n")) == (69, "", 1), r
    # A waiting command uses the server when it starts.
    p = machine.start("lock", "--connect-timeout", "50s", "x", "--", "echo", "ran")
    machine.serve()
    assert p.communicate()[0] == "ran\n" and p.returncode == 0


@root_only
@needs_mount
def test_the_server_is_restarted_while_a_lock_is_held(world):
    machine = RestartableMachine(world, "true")
    server = machine.serve()
    holder = machine.start("lock", "--session-timeout", "5s", "--hold", "x")
    holder.stdout.readline()
    for s in signal.SIGKILL, signal.SIGTERM:
        server.send_signal(s)
        server.wait()
        # While no server runs.
        r = machine.run("lock", "-n", "--connect-timeout", "0.2s", "x", "--", "echo", "ran")
        assert (r.returncode, r.stdout) == (69, ""), r
        server = machine.serve()
        r = machine.run("lock", "-n", "x", "--", "echo", "ran")
        assert (r.returncode, r.stdout) == (1, ""), r
    holder.terminate()
    assert holder.wait() == 0
