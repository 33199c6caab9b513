#!/usr/bin/python3
"""Contends for a lock with kazoo; lock_contender.cpp describes the command line and the history."""

import os
import random
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock, ReadLock, WriteLock

KINDS = {"mutex": (Lock, "exclusive"), "read": (ReadLock, "shared"), "write": (WriteLock, "exclusive")}


def read_counter(file):
    with open(file, encoding="ascii") as text:
        return int(text.read())


def write_counter(file, value):
    with open(file, "r+", encoding="ascii") as text:  # r+: the file is not truncated first
        text.write(str(value))


def stay(hold):
    if hold == "forever":
        threading.Event().wait()
    time.sleep(random.uniform(0, int(hold)) / 1000)


def use(mode, hold, counter):
    count = read_counter(counter)
    stay(hold)
    if mode == "exclusive":
        write_counter(counter, count + 1)
    elif read_counter(counter) != count:
        raise RuntimeError("a writer worked while a reader read")


def contend(number, kind, connect, path, cycles, hold, add, counter, session_ms):
    zk = KazooClient(hosts=connect, timeout=session_ms / 1000)
    zk.start()
    if cycles == 0:
        with open(counter, "w", encoding="ascii") as out:
            out.writelines(f"{each}\n" for each in zk.Election(path).contenders())
    # Like Election, but without a function to run.
    recipe, mode = KINDS.get(kind, (Lock, "exclusive"))
    lock = zk.Election(path, f"kazoo-{number}").lock if kind == "leader" else recipe(zk, path)
    for i in range(cycles):
        lock.acquire()
        add(f"acquired {number} {mode} {time.monotonic_ns()} 0")
        use(mode, hold, counter)
        add(f"released {number} {time.monotonic_ns()}")
        lock.release()
        if i % 2 == 0:
            stay(hold)
    zk.stop()
    zk.close()


def main():
    connect, path, kinds, layout, cycles, hold, history, counter, session_ms = sys.argv[1:]
    if layout != "kazoo":
        sys.exit("kazoo has one layout only")
    log = os.open(history, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    failed = []

    def add(line):
        os.write(log, (line + "\n").encode("ascii"))

    def run(number, kind):
        try:
            contend(number, kind, connect, path, int(cycles), hold, add, counter, int(session_ms))
        except Exception:  # on any error, the process must fail
            traceback.print_exc()
            failed.append(number)

    threads = [
        threading.Thread(target=run, args=(number, kind), daemon=True)
        for number, kind in enumerate(kinds.split(","))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
