#!/usr/bin/python3
"""Acquires locks with kazoo and waits for others; see deadlocked_tasks.cpp.

Each further line "cancel" ends the waits, and the program prints "cancelled". Each other line begins
them again.
"""

import os
import sys
import threading
import traceback

from kazoo.client import KazooClient
from kazoo.exceptions import CancelledError

WORDS_OF_TASK = 5


def run(function):
    try:
        function()
    except CancelledError:
        pass
    except Exception:  # on any error, the process must fail
        traceback.print_exc()
        os._exit(1)


def main():
    connect, *words = sys.argv[1:]
    zk = KazooClient(hosts=connect)
    zk.start()
    tasks = [words[i:i + WORDS_OF_TASK] for i in range(0, len(words), WORDS_OF_TASK)]
    for name, held, *_ in tasks:
        zk.Lock(held, name).acquire()
    print("holds", flush=True)
    waits, threads = [], []
    for line in sys.stdin:
        if line == "cancel\n":
            for lock in waits:
                lock.cancel()
            for thread in threads:
                thread.join()
            print("cancelled", flush=True)
            continue
        waits = [zk.Lock(awaited, name) for name, _, _, awaited, _ in tasks]
        threads = [threading.Thread(target=run, args=(lock.acquire,), daemon=True) for lock in waits]
        for thread in threads:
            thread.start()


if __name__ == "__main__":
    main()
