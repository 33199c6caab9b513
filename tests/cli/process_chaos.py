"""The chaos run for the command-line program.

Runs `conclave lock` (plain, --shared, --permits, several paths), `elect` and `queue work`. Some
commands leave background processes. The driver kills, stops and restarts the server. It kills,
terminates and stops `conclave`, its guards and its commands.

    process_chaos.py --binary build/dev/src/cli/conclave --judge build/dev/tests/checkers/judge_history \\
        --seconds 300 --server local

Servers:

- `local`: the commands start it when they need it.
- `served`: at the Unix socket in CONCLAVE_CONNECT. The driver restarts it.
- `system`: at /run/conclave/socket, in a separate mount namespace. The driver restarts it, and
  sometimes removes its socket or folder while it is down. Commands find this server by its path. If
  a command started a private server, there would be two holders.

While the commands are alive, they append heartbeats with the time of the monotonic clock to a
history. The driver converts the history to events and checks them with
tests/checkers/judge_history:

- A hold lasts from the first to the last heartbeat of any process of the command.
- An item of a queue is a resource like a lock: only one command at a time may process it. It is
  delivered when `queue work` has exited with 0. If the command was done, but `queue work` did not
  exit with 0, the outcome is unknown. If `queue work` was killed before the command was done, the
  item was not delivered, because only `queue work` can complete an item. At the end, the driver
  pops all remaining items, which delivers them.

The driver never kills or stops a `conclave` and its guard at the same time. If the server ended
then, too, no process would keep the lock (docs/cli.md).
"""

import argparse
import collections
import contextlib
import dataclasses
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "holder.py")
SESSION = "2s"
SERVERS = ["local", "served", "system"]
PERMITS = 2
HEARTBEAT_INTERVAL = 10_000_000  # nanoseconds between two heartbeats on a busy machine
FAILED = 7  # exit code of commands that fail
LONGEST_START = 60  # additional seconds until a fault must have hit a hold
LONGEST_END = 60  # seconds after SIGTERM until a command counts as stuck


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


def send(pid, s):
    try:
        os.kill(pid, s)
        return True
    except ProcessLookupError:
        return False


def processes_with(is_ours):
    """The processes for which is_ours(folder in /proc) is true."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if is_ours(f"/proc/{pid}"):
                yield int(pid)


def judge(program, events):
    """Returns the violations in a history."""
    r = subprocess.run([program, events], capture_output=True, text=True)
    if r.returncode not in (0, 1) or (r.returncode == 1) != bool(r.stdout):
        raise RuntimeError(f"{program} ended with {r.returncode}: {r.stderr}")
    return r.stdout.splitlines()


# --- servers


class Local:
    """This user's own server. The commands start and restart it."""

    def __init__(self, binary, folder, env):
        self.folder = folder
        self.env = {**env, "CONCLAVE_LOCAL": folder + "/local"}
        self.inside = []  # a prefix for command lines, to run in the namespace of the server

    def pid(self):
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.settimeout(0.2)
                s.connect(self.folder + "/local/socket")
                credentials = s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                return struct.unpack("iii", credentials)[0]
            except OSError:
                return None

    def restart(self, rng):
        """Called after a signal that ends the server."""

    def problems(self):
        return []

    def close(self):
        variable = f"CONCLAVE_LOCAL={self.folder}/local".encode()

        def is_ours(process):
            with open(process + "/environ", "rb") as f:
                return variable in f.read().split(b"\0")

        for pid in processes_with(is_ours):
            send(pid, signal.SIGKILL)
        if (pid := self.pid()) is not None:  # the server has a new environment
            send(pid, signal.SIGKILL)


class Served(Local):
    """The driver restarts it. Sometimes this takes longer than the session timeout."""

    def __init__(self, binary, folder, env):
        super().__init__(binary, folder, env)
        self.binary = binary
        self.prepare()
        self.serve()

    def prepare(self):
        self.data, self.socket = self.folder + "/data", self.folder + "/served"
        self.env["CONCLAVE_CONNECT"] = "unix:" + self.socket

    def serve(self):
        self.server = subprocess.Popen(
            [*self.inside, self.binary, "serve", "--data", self.data, "--socket", self.socket,
             "--quiet", "--tick", "200ms"],
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if not self.server.stdout.readline().startswith("conclave ready"):
            raise RuntimeError("the server does not start")

    def pid(self):
        return self.server.pid

    def restart(self, rng):
        self.server.wait()
        self.server.stdout.close()
        self.while_down(rng)
        time.sleep(rng.uniform(0, 0.8) if rng.random() < 0.85 else rng.uniform(1, 4))
        self.serve()

    def while_down(self, rng):
        pass

    def close(self):
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()
        super().close()


class System(Served):
    """A server in a mount namespace with its own /run, /var/lib, /etc/systemd and home folder.

    A private server would create files in this home folder.
    """

    def prepare(self):
        self.home = self.folder + "/home"
        os.mkdir(self.home)
        del self.env["CONCLAVE_LOCAL"]
        # In the namespace, this user is root.
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        with open(self.folder + "/passwd", "w") as f:
            f.write(f"root:x:0:0::{self.home}:/bin/sh\n")
        script = ("for p in /run /var/lib /etc/systemd; do"
                  " mkdir -p $p && mount -t tmpfs -o mode=755 none $p || exit; done;"
                  ' mount --bind "$0" /etc/passwd && echo ready && exec cat')
        self.keeper = subprocess.Popen(
            ["unshare", *user, "--mount", "sh", "-c", script, self.folder + "/passwd"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.keeper.stdout.readline() != "ready\n":
            raise RuntimeError("no mount namespace: " + self.keeper.stderr.read())
        of = f"/proc/{self.keeper.pid}"
        # In a chroot, the root folder of the namespace differs from ours.
        self.inside = ["nsenter", f"--mount={of}/ns/mnt", f"--root={of}/root",
                       *([f"--user={of}/ns/user", "--preserve-credentials"] if user else []), "--"]
        self.data, self.socket = "/var/lib/conclave", "/run/conclave/socket"

    def while_down(self, rng):
        """systemd removes the folder of a stopped unit, but not that of a killed one."""
        folder = f"/proc/{self.keeper.pid}/root/run/conclave"
        what = rng.choice(["keep all", "no socket", "no folder"])
        if what == "no folder":
            shutil.rmtree(folder)
        elif what == "no socket":
            with contextlib.suppress(FileNotFoundError):
                os.unlink(folder + "/socket")

    def problems(self):
        return [f"a private server was started: {f}" for f in os.listdir(self.home)]

    def close(self):
        namespace = os.readlink(f"/proc/{self.keeper.pid}/ns/mnt")
        for pid in processes_with(lambda p: os.readlink(p + "/ns/mnt") == namespace):
            send(pid, signal.SIGKILL)
        self.server.wait()
        self.server.stdout.close()
        self.keeper.communicate()


# --- commands


@dataclasses.dataclass(eq=False)
class Command:
    """A `conclave` process that runs a command."""
    number: int
    kind: str
    arguments: list
    ends_after: float = None  # seconds until SIGTERM; None if it ends by itself
    process: subprocess.Popen = None
    has_fault: bool = False
    killed: int = None  # time of SIGKILL
    exited: int = None  # time
    code: int = None

    def __str__(self):
        return f"{self.kind.replace(' ', '_')}#{self.number}"

    def guard(self):
        return next((c for c in children(self.process.pid) if name_of(c) == "conclave-guard"), None)


@dataclasses.dataclass
class Hold:
    number: int
    by: Command
    resource: str  # several are separated by commas
    token: int
    first: int
    last: int
    command_ended: int = 0  # later heartbeats are from background processes
    done: int = None

    def hit(self, at):
        """Includes faults shortly after the last heartbeat, because they may have ended the
        hold."""
        return self.first <= at <= self.last + HEARTBEAT_INTERVAL

    def row(self, at):
        left = at > self.command_ended + HEARTBEAT_INTERVAL
        return self.by.kind + (", left in background" if left else "")


FAULTS = ["server killed", "server ended", "server stopped", "conclave killed", "conclave ended",
          "conclave stopped", "guard killed", "guard stopped", "command killed"]


@dataclasses.dataclass
class Result:
    violations: list
    holds: int
    hits: collections.Counter  # (kind of command, fault) during a hold
    codes: collections.Counter  # (kind of command, exit code)
    events: collections.Counter

    def table(self):
        """The number of faults during holds, by kind of command and fault, as a Markdown table."""
        rows = [["", *FAULTS]]
        for kind in sorted({k for k, _ in self.hits}):
            rows.append([kind, *(str(self.hits[kind, f]) for f in FAULTS)])
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["| " + " | ".join(w.ljust(n) for w, n in zip(r, widths)) + " |" for r in rows]
        lines.insert(1, "|" + "|".join("-" * (n + 2) for n in widths) + "|")
        return "\n".join(lines)


class Run:
    def __init__(self, binary, judge, server, seed):
        self.binary, self.judge = binary, judge
        self.random = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="chaos")
        self.history = self.folder + "/history"
        self.events = self.folder + "/events"
        env = {k: v for k, v in os.environ.items() if not k.startswith("CONCLAVE_")}
        env["CONCLAVE_CONFIG"] = "/dev/null"
        # LeakSanitizer stops all threads during its check, and hangs if it also gets SIGSTOP.
        env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.server = {"local": Local, "served": Served, "system": System}[server](
            binary, self.folder, env)
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.commands = {}  # by number
        self.running = set()
        self.faults = []  # (time, what, command or None)
        self.pushes = []  # (time, item, fate)
        self.popped = []  # (time, item)
        self.failed = []

    # --- commands

    def holder(self, rng, number, resource):
        # Some run longer than the timeout of a session without a keeper: 2 s, or 4 s on a local
        # server.
        background = rng.choice([0, 0, 0, 0, rng.randint(50, 1500), rng.randint(3000, 7000)])
        if resource == "item":  # the item is completed when the command ends
            background = 0
        return [sys.executable, "-S", "-I", HOLDER, self.history, str(number), resource,
                str(rng.choice([rng.randint(1, 250)] * 3 + [rng.randint(250, 1500)])), str(background), str(rng.randint(0, 1)),
                str(rng.choice([0, 0, 0, FAILED]))]

    def next_command(self, rng):
        kind, paths = rng.choices(
            [("lock", rng.choice("abcd")), ("lock several", ",".join(rng.sample("abcd", 2))),
             ("lock shared", "rw"), ("lock beside shared", "rw"), ("lock permits", "p"),
             ("elect", rng.choice("ef")), ("elect forever", rng.choice("ef")), ("queue work", "q")],
            weights=[25, 8, 16, 8, 14, 9, 6, 14])[0]
        flags = ["--session-timeout", SESSION, "-q"]
        ends_after = None
        if kind.startswith("lock"):
            words = ["lock", *flags]
            words += rng.choice([["-n"], ["-w", "0.3"], ["-w", "3"], ["-w", "20"], ["-w", "20"], []])
            words += {"lock shared": ["--shared"], "lock permits": ["--permits", str(PERMITS)]}.get(
                kind, [])
            words += paths.split(",")
            resource = ",".join("lock:" + p for p in paths.split(","))
        elif kind.startswith("elect"):
            words, resource = ["elect", *flags, paths], "election:" + paths
            if kind == "elect forever":
                words.insert(1, "--forever")
                ends_after = rng.uniform(0.5, 4)
        else:
            words, resource = ["queue", "work", *flags, "--count", "1", paths], "item"
            self.push(rng)
        with self.lock:
            number = len(self.commands) + 1
            c = self.commands[number] = Command(number, kind, [], ends_after)
        c.arguments = [*words, "--", *self.holder(rng, number, resource)]
        return c

    def push(self, rng):
        item = f"i{rng.getrandbits(60)}"
        code = self.conclave("queue", "push", "q", item).returncode
        # After any other exit code, the item may have been pushed.
        self.pushes.append((time.monotonic_ns(), item, "done" if code == 0 else "unknown"))

    def conclave(self, *args):
        return subprocess.run([*self.server.inside, self.binary, *args], env=self.server.env,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def messages(self, c):
        return f"{self.folder}/{c.number}.messages"

    def work(self, seed):
        rng = random.Random(seed)
        while not self.over.is_set():
            c = self.next_command(rng)
            with open(self.messages(c), "w") as messages:
                c.process = subprocess.Popen(
                    [*self.server.inside, self.binary, *c.arguments], env=self.server.env,
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages)
            with self.lock:
                self.running.add(c)
            end = time.monotonic() + (c.ends_after or float("inf"))
            terminated = None
            while c.process.poll() is None:
                now = time.monotonic()
                if terminated is None and (self.over.is_set() or now >= end):
                    terminated = now
                    c.process.terminate()
                if terminated is not None and now > terminated + LONGEST_END:
                    self.failed.append(f"{c} did not end: {' '.join(c.arguments)}")
                    c.process.kill()
                    c.process.wait()
                time.sleep(0.01)
            c.code, c.exited = c.process.returncode, time.monotonic_ns()
            with self.lock:
                self.running.discard(c)

    # --- faults

    def victim(self, rng):
        """A command with a guard and without a current fault. All kinds are chosen equally
        often."""
        with self.lock:
            by_kind = collections.defaultdict(list)
            for c in self.running:
                by_kind[c.kind].append(c)
            for kind in rng.sample(sorted(by_kind), len(by_kind)):
                for c in by_kind[kind]:
                    if not c.has_fault and (guard := c.guard()) is not None:
                        c.has_fault = True
                        return c, guard
        return None, None

    def record(self, what, command=None):
        self.faults.append((time.monotonic_ns(), what, command))

    def inject_server_fault(self, rng):
        pid = self.server.pid()
        if pid is None:
            return
        what = rng.choice(["server stopped", "server killed", "server killed", "server ended"])
        self.record(what)
        if what == "server stopped":
            send(pid, signal.SIGSTOP)
            time.sleep(rng.uniform(0.1, 1.5))
            send(pid, signal.SIGCONT)
            return
        send(pid, signal.SIGKILL if what == "server killed" else signal.SIGTERM)
        self.server.restart(rng)

    def inject_process_fault(self, rng):
        c, guard = self.victim(rng)
        if c is None:
            return
        pid = c.process.pid
        what = rng.choice(["conclave killed", "conclave killed", "conclave ended", "conclave stopped",
                           "guard killed", "guard stopped", "command killed"])
        self.record(what, c)
        if what == "conclave killed":
            if send(pid, signal.SIGKILL):
                c.killed = time.monotonic_ns()
            return  # without a fault in its guard
        if what == "conclave ended":
            send(pid, signal.SIGTERM)
        elif what in ("conclave stopped", "guard stopped"):
            stopped = pid if what == "conclave stopped" else guard
            send(stopped, signal.SIGSTOP)
            end = time.monotonic() + rng.uniform(0.1, 3)
            # If `conclave` has exited, resume its guard at once, because the guard must keep the
            # lock.
            while time.monotonic() < end and c.process.poll() is None:
                time.sleep(0.002)
            send(stopped, signal.SIGCONT)
        elif what == "guard killed":
            send(guard, signal.SIGKILL)
            end = time.monotonic() + 5  # waits for a new guard
            while (c.process.poll() is None and time.monotonic() < end
                   and c.guard() in (None, guard)):
                time.sleep(0.005)
        else:
            for child in children(pid):
                if child != guard:
                    send(child, signal.SIGKILL)
        c.has_fault = False

    def inject_faults(self, seed, inject, longest_pause):
        rng = random.Random(seed)
        while not self.over.wait(rng.uniform(0.05, longest_pause)):
            try:
                inject(rng)
            except Exception as e:  # an error in the driver must fail the run
                self.failed.append(f"the driver failed: {e!r}")
                return

    # --- checks

    def holds(self):
        found = {}
        with open(self.history, "a+") as f:  # creates the file if it does not exist
            f.seek(0)
            for line in f:
                if not line.endswith("\n"):
                    break  # the line is still being written
                run, resource, token, what, at = line.split()
                at = int(at)
                h = found.get((run, resource, token))
                if h is None:
                    h = found[run, resource, token] = Hold(
                        len(found) + 1, self.commands[int(run)], resource, int(token), at, at)
                h.first, h.last = min(h.first, at), max(h.last, at)
                if what != "background":
                    h.command_ended = max(h.command_ended, at)
                if what == "done":
                    h.done = at
        return list(found.values())

    def hits(self, holds):
        return collections.Counter(
            (h.row(at), what) for at, what, command in list(self.faults) for h in holds
            if h.hit(at) and command in (None, h.by))

    def write_events(self, holds):
        """Writes the events for the checkers.

        An event is (time, order, line). At the same time, a grant comes before the end of another
        hold, so that such holds overlap.
        """
        events = []
        for h in holds:
            how = {"lock shared": " shared", "lock permits": f" permits={PERMITS}"}.get(h.by.kind, "")
            for r in h.resource.split(","):
                events.append((h.first, 0, f"granted {h.number} {h.by} {h.token} {r}{how}"))
            events.append((h.last, 1, f"ended {h.number}"))
            if h.done is None or not h.resource.startswith("item:"):
                continue
            item = h.resource.removeprefix("item:")
            if h.by.code == 0:
                events.append((h.by.exited, 2, f"delivered {item}"))
            elif h.by.killed is None or h.by.killed > h.done:
                events.append((h.by.exited, 2, f"delivery-unknown {item}"))
        events += [(at, 2, f"pushed {item} {fate}") for at, item, fate in self.pushes]
        events += [(at, 2, f"delivered {item}") for at, item in self.popped]
        events += [(at, 3, what + (f" {command}" if command else ""))
                   for at, what, command in self.faults]
        for c in self.commands.values():
            if c.exited is not None:
                events.append((c.exited, 3, f"exited {c} {c.code}{self.stderr_of(c)}"))
        with open(self.events, "w") as f:
            for at, order, text in sorted(events):
                f.write(f"# {at} {text}\n" if order == 3 else f"{at} {text}\n")
        return collections.Counter(text.split()[0] for _, order, text in events if order != 3)

    def stderr_of(self, c):
        try:
            with open(self.messages(c)) as f:
                return "".join(": " + line.strip() for line in f)
        except FileNotFoundError:
            return ""

    def exit_codes(self, holds):
        """Checks that the exit codes are correct."""
        ran = {h.by for h in holds}
        done = {h.by for h in holds if h.done is not None}
        for c in self.commands.values():
            if c.code == 0 and c not in done:
                self.failed.append(f"{c} exited with 0, but its command was not done")
            if c.code == 1 and c.kind.startswith("lock") and c in ran:
                self.failed.append(f"{c} exited with 1 (not acquired), but its command ran")

    def empty_queue(self):
        """Pops all items. Items that dead workers had claimed return when their sessions expire."""
        end = time.monotonic() + 30
        while self.conclave("queue", "len", "q").stdout.strip() != "0":
            if time.monotonic() > end:
                left = self.conclave("queue", "ls", "q").stdout
                self.failed.append(f"items stay claimed after all workers have ended: {left}")
                return
            r = self.conclave("queue", "pop", "-n", "1000", "-w", "0.5", "q")
            if r.returncode not in (0, 1):
                self.failed.append(f"queue pop ended with {r.returncode}: {r.stderr}")
            self.popped += [(time.monotonic_ns(), item) for item in r.stdout.splitlines()]

    def result(self):
        self.empty_queue()
        holds = self.holds()
        events = self.write_events(holds)
        self.failed += judge(self.judge, self.events)
        self.exit_codes(holds)
        self.failed += self.server.problems()
        codes = collections.Counter((c.kind, c.code) for c in self.commands.values())
        return Result(self.failed, len(holds), self.hits(holds), codes, events)

    def run(self, seconds, workers):
        threads = [threading.Thread(target=self.work, args=(self.random.getrandbits(32),))
                   for _ in range(workers)]
        # Server faults are rare, because each restart gives dead sessions a new timeout.
        faults = ((self.inject_server_fault, 6), (self.inject_process_fault, 0.9),
                  (self.inject_process_fault, 0.9))
        threads += [threading.Thread(target=self.inject_faults,
                                     args=(self.random.getrandbits(32), *f))
                    for f in faults]
        for t in threads:
            t.start()
        time.sleep(seconds)
        # At least one fault must hit a hold. On a busy machine, this may take longer.
        end = time.monotonic() + LONGEST_START
        while not self.hits(self.holds()) and time.monotonic() < end:
            time.sleep(0.5)
        self.over.set()
        for t in threads:
            t.join()

    def close(self):
        self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def chaos(binary, judge, server, seconds, seed, workers=12, report=None):
    """Returns a Result. If there are violations, copies the history to the folder `report`."""
    r = Run(binary, judge, server, seed)
    try:
        r.run(seconds, workers)
        result = r.result()
        if report and result.violations:
            os.makedirs(report, exist_ok=True)
            shutil.copy(r.events, os.path.join(report, f"{server}-{seed}.history"))
        return result
    finally:
        r.close()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--binary", required=True)
    p.add_argument("--judge", required=True)
    p.add_argument("--seconds", type=float, default=60, help="duration for each server")
    p.add_argument("--server", choices=[*SERVERS, "all"], default="all")
    p.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    p.add_argument("--report", help="folder for histories with violations")
    a = p.parse_args()
    bad = False
    for server in SERVERS if a.server == "all" else [a.server]:
        r = chaos(os.path.abspath(a.binary), os.path.abspath(a.judge), server, a.seconds, a.seed,
                  report=a.report)
        print(f"{server}, seed {a.seed}: {r.holds} holds; {dict(r.events)}; {len(r.violations)} "
              f"violations\n\nFaults during holds, by kind of command:\n\n{r.table()}\n\n"
              f"Exit codes: { {' '.join(map(str, k)): n for k, n in sorted(r.codes.items())} }\n",
              flush=True)
        for line in r.violations:
            print("VIOLATION", line)
        bad = bad or bool(r.violations) or r.holds == 0 or not r.hits
    return bad


if __name__ == "__main__":
    sys.exit(main())
