"""Chaos at the command line: `conclave lock`, `elect` and `queue work` as processes, whose commands
leave children in the background. Their server is killed, stopped and restarted; `conclave`, its guards
and its commands are killed and stopped.

The commands themselves append to a history when they were alive, by the monotonic clock. It is judged
for exclusion: no two holds of one resource overlap, and later holds have greater fencing tokens. A hold
lasts from the first to the last sign of life of any process of the command.

    process_chaos.py --binary build/release/src/cli/conclave --seconds 300 --server local

Never are a `conclave` and its guard hit at the same time: then nobody is left to keep the lock when the
server ends as well (docs/cli.md).
"""

import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "holder.py")
SESSION = "2s"


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


class Run:
    def __init__(self, binary, server, seed):
        self.binary, self.kind = binary, server
        self.random = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="chaos")
        self.history = os.path.join(self.folder, "history")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("CONCLAVE_")}
        self.env.update(CONCLAVE_CONFIG="/dev/null", CONCLAVE_LOCAL=self.folder + "/local")
        # LeakSanitizer stops all threads to look for leaks, and hangs if a SIGSTOP does so, too.
        self.env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.socket = self.folder + "/local/socket"
        self.server = None
        if server == "served":  # by us, as a system server is by systemd
            self.socket = self.folder + "/served"
            self.env["CONCLAVE_CONNECT"] = "unix:" + self.socket
            self.serve()
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.running = {}  # Popen: whether it is being hurt
        self.faults = []   # (time, what)
        self.codes = collections.Counter()
        self.pushed = set()
        self.failed = []

    # --- servers

    def serve(self):
        self.server = subprocess.Popen(
            [self.binary, "serve", "--data", self.folder + "/data", "--socket", self.socket,
             "--quiet", "--tick", "200ms"], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.server.stdout.readline()

    def server_pid(self):
        if self.server:
            return self.server.pid
        import socket as sockets
        import struct
        with sockets.socket(sockets.AF_UNIX) as s:
            try:
                s.settimeout(0.2)
                s.connect(self.socket)
                credentials = s.getsockopt(sockets.SOL_SOCKET, sockets.SO_PEERCRED, 12)
                return struct.unpack("iii", credentials)[0]
            except OSError:
                return None

    # --- what is done

    def command(self, rng, resource):
        # Some outlive a session that nobody keeps: a short timeout is 2 s, or 4 s on a local server.
        background = rng.choice([0, 0, 0, 0, rng.randint(50, 1500), rng.randint(3000, 7000)])
        if resource == "item":  # which is completed when the command ends
            background = 0
        return [sys.executable, "-S", "-I", HOLDER, self.history, resource,
                str(rng.randint(1, 250)), str(background), str(rng.randint(0, 1)), "0"]

    def arguments(self, rng):
        what = rng.random()
        common = ["--session-timeout", SESSION]
        if what < 0.65:
            path = rng.choice(["a", "b"])
            return ["lock", *common, "-w", "20", path, "--", *self.command(rng, "lock:" + path)]
        if what < 0.8:
            return ["elect", *common, "-q", "e", "--", *self.command(rng, "election:e")]
        name = f"item{rng.getrandbits(60)}"
        if self.conclave("queue", "push", "q", name).returncode == 0:
            self.pushed.add(name)
        return ["queue", "work", *common, "-q", "--count", "1", "q", "--",
                *self.command(rng, "item")]

    def conclave(self, *args):
        return subprocess.run([self.binary, *args], env=self.env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)

    def work(self, seed):
        rng = random.Random(seed)
        while not self.over.is_set():
            args = self.arguments(rng)
            p = subprocess.Popen([self.binary, *args], env=self.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with self.lock:
                self.running[p] = False
            while p.poll() is None:
                if self.over.is_set():
                    send(p.pid, signal.SIGCONT)
                    p.terminate()
                time.sleep(0.01)
            with self.lock:
                self.running.pop(p, None)
            self.codes[args[0], p.returncode] += 1

    # --- what goes wrong

    def note(self, what):
        self.faults.append((time.monotonic_ns(), what))

    def pair(self, rng):
        """One that has a guard, and nobody hurts it until release()."""
        with self.lock:
            for p in rng.sample(list(self.running), len(self.running)):
                guard = [c for c in children(p.pid) if name_of(c) == "conclave-guard"]
                if not self.running[p] and guard:
                    self.running[p] = True
                    return p, guard[0]
        return None, None

    def release(self, p):
        with self.lock:
            if p in self.running:
                self.running[p] = False

    def hurt_server(self, rng):
        pid = self.server_pid()
        if pid is None:
            return
        if rng.random() < 0.25:
            self.note("server stopped")
            send(pid, signal.SIGSTOP)
            time.sleep(rng.uniform(0.1, 1.5))
            send(pid, signal.SIGCONT)
            return
        s = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        self.note("server killed" if s == signal.SIGKILL else "server ended")
        send(pid, s)
        if self.server:
            self.server.wait()
            time.sleep(rng.uniform(0, 0.8))
            self.serve()

    def hurt_process(self, rng):
        p, guard = self.pair(rng)
        if p is None:
            return
        what = rng.choice(["conclave killed", "conclave killed", "conclave stopped", "guard killed",
                           "guard stopped", "command killed"])
        self.note(what)
        if what == "conclave killed":
            send(p.pid, signal.SIGKILL)
            return  # its guard is left alone
        if what == "conclave stopped" or what == "guard stopped":
            pid = p.pid if what == "conclave stopped" else guard
            send(pid, signal.SIGSTOP)
            time.sleep(rng.uniform(0.1, 3))
            send(pid, signal.SIGCONT)
        elif what == "guard killed":
            send(guard, signal.SIGKILL)
            end = time.monotonic() + 5  # until there is another one
            while p.poll() is None and time.monotonic() < end and not any(
                    name_of(c) == "conclave-guard" and c != guard for c in children(p.pid)):
                time.sleep(0.005)
        else:
            for c in children(p.pid):
                if c != guard:
                    send(c, signal.SIGKILL)
        self.release(p)

    def hurt(self, seed, what, longest_pause):
        rng = random.Random(seed)
        while not self.over.wait(rng.uniform(0.05, longest_pause)):
            try:
                what(rng)
            except Exception as e:  # the driver's own fault, which must not pass unseen
                self.failed.append(f"the driver failed: {e!r}")
                return

    # --- the judgement

    def holds(self):
        """By resource: first and last sign of life, token."""
        found = collections.defaultdict(dict)
        with open(self.history) as f:
            for line in f:
                resource, token, _, at = line.split()
                at = int(at)
                first, last = found[resource].get(int(token), (at, at))
                found[resource][int(token)] = min(first, at), max(last, at)
        return {r: sorted((*span, token) for token, span in h.items()) for r, h in found.items()}

    def judge(self):
        holds = self.holds()
        for resource, all_of_it in holds.items():
            for (_, end, token), (begin, _, later) in zip(all_of_it, all_of_it[1:]):
                if begin <= end:
                    self.failed.append(f"{resource}: held by {token} until {end} and by {later} "
                                       f"from {begin}: {(end - begin) / 1e6:.3f} ms")
                if later <= token:
                    self.failed.append(f"{resource}: token {later} after {token}")
        hits = collections.Counter(
            what for at, what in self.faults
            if any(first <= at <= last for h in holds.values() for first, last, _ in h))
        left = self.conclave("queue", "ls", "q").stdout
        begun = len([r for r in holds if r.startswith("item:")])
        if begun + left.count("\n") < len(self.pushed):
            self.failed.append(f"{len(self.pushed)} items were pushed, {begun} were begun, and "
                               f"{left.count(chr(10))} are left")
        return sum(map(len, holds.values())), hits

    def run(self, seconds, workers):
        threads = [threading.Thread(target=self.work, args=(self.random.getrandbits(32),))
                   for _ in range(workers)]
        # With each restart of the server dead sessions have their timeout once more.
        faults = (self.hurt_server, 6), (self.hurt_process, 0.9), (self.hurt_process, 0.9)
        threads += [threading.Thread(target=self.hurt, args=(self.random.getrandbits(32), *f))
                    for f in faults]
        for t in threads:
            t.start()
        time.sleep(seconds)
        self.over.set()
        for t in threads:
            t.join()

    def close(self):
        mark = f"CONCLAVE_LOCAL={self.folder}/local".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if mark in f.read().split(b"\0"):
                        os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
        if (pid := self.server_pid()) is not None:
            send(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def chaos(binary, server, seconds, seed, workers=6):
    """(violations, holds, faults by what they hit, exit codes)"""
    r = Run(binary, server, seed)
    try:
        r.run(seconds, workers)
        holds, hits = r.judge()
        return r.failed, holds, hits, r.codes
    finally:
        r.close()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--binary", required=True)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--server", choices=["local", "served", "both"], default="both")
    p.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    a = p.parse_args()
    bad = False
    for server in ["local", "served"] if a.server == "both" else [a.server]:
        failed, holds, hits, codes = chaos(os.path.abspath(a.binary), server, a.seconds, a.seed)
        print(f"{server}, seed {a.seed}: {holds} holds; faults that hit holders: {dict(hits)}; "
              f"exit codes: { {' '.join(map(str, k)): n for k, n in sorted(codes.items())} }")
        for line in failed:
            print("VIOLATION", line)
        bad = bad or bool(failed) or holds == 0 or not hits
    return bad


if __name__ == "__main__":
    sys.exit(main())
