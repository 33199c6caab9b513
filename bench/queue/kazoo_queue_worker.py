#!/usr/bin/python3
"""The queue benchmark's worker for kazoo: threads that fill and empty a queue (queue_load.hpp)."""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "driver"))

from kazoo.recipe.queue import LockingQueue, Queue
from kazoo_worker import abort_round, connect, serve, start_closing, start_threads

END_SECONDS = 3


class QueueLoad:
    def __init__(self, mode, servers, path, *numbers):
        producers, consumers, first, self.items, self.size = map(int, numbers)
        self.recipe = LockingQueue if mode == "claiming" else Queue
        self.path = path
        self.started = threading.Event()
        self.stopped = False
        self.begun = 0
        self.sessions = connect(servers, producers + consumers)
        self.counts = [0] * consumers
        self.sums = [0] * consumers
        self.lasts = [0] * consumers
        self.changed = [threading.Event() for _ in range(consumers)]
        start_threads(
            [lambda zk=zk, i=i: self.run(self.produce, zk, first + i * self.items)
             for i, zk in enumerate(self.sessions[:producers])]
            + [lambda zk=zk, i=i: self.run(self.consume, zk, i)
               for i, zk in enumerate(self.sessions[producers:])])

    def run(self, work, zk, number):
        self.started.wait()
        try:
            work(zk, self.recipe(zk, self.path), number)
        except Exception as e:
            if not self.stopped:
                abort_round("queue", e)

    def start(self):
        self.begun = time.monotonic_ns()
        self.started.set()

    def produce(self, zk, queue, first):
        for number in range(first, first + self.items):
            if self.stopped:
                return
            queue.put(str(number).ljust(self.size).encode("ascii"))

    def consume(self, zk, queue, index):
        while not self.stopped:
            if self.recipe is LockingQueue:
                item = queue.get()
                if not queue.consume():
                    raise RuntimeError("an item was no longer ours")
            else:
                item = self.pop(zk, queue, self.changed[index])
                if item is None:
                    return
            self.sums[index] += int(item)
            self.lasts[index] = time.monotonic_ns()
            self.counts[index] += 1

    def pop(self, zk, queue, changed):
        """Waits for an item with a watch, because kazoo's Queue cannot wait."""
        while True:
            item = queue.get()
            if item is not None or self.stopped:
                return item
            changed.clear()
            if not zk.get_children(self.path, watch=lambda event: changed.set()):
                changed.wait()

    def count(self):
        return sum(self.counts)

    def stop(self):
        self.stopped = True
        self.started.set()
        for changed in self.changed:
            changed.set()
        found = (sum(self.counts), sum(self.sums), self.begun, max(self.lasts, default=0))
        closing = start_closing(self.sessions)
        end = time.monotonic() + END_SECONDS
        for thread in closing:
            thread.join(max(0, end - time.monotonic()))
        return found


if __name__ == "__main__":
    serve(QueueLoad)
