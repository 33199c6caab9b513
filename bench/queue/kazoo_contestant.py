#!/usr/bin/python3
"""kazoo's side of the benchmark; contestant.hpp tells what it is told and what it answers."""

import os
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.recipe.queue import LockingQueue, Queue

PATIENCE_SECONDS = 20
END_SECONDS = 3


class Flow:
    """Threads that fill and empty one queue, each with a session of its own; see flow.hpp."""

    def __init__(self, mode, servers, path, producers, consumers, first, items, size):
        self.recipe = LockingQueue if mode == "claiming" else Queue
        self.path = path
        self.items = items
        self.size = size
        self.open = threading.Event()
        self.stopped = False
        self.begun = 0
        self.sessions = [KazooClient(hosts=servers, timeout=30) for _ in range(producers + consumers)]
        for connected in [zk.start_async() for zk in self.sessions]:
            if not connected.wait(PATIENCE_SECONDS):
                raise RuntimeError("no connection")
        self.counts = [0] * consumers
        self.sums = [0] * consumers
        self.lasts = [0] * consumers
        self.changed = [threading.Event() for _ in range(consumers)]
        self.threads = [
            threading.Thread(
                target=self.run, args=(self.produce, zk, first + i * items), daemon=True
            )
            for i, zk in enumerate(self.sessions[:producers])
        ] + [
            threading.Thread(target=self.run, args=(self.consume, zk, i), daemon=True)
            for i, zk in enumerate(self.sessions[producers:])
        ]
        for thread in self.threads:
            thread.start()

    def run(self, work, zk, number):
        self.open.wait()
        try:
            work(zk, self.recipe(zk, self.path), number)
        except Exception as e:  # whatever it is, a round with an error in it is no measurement
            if not self.stopped:
                print(f"queue: {e!r}", file=sys.stderr, flush=True)
                os._exit(1)

    def go(self):
        self.begun = time.monotonic_ns()
        self.open.set()

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
        """A Queue cannot wait by itself."""
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
        self.open.set()
        for changed in self.changed:
            changed.set()
        found = (sum(self.counts), sum(self.sums), self.begun, max(self.lasts, default=0))
        closers = [threading.Thread(target=self.close, args=(zk,)) for zk in self.sessions]
        for thread in closers:
            thread.start()
        end = time.monotonic() + END_SECONDS
        for thread in closers:
            thread.join(max(0, end - time.monotonic()))
        return found

    @staticmethod
    def close(zk):
        zk.stop()
        zk.close()


def main():
    flow = None
    for line in sys.stdin:
        command, *words = line.split()
        if command == "run":
            mode, servers, path, *numbers = words
            flow = Flow(mode, servers, path, *map(int, numbers))
            print("ready", flush=True)
        elif command == "go":
            flow.go()
            print("going", flush=True)
        elif command == "count":
            print("count", flow.count(), flush=True)
        elif command == "stop":
            print("stopped", *flow.stop(), flush=True)
            flow = None


if __name__ == "__main__":
    main()
