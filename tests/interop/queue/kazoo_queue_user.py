#!/usr/bin/python3
"""Uses a queue with kazoo; queue_user.cpp describes the command line and the history."""

import os
import random
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient
from kazoo.recipe.queue import LockingQueue, Queue

DEFAULT_PRIORITY = 100
CONNECT_SECONDS = 20


def taken_from(zk, path, queue):
    """Waits for an item of a Queue, which cannot wait by itself."""
    while True:
        item = queue.get()
        if item is not None:
            return item
        changed = threading.Event()
        if not zk.get_children(path, watch=lambda event: changed.set()):
            changed.wait()


class User:
    def __init__(self, connect, path, recipe, role, pace, add, session_ms):
        self.path = path
        self.locking = recipe == "kazoo_locking"
        self.role, *self.arguments = role.split(":")
        self.pace = pace
        self.add = add
        self.zk = KazooClient(hosts=connect, timeout=session_ms / 1000)
        self.zk.start(CONNECT_SECONDS)
        self.queue = (LockingQueue if self.locking else Queue)(self.zk, path)

    def run(self):
        {
            "produce": self.produce,
            "consume": self.consume,
            "hold": self.hold,
            "give-back": self.give_back,
        }[self.role](*self.arguments)
        self.zk.stop()
        self.zk.close()

    def stay_away(self):
        time.sleep(random.uniform(0, self.pace) / 1000)

    def produce(self, name, count, priority=DEFAULT_PRIORITY):
        for i in range(int(count)):
            item = f"{name}-{i}"
            self.queue.put(item.encode("ascii"), int(priority))
            self.add(f"pushed {item}")
            self.stay_away()

    def consume(self):
        item = None
        while item != "end":
            item = self.claim_and_complete() if self.locking else self.pop()
            self.add(f"popped {item}")
            self.stay_away()

    def pop(self):
        return taken_from(self.zk, self.path, self.queue).decode("ascii")

    def claim(self):
        item = self.queue.get().decode("ascii")
        self.add(f"claimed {item}")
        return item

    def claim_and_complete(self):
        item = self.claim()
        self.stay_away()
        if not self.queue.consume():
            raise RuntimeError(f"{item} was no longer ours")
        return item

    def hold(self):
        self.claim()
        threading.Event().wait()

    def give_back(self):
        item = self.claim()
        if not self.queue.release():
            raise RuntimeError(f"{item} was no longer ours")
        self.add(f"gave-back {item}")


def main():
    connect, path, recipe, roles, pace, gate, history, session_ms = sys.argv[1:]
    if recipe not in ("kazoo", "kazoo_locking"):
        sys.exit(f"kazoo has no recipe {recipe}")
    log = os.open(history, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    failed = []

    def add(line):
        os.write(log, (line + "\n").encode("ascii"))

    def run(user):
        try:
            user.run()
        except Exception:  # on any error, the process must fail
            traceback.print_exc()
            failed.append(user)

    users = [
        User(connect, path, recipe, role, int(pace), add, int(session_ms))
        for role in roles.split(",")
    ]
    with open(gate, "rb") as pipe:  # opened before the pipe can be closed
        add("ready")
        pipe.read()
    threads = [threading.Thread(target=run, args=(user,), daemon=True) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
