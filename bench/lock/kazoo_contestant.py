#!/usr/bin/python3
"""kazoo's side of the benchmark; contestant.hpp tells what it is told and what it answers."""

import os
import sys
import threading
import time
from array import array

from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock

PATIENCE_SECONDS = 20
END_SECONDS = 3
SHORT_LINE = 32


class Contest:
    """Threads that take and leave one lock; see contest.hpp."""

    def __init__(self, servers, path, sessions, contenders, first):
        self.open = threading.Event()
        self.stopped = False
        self.sessions = [KazooClient(hosts=servers, timeout=30) for _ in range(sessions)]
        for connected in [zk.start_async() for zk in self.sessions]:
            if not connected.wait(PATIENCE_SECONDS):
                raise RuntimeError("no connection")
        self.cycles = [array("q") for _ in range(contenders)]
        self.threads = [
            threading.Thread(target=self.run, args=(path, i, first + i), daemon=True)
            for i in range(contenders)
        ]
        for thread in self.threads:
            thread.start()

    def run(self, path, index, number):
        try:
            lock = Lock(self.sessions[index % len(self.sessions)], path)
            self.contend(lock, number, self.cycles[index])
        except Exception as e:  # whatever it is, a round with an error in it is no measurement
            if not self.stopped:
                print(f"lock: {e!r}", file=sys.stderr, flush=True)
                os._exit(1)

    def contend(self, lock, number, mine):
        now = time.monotonic_ns
        while not self.stopped:
            lock_called = now()
            lock.acquire()
            acquired = now()
            self.open.wait()
            unlock_called = now()
            lock.release()
            mine.extend((number, lock_called, acquired, unlock_called, now()))

    def count(self):
        return sum(len(mine) for mine in self.cycles) // 5

    def stop(self, file):
        self.stopped = True
        self.open.set()
        end = time.monotonic() + END_SECONDS
        with open(file, "wb") as out:
            for mine in self.cycles:
                mine[:].tofile(out)
        if len(self.threads) <= SHORT_LINE:  # it drains; a long one takes too long
            for thread in self.threads:
                thread.join(max(0, end - time.monotonic()))
        closers = [threading.Thread(target=self.close, args=(zk,)) for zk in self.sessions]
        for thread in closers:
            thread.start()
        for thread in closers:
            thread.join()

    @staticmethod
    def close(zk):
        zk.stop()
        zk.close()


def main():
    contest = None
    for line in sys.stdin:
        command, *words = line.split()
        if command == "run":
            _, servers, path, *numbers = words
            contest = Contest(servers, path, *map(int, numbers))
            print("ready", flush=True)
        elif command == "go":
            contest.open.set()
            print("going", flush=True)
        elif command == "count":
            print("count", contest.count(), flush=True)
        elif command == "stop":
            contest.stop(words[0])
            contest = None
            print("stopped", flush=True)


if __name__ == "__main__":
    main()
