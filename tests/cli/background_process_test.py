"""Background processes of a command hold the lock until they end, even if `conclave`, its guard or
the server is killed. They cannot use the session for requests."""

import fcntl
import os
import resource
import select
import signal
import subprocess
import sys
import time

import pytest
from conftest import BINARY, alive, until

# Closes the inherited pipes, so that a reader of the pipes does not wait for this process.
BACKGROUND = "sleep 1000 >/dev/null 2>&1 </dev/null & echo $!"


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), "the end of a process")


def kill_server(world):
    pid = world.local_pid()
    kill(pid)
    return pid


def is_free(world):
    return world.conclave("lock", "-n", "x", "--", "true").returncode == 0


def guards(world):
    found = []
    for pid in world.processes():
        try:
            with open(f"/proc/{pid}/comm") as f:
                if f.read() == "conclave-guard\n":
                    found.append(pid)
        except FileNotFoundError:
            pass
    return found


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def start_background(world, *flags, line=BACKGROUND):
    """Runs a command that ends and leaves a background process. Returns the process id."""
    return int(world.ok("lock", *flags, "x", "--", "sh", "-c", line))


def expect_held_while_alive(world, background):
    """Checks the lock first. A free lock while the process is still alive means that the lock was
    lost."""
    code = world.conclave("lock", "-n", "x", "--", "true").returncode
    assert code == 1 and alive(background), code


def test_conclave_does_not_wait_for_background_processes(world):
    begin = time.monotonic()
    background = start_background(world)
    assert time.monotonic() - begin < 10
    expect_held_while_alive(world, background)
    kill(background)
    until(lambda: is_free(world), "the lock")
    until(lambda: not guards(world), "the end of the guard")


@pytest.mark.parametrize("line", [BACKGROUND, "setsid " + BACKGROUND], ids=["group", "daemon"])
def test_the_server_is_killed(world, line):
    background = start_background(world, "--session-timeout", "2s", line=line)
    for _ in range(2):
        kill_server(world)
        expect_held_while_alive(world, background)
    # Waits longer than the timeout of a session without a keeper.
    r = world.conclave("lock", "-w", "4", "x", "--", "true")
    assert (r.returncode, alive(background)) == (1, True), r
    kill(background)
    until(lambda: is_free(world), "the lock")
    until(lambda: not guards(world), "the end of the guard")


def test_the_guard_restarts_the_server(world):
    """No other command runs. Without the guard, the session would expire."""
    background = start_background(world, "--session-timeout", "2s")
    before = kill_server(world)
    until(lambda: world.local_pid() not in (None, before), "another server")
    expect_held_while_alive(world, background)


def test_a_command_that_ends_immediately(world):
    """The guard runs before the command starts."""
    for _ in range(2):
        background = start_background(world, "--session-timeout", "1s")
        kill_server(world)
        r = world.conclave("lock", "-w", "2", "x", "--", "true")
        assert (r.returncode, alive(background)) == (1, True), r
        kill(background)
        until(lambda: is_free(world), "the lock")


def test_the_server_is_killed_before_the_command_ends(world):
    p = world.start_conclave("lock", "--session-timeout", "2s", "x", "--", "sh", "-c",
                             BACKGROUND + "; read a", stdin=subprocess.PIPE)
    background = int(p.stdout.readline())
    before = kill_server(world)
    until(lambda: world.local_pid() not in (None, before), "another server")
    assert not is_free(world)
    p.communicate("\n")
    assert p.returncode == 0
    r = world.conclave("lock", "-w", "3", "x", "--", "true")
    assert (r.returncode, alive(background)) == (1, True), r
    kill_server(world)
    expect_held_while_alive(world, background)
    kill(background)
    until(lambda: is_free(world), "the lock")


@pytest.mark.parametrize("order", ["conclave server", "server conclave"])
def test_conclave_and_the_server_are_killed(world, order):
    p = world.start_conclave("lock", "--session-timeout", "2s", "x", "--", "sh", "-c",
                             "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    server = world.local_pid()
    p.send_signal(signal.SIGSTOP)  # so that it cannot react between the two kills
    for victim in order.split():
        kill(p.pid) if victim == "conclave" else kill(server)
    p.wait()
    r = world.conclave("lock", "-w", "4", "x", "--", "true")
    assert (r.returncode, alive(child)) == (1, True), r
    kill(child)
    until(lambda: is_free(world), "the lock")


def test_conclave_is_stopped_while_the_server_is_restarted(world):
    p = world.start_conclave("lock", "--session-timeout", "2s", "x", "--", "sh", "-c",
                             "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    p.send_signal(signal.SIGSTOP)
    kill_server(world)
    r = world.conclave("lock", "-w", "4", "x", "--", "true")
    assert (r.returncode, alive(child)) == (1, True), r
    p.send_signal(signal.SIGCONT)
    p.kill()


def test_a_guard_that_is_killed_is_replaced(world):
    p = world.start_conclave("lock", "--session-timeout", "2s", "x", "--", "sh", "-c",
                             "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    first, = until(lambda: guards(world), "the guard")
    kill_server(world)
    os.kill(first, signal.SIGKILL)
    # Ignores the child that the first guard has forked to start the server. It has the same name.
    until(lambda: [g for g in guards(world) if g != first and parent(g) == p.pid], "another guard")
    kill(p.pid)
    p.wait()
    r = world.conclave("lock", "-w", "4", "x", "--", "true")
    assert (r.returncode, alive(child)) == (1, True), r


def test_no_descriptors_for_another_guard(world):
    """The command keeps its lock, and gets a new guard as soon as descriptors are available."""
    p = world.start_conclave("lock", "x", "--", "sh", "-c", "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    first, = until(lambda: guards(world), "the guard")
    soft, hard = resource.prlimit(p.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (4, hard))
    os.kill(first, signal.SIGKILL)
    r = world.conclave("lock", "-w", "1", "x", "--", "true")
    assert (r.returncode, p.poll(), alive(child)) == (1, None, True), r
    assert not [g for g in guards(world) if g != first]
    open_files = len(os.listdir(f"/proc/{p.pid}/fd"))
    resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (soft, hard))
    until(lambda: [g for g in guards(world) if g != first], "another guard")
    # Failed attempts to start a guard have closed their descriptors.
    until(lambda: len(os.listdir(f"/proc/{p.pid}/fd")) <= open_files, "closed descriptors")


def test_a_guard_that_is_stopped_while_the_server_is_restarted_is_replaced(world):
    """`conclave` exits only after a guard keeps the session, because no other process would keep
    it. The session timeout leaves a busy machine time to restart the server."""
    p = world.start_conclave("lock", "--session-timeout", "4s", "x", "--", "sh", "-c",
                             BACKGROUND + "; read a", stdin=subprocess.PIPE)
    background = int(p.stdout.readline())
    first, = until(lambda: guards(world), "the guard")
    os.kill(first, signal.SIGSTOP)
    before = kill_server(world)
    until(lambda: world.local_pid() not in (None, before), "another server")
    # Waits longer than a restarted server waits for the keepers of a session.
    r = world.conclave("lock", "-w", "1.5", "x", "--", "true")
    assert (r.returncode, alive(background)) == (1, True), r
    p.communicate("\n")
    assert p.returncode == 0
    expect_held_while_alive(world, background)
    kill_server(world)
    # Waits longer than the session timeout.
    r = world.conclave("lock", "-w", "6", "x", "--", "true")
    assert (r.returncode, alive(background)) == (1, True), r
    assert first not in guards(world)
    kill(background)
    until(lambda: is_free(world), "the lock")


def test_a_guard_that_is_killed_repeatedly(world):
    """It is replaced, but the rate is limited."""
    p = world.start_conclave("lock", "x", "--", "sh", "-c", "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    killed = []
    begin = time.monotonic()
    while len(killed) < 10:
        killed += until(lambda: [g for g in guards(world)
                                 if g not in killed and parent(g) == p.pid], "another guard")
        os.kill(killed[-1], signal.SIGKILL)
    assert time.monotonic() - begin >= 0.8  # the first guard is replaced immediately
    assert "the guard process was killed 10 times" in p.stderr.readline()
    until(lambda: [g for g in guards(world) if g not in killed], "another guard")
    assert alive(child) and p.poll() is None and not is_free(world)


# Another process gets the id of the process group of a command that has ended. The script runs in a
# PID namespace, because it sets the next process id with /proc/sys/kernel/ns_last_pid.
REUSED_GROUP_ID = """
conclave serve --durability none --socket "$PWD/socket" >ready &
server=$!
until [ -s ready ]; do sleep 0.01; done
conclave lock -C "unix:$PWD/socket" --session-timeout 2s x -- sh -c '
  echo $$ >leader
  setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >background
  until [ -e /proc/$!/exe ]; do :; done'
set -m
for i in $(seq 100); do
  echo $(($(cat leader) - 1)) >/proc/sys/kernel/ns_last_pid
  sleep 1000 & other=$!
  [ $other = $(cat leader) ] && break
  kill -9 $other
done
[ $other = $(cat leader) ] || { echo the process id was not reused; exit 1; }
kill -9 $server
while [ -e /proc/$(cat background)/exe ]; do sleep 0.01; done
kill -0 $other && echo the other process is alive
"""


@pytest.mark.xfail(os.geteuid() != 0, reason="only root can create PID namespaces", run=False)
def test_a_process_group_that_reuses_the_id_is_not_killed(world):
    bin = os.path.dirname(BINARY)
    r = world.run("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c",
                  REUSED_GROUP_ID,
                  env={"PATH": bin + ":" + os.environ["PATH"]})
    assert r.stdout.endswith("the other process is alive\n"), r


def test_all_background_processes_are_killed_when_the_session_has_expired(world):
    """This includes processes that have left the process group."""
    lines = world.ok("lock", "--session-timeout", "2s", "x", "--", "sh", "-c",
                     BACKGROUND + "; setsid " + BACKGROUND)
    background = [int(n) for n in lines.split()]
    server = world.local_pid()
    # The next server does not know the session.
    os.rename(world.local, world.path("moved"))
    kill(server)
    until(lambda: not any(map(alive, background)), "the end of all processes")


def socket_program(world, test):
    """The command line of a program that runs `test`, which may call sockets()."""
    program = ("import os, socket, stat, struct, sys\n"
               "def sockets():\n"
               "  for i in range(3, 256):\n"
               "    try:\n"
               "      if stat.S_ISSOCK(os.fstat(i).st_mode): yield socket.socket(fileno=i)\n"
               "    except OSError: pass\n" + test)
    with open(world.path("try.py"), "w") as f:
        f.write(program)
    return [sys.executable, world.path("try.py")]


CLOSE_SESSION = ("found = list(sockets())\n"
                 "print(len(found), flush=True)\n"
                 "for s in found:\n"
                 "  s.setblocking(True)\n"
                 "  s.settimeout(5)\n"
                 "  try:\n"
                 "    s.sendall(struct.pack('>iii', 8, 1, -11))\n"
                 "    s.recv(100)\n"
                 "  except OSError: pass\n"
                 "sys.stdin.readline()\n")
SHUT_DOWN = ("found = list(sockets())\n"
             "print(len(found), flush=True)\n"
             "for s in found:\n"
             "  try: s.shutdown(socket.SHUT_RDWR)\n"
             "  except OSError: pass\n"
             "sys.stdin.readline()\n")


@pytest.mark.parametrize("attack", [CLOSE_SESSION, SHUT_DOWN], ids=["close", "shutdown"])
def test_the_inherited_descriptor_keeps_the_session_but_cannot_use_it(world, attack):
    p = world.start_conclave("lock", "--session-timeout", "2s", "x", "--",
                             *socket_program(world, attack), stdin=subprocess.PIPE)
    assert int(p.stdout.readline()) >= 1
    r = world.conclave("lock", "-w", "1", "x", "--", "true")
    assert r.returncode == 1, r
    assert p.poll() is None
    p.communicate("\n")
    assert p.returncode == 0
    assert is_free(world)


WRITE = "os.write(i, b'x' * 100)"
SHUT_DOWN_ONE = "socket.socket(fileno=os.dup(i)).shutdown(socket.SHUT_RDWR)"


@pytest.mark.parametrize("misuse", [WRITE, SHUT_DOWN_ONE], ids=["write", "shutdown"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_misuses_the_inherited_descriptor_still_holds_the_lock(world, misuse, when):
    """Before and after `conclave` exits. Before that, its own connection also keeps the session."""
    ended = "while os.path.exists(f'/proc/{conclave}'): time.sleep(0.01)"
    program = ("import time\n"
               "conclave = os.getppid()\n"
               "if os.fork() == 0:\n"
               "  os.closerange(0, 3)\n"
               f"  {ended if when == 'after' else 'pass'}\n"
               "  for i in range(3, 256):\n"
               f"    try: {misuse}\n"
               "    except OSError: pass\n"
               f"  os.close(os.open({world.path('misused')!r}, os.O_CREAT | os.O_WRONLY))\n"
               "  os.execvp('sleep', ['sleep', '1000'])\n"
               + (f"while not os.path.exists({world.path('misused')!r}): time.sleep(0.01)\n"
                  if when == "before" else ""))
    world.ok("lock", "--session-timeout", "2s", "x", "--", *socket_program(world, program))
    until(lambda: os.path.exists(world.path("misused")), "the misuse")
    r = world.conclave("lock", "-w", "1", "x", "--", "true")
    assert r.returncode == 1, r
    kill_server(world)
    r = world.conclave("lock", "-w", "1", "x", "--", "true")
    assert r.returncode == 1, r


def test_a_command_that_is_stopped_while_it_starts_the_server(world):
    """Other commands cannot start the server then, but the guard can attach to a running one."""
    background = start_background(world, "--session-timeout", "2s")
    folder = world.env["CONCLAVE_LOCAL"]
    with open(os.path.join(folder, "start.lock"), "r+") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        kill_server(world)
        # Threads of the killed server may still have its files open.
        serve = lambda: world.start_conclave("serve", "--data", folder).stdout.readline()
        until(lambda: serve().startswith("conclave ready: "), "another server")
        r = world.conclave("lock", "-w", "4", "x", "--", "true")
        assert (r.returncode, alive(background)) == (1, True), r
    kill(background)
    until(lambda: is_free(world), "the lock")


# Closes all inherited descriptors, as ssh and sudo do, and prints its process id.
CLOSES_ALL = [sys.executable, "-S", "-c", "import os, signal; os.closerange(3, 256); "
              "print(os.getpid(), flush=True); signal.pause()"]


@pytest.mark.parametrize("order", ["conclave", "conclave server", "server conclave", "guard conclave"])
def test_a_command_that_closes_its_descriptors_holds_the_lock_until_it_ends(world, order):
    p = world.start_conclave("lock", "--session-timeout", "2s", "x", "--", *CLOSES_ALL)
    child = int(p.stdout.readline())
    guard, = until(lambda: guards(world), "the guard")
    for victim in order.split():
        if victim == "server":
            kill_server(world)
        elif victim == "conclave":
            kill(p.pid)
        else:
            os.kill(guard, signal.SIGKILL)
            until(lambda: [g for g in guards(world) if g != guard and parent(g) == p.pid],
                  "another guard")
    r = world.conclave("lock", "-w", "3", "x", "--", "true")
    assert (r.returncode, alive(child)) == (1, True), r
    kill(child)
    until(lambda: is_free(world), "the lock")
    until(lambda: not guards(world), "the end of the guard")


def test_a_command_that_closes_its_descriptors_is_killed_when_the_session_has_expired(world):
    p = world.start_conclave("lock", "--session-timeout", "2s", "x", "--", *CLOSES_ALL)
    child = int(p.stdout.readline())
    kill(p.pid)
    server = world.local_pid()
    os.rename(world.local, world.path("moved"))  # the next server does not know the session
    kill(server)
    until(lambda: not alive(child), "the end of the command")
    until(lambda: not guards(world), "the end of the guard")


def test_an_item_whose_command_closes_its_descriptors_stays_claimed(world):
    world.ok("queue", "push", "q", "a")
    p = world.start_conclave("queue", "work", "--session-timeout", "2s", "q", "--", *CLOSES_ALL)
    child = int(p.stdout.readline())
    kill(p.pid)
    r = world.conclave("queue", "pop", "-w", "1", "q")
    assert (r.returncode, alive(child)) == (1, True), r
    kill(child)
    assert world.ok("queue", "pop", "-w", "10", "q") == "a\n"


def start_worker(world):
    """Starts a worker. The command of each item writes its process id to a file with the item's
    name."""
    line = 'read -r x; echo $$ > "$x.new"; mv "$x.new" "$x"; exec sleep 1000'
    return world.start_conclave("queue", "work", "-j", "2", "--session-timeout", "2s", "q", "-c", line)


def process_of(world, item):
    until(lambda: os.path.exists(world.path(item)), "the command of " + item)
    with open(world.path(item)) as f:
        return int(f.read())


def test_the_end_of_one_command_does_not_end_the_session_of_the_others(world):
    world.ok("queue", "push", "q", "a", "b")
    worker = start_worker(world)
    first, second = process_of(world, "a"), process_of(world, "b")
    until(lambda: len(guards(world)) == 2, "two guards")
    before = kill_server(world)
    until(lambda: world.local_pid() not in (None, before), "another server")
    worker.kill()
    worker.wait()
    kill(first)
    until(lambda: len(guards(world)) == 1, "the end of the first guard")
    # The claim of the second item belongs to the same session.
    assert world.conclave("queue", "pop", "-w", "3", "q").returncode == 1
    assert alive(second)
    kill(second)
    assert sorted(world.ok("queue", "pop", "-w", "10", "q") for _ in range(2)) == ["a\n", "b\n"]


def test_a_background_process_of_an_item_does_not_block_the_worker(world):
    world.ok("queue", "push", "q", "one")
    line = ('read -r x; '
            'if [ $x = one ]; then (sleep 1000 >/dev/null 2>&1 & echo $! > background); exit 0; fi;'
            ' echo $$ > two.new; mv two.new two; exec sleep 1000')
    worker = world.start_conclave("queue", "work", "q", "-c", line)
    until(lambda: world.ok("queue", "len", "q") == "0\n", "the end of the first item")
    world.ok("queue", "push", "q", "two")
    second = process_of(world, "two")
    worker.kill()
    worker.wait()
    kill(second)
    assert world.ok("queue", "pop", "-w", "10", "q") == "two\n"
    with open(world.path("background")) as f:
        background = int(f.read())
    assert alive(background)
    kill(background)


def socket_server(world, *flags):
    """A server with a Unix socket and a TCP address. Returns both connect strings."""
    socket = world.path("socket")
    _, address = world.serve("--socket", socket, *flags)
    return socket, "unix:" + socket, address


def test_a_command_starts_only_when_the_server_can_keep_its_background_processes(world):
    """After the grant, the socket of the server does not answer for a while."""
    socket, local, tcp = socket_server(world)
    holder, _ = world.hold("x", "-C", tcp)
    p = world.start_conclave("lock", "x", "-C", local, "--", "sh", "-c", BACKGROUND)
    waiters = lambda: world.json("status", "x", "--json", "-C", tcp)["entries"][0]["waiters"]
    until(waiters, "the waiter")
    os.rename(socket, socket + ".moved")
    holder.terminate()
    until(lambda: not waiters(), "the grant")
    end = time.monotonic() + 1  # the former time limit for the attempts was about 0.1 s
    while time.monotonic() < end:
        assert not select.select([p.stdout], [], [], 0.1)[0], "the command has started"
    os.rename(socket + ".moved", socket)
    background = int(p.stdout.readline())
    assert p.wait() == 0
    r = world.conclave("lock", "-n", "x", "-C", tcp, "--", "true")
    assert (r.returncode, alive(background)) == (1, True), r
    kill(background)


def test_a_command_does_not_start_at_a_server_that_accepts_no_more_connections(world):
    socket, local, tcp = socket_server(world, "--max-connections", "2")
    said = world.refused("lock", "x", "-C", local, "--", "echo", "ran", code=69)
    assert "connection limit" in said and socket in said
    assert world.ok("lock", "-n", "x", "-C", tcp, "--", "echo", "ran") == "ran\n"


def test_background_processes_that_hold_the_lock_are_named(world):
    r = world.conclave("lock", "-v", "x", "--", "sh", "-c", BACKGROUND)
    background = int(r.stdout)
    assert f"background process {background} of the command still holds the lock" in r.stderr
    kill(background)
    background = start_background(world)  # without -v and a terminal, nothing is printed
    kill(background)
