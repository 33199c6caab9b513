#!/usr/bin/python3
"""The lock benchmark's worker for kazoo: threads that acquire and release a lock (lock_load.hpp)."""

import os
import sys
import threading
import time
from array import array

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "driver"))

from kazoo.recipe.lock import Lock
from kazoo_worker import abort_round, connect, serve, start_closing, start_threads

END_SECONDS = 3
SHORT_WAIT_QUEUE = 32


class LockLoad:
    def __init__(self, _mode, servers, path, sessions, contenders, first):
        self.started = threading.Event()
        self.stopped = False
        self.path = path
        self.first = int(first)
        self.sessions = connect(servers, int(sessions))
        self.cycles = [array("q") for _ in range(int(contenders))]
        self.threads = start_threads(
            [lambda i=i: self.run(i) for i in range(int(contenders))])

    def run(self, index):
        try:
            lock = Lock(self.sessions[index % len(self.sessions)], self.path)
            self.contend(lock, self.first + index, self.cycles[index])
        except Exception as e:
            if not self.stopped:
                abort_round("lock", e)

    def contend(self, lock, number, mine):
        now = time.monotonic_ns
        while not self.stopped:
            lock_called = now()
            lock.acquire()
            acquired = now()
            self.started.wait()
            unlock_called = now()
            lock.release()
            mine.extend((number, lock_called, acquired, unlock_called, now()))

    def start(self):
        self.started.set()

    def count(self):
        return sum(len(mine) for mine in self.cycles) // 5

    def stop(self, file):
        self.stopped = True
        self.started.set()
        end = time.monotonic() + END_SECONDS
        with open(file, "wb") as out:
            for mine in self.cycles:
                mine[:].tofile(out)
        if len(self.threads) <= SHORT_WAIT_QUEUE:  # takes long for a long wait queue
            for thread in self.threads:
                thread.join(max(0, end - time.monotonic()))
        for thread in start_closing(self.sessions):
            thread.join()
        return ()


if __name__ == "__main__":
    serve(LockLoad)
