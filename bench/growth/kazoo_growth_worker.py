#!/usr/bin/python3
"""kazoo's worker of the growth benchmark: the workloads of workloads.hpp that kazoo has."""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "driver"))

from kazoo.recipe.lock import Lock, ReadLock, WriteLock
from kazoo.recipe.election import Election
from kazoo.recipe.queue import Queue
from kazoo_worker import abort_round, connect, serve, start_threads

PATH = "/growth"
THREADS = 64

threading.stack_size(256 * 1024)


class GrowthLoad:
    def __init__(self, workload, servers, n):
        self.n = int(n)
        self.zk = connect(servers, 1)[0]
        self.done = 0
        self.lock = threading.Lock()
        self.task = {
            "locks-held": self.hold_locks,
            "locks-waited-for": lambda: self.hand_off(Lock, Lock),
            "writers": lambda: self.hand_off(WriteLock, WriteLock),
            "readers": lambda: self.hand_off(WriteLock, ReadLock),
            "candidates": self.lead,
            "queue-items": self.push_and_pop,
        }[workload]

    def start(self):
        self.run([self.task])

    def count(self):
        return self.done

    def stop(self):
        return ()  # the benchmark ends the process

    def run(self, functions):
        def checked(function):
            try:
                function()
            except Exception as e:
                abort_round("load", e)

        start_threads([lambda f=f: checked(f) for f in functions])

    def add_one(self):
        with self.lock:
            self.done += 1

    def hold_locks(self):
        all_held = threading.Barrier(THREADS)

        def hold(first):
            mine = [Lock(self.zk, f"{PATH}/n{i}") for i in range(first, self.n, THREADS)]
            for lock in mine:
                lock.acquire()
            all_held.wait()
            for lock in mine:
                lock.release()
                self.add_one()

        self.run([lambda t=t: hold(t) for t in range(THREADS)])

    def hand_off(self, first_kind, kind):
        first = first_kind(self.zk, PATH)
        first.acquire()

        def contend():
            lock = kind(self.zk, PATH)
            lock.acquire()
            lock.release()
            self.add_one()

        self.run([contend] * self.n)
        self.await_children(self.n + 1)
        first.release()

    def lead(self):
        may_end = threading.Event()
        self.run([lambda: Election(self.zk, PATH).run(may_end.wait)])
        self.await_children(1)
        self.run([lambda: Election(self.zk, PATH).run(self.add_one)] * self.n)
        self.await_children(self.n + 1)
        may_end.set()

    def push_and_pop(self):
        all_pushed = threading.Barrier(THREADS)

        def push(first):
            queue = Queue(self.zk, PATH)
            for _ in range(first, self.n, THREADS):
                queue.put(b"x" * 100)
            all_pushed.wait()
            if first == 0:  # one consumer
                while self.done < self.n:
                    if queue.get() is not None:
                        self.add_one()

        self.run([lambda t=t: push(t) for t in range(THREADS)])

    def await_children(self, wanted):
        while True:
            node = self.zk.exists(PATH)
            if node is not None and node.children_count >= wanted:
                return
            time.sleep(0.05)


if __name__ == "__main__":
    serve(GrowthLoad)
