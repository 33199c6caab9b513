"""Shared by the workers for kazoo. recipe_worker.hpp documents the commands and replies."""

import os
import sys
import threading

from kazoo.client import KazooClient

CONNECT_SECONDS = 20


def connect(servers, count):
    sessions = [KazooClient(hosts=servers, timeout=30) for _ in range(count)]
    for connected in [zk.start_async() for zk in sessions]:
        if not connected.wait(CONNECT_SECONDS):
            raise RuntimeError("cannot connect to the server in time")
    return sessions


def start_threads(functions):
    threads = [threading.Thread(target=f, daemon=True) for f in functions]
    for thread in threads:
        thread.start()
    return threads


def start_closing(sessions):
    """Closes each session on its own thread."""

    def close(zk):
        zk.stop()
        zk.close()

    return start_threads([lambda zk=zk: close(zk) for zk in sessions])


def abort_round(operation, error):
    """Exits, because a round with an error cannot be used."""
    print(f"{operation}: {error!r}", file=sys.stderr, flush=True)
    os._exit(1)


def serve(load_class):
    """Executes commands. load_class(*words of `prepare`) has start(), count() and stop(*words)."""
    load = None
    for line in sys.stdin:
        command, *words = line.split()
        if command == "prepare":
            load = load_class(*words)
            print("ready", flush=True)
        elif command == "start":
            load.start()
            print("started", flush=True)
        elif command == "count":
            print("count", load.count(), flush=True)
        elif command == "stop":
            print("stopped", *load.stop(*words), flush=True)
            load = None
