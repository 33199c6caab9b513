"""Many processes increment a counter in a file under a lock. No increment is lost, even with
kills."""

import os
import random
import re
import subprocess

from conftest import BINARY, until

CONCURRENT = 20


def write(world, name, text):
    with open(world.path(name), "w") as f:
        f.write(text)


def test_two_hundred_concurrent_increments(world):
    write(world, "f", "0\n")
    add = "n=$(cat f); echo $((n+1)) > f"
    one = f'"{BINARY}" lock counter -- sh -c "$0" || echo "failed with $?"'
    numbers = "".join(f"{i}\n" for i in range(200))
    # The command does not use the number, which xargs appends as an argument.
    p = world.start("xargs", "-n", "1", "-P", str(CONCURRENT), "sh", "-c", one, add,
                    stdin=subprocess.PIPE)
    assert p.communicate(numbers) == ("", "")
    assert p.returncode == 0
    assert world.read("f") == "200\n"


def test_without_the_lock_increments_are_lost(world):
    """Shows that the other tests here would fail without the lock."""
    write(world, "f", "0\n")
    # Each process waits for the other between reading and writing.
    os.mkfifo(world.path("a"))
    os.mkfifo(world.path("b"))
    one = world.start("sh", "-c", "n=$(cat f); echo >a; read x <b; echo $((n+1)) >f")
    two = world.start("sh", "-c", "n=$(cat f); read x <a; echo >b; echo $((n+1)) >f")
    assert (one.wait(), two.wait()) == (0, 0)
    assert world.read("f") == "1\n"


def test_concurrent_increments_with_random_kills(world):
    """If `conclave` is killed, its command continues and holds the lock until it has ended."""
    write(world, "f", "0\n")
    write(world, "log", "")
    # Takes some time between reading and writing, to detect a lock that is released too early.
    # Lines with begin and end must alternate.
    line = ("echo begin $$ $PPID >>log; n=$(cat f); for i in 1 2 3; do /bin/true; done; "
            "echo $((n+1)) >f; echo end $$ >>log")
    chance = random.Random()
    left, running, killed, holders_killed = 120, [], 0, 0
    while left or running:
        running = [p for p in running if p.poll() is None]
        while left and len(running) < CONCURRENT:
            left -= 1
            running.append(world.start_conclave("lock", "counter", "--", "sh", "-c", line,
                                                stdout=subprocess.DEVNULL,
                                                stderr=subprocess.DEVNULL))
        if left and chance.random() < 0.7:
            # Kills only conclave itself, not its process group. It is a waiter or the last known
            # holder.
            holder = until(lambda: re.findall(r"begin \d+ (\d+)\n", world.read("log")), "log")[-1]
            holders = [p for p in running if p.pid == int(holder)]
            if chance.random() < 0.3:
                holders = []
            chance.choice(holders or running).kill()
            killed += 1
            holders_killed += len(holders)
        until(lambda: not running or any(p.poll() is not None for p in running), "a command's end")
    # When this command is granted the lock, the last command of a killed conclave has ended.
    world.ok("lock", "counter", "--", "true")
    log = [entry.split() for entry in world.read("log").splitlines()]
    assert holders_killed > 0 and len(log) % 2 == 0
    for begin, end in zip(log[::2], log[1::2]):
        assert (begin[0], end[0]) == ("begin", "end") and begin[1] == end[1], log
    assert int(world.read("f")) == len(log) // 2 >= 120 - killed
