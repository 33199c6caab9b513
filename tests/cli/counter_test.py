"""Read, add one, write, under a lock, by many at once: nothing is lost, whoever is killed."""

import os
import random
import re
import subprocess

from conftest import BINARY, until

AT_ONCE = 20


def write(world, name, text):
    with open(world.path(name), "w") as f:
        f.write(text)


def test_two_hundred_in_parallel_count_to_two_hundred(world):
    write(world, "f", "0\n")
    add = "n=$(cat f); echo $((n+1)) > f"
    one = f'"{BINARY}" lock counter -- sh -c "$0" || echo "failed with $?"'
    numbers = "".join(f"{i}\n" for i in range(200))
    # The number is an argument that nobody looks at.
    p = world.start("xargs", "-n", "1", "-P", str(AT_ONCE), "sh", "-c", one, add,
                    stdin=subprocess.PIPE)
    assert p.communicate(numbers) == ("", "")
    assert p.returncode == 0
    assert world.read("f") == "200\n"


def test_without_the_lock_some_are_lost(world):
    """What the lock is for: otherwise the tests here would show nothing."""
    write(world, "f", "0\n")
    # Each waits for the other between reading and writing.
    os.mkfifo(world.path("a"))
    os.mkfifo(world.path("b"))
    one = world.start("sh", "-c", "n=$(cat f); echo >a; read x <b; echo $((n+1)) >f")
    two = world.start("sh", "-c", "n=$(cat f); read x <a; echo >b; echo $((n+1)) >f")
    assert (one.wait(), two.wait()) == (0, 0)
    assert world.read("f") == "1\n"


def test_the_same_with_kills_at_random(world):
    """The commands of those who are killed go on, and still hold the lock until they have ended."""
    write(world, "f", "0\n")
    write(world, "log", "")
    # A moment between reading and writing, so that a lock that is let go too early shows; the
    # begin and the end must alternate.
    line = ("echo begin $$ $PPID >>log; n=$(cat f); for i in 1 2 3; do /bin/true; done; "
            "echo $((n+1)) >f; echo end $$ >>log")
    chance = random.Random()
    left, running, killed, holders_killed = 120, [], 0, 0
    while left or running:
        running = [p for p in running if p.poll() is None]
        while left and len(running) < AT_ONCE:
            left -= 1
            running.append(world.start_conclave("lock", "counter", "--", "sh", "-c", line,
                                                stdout=subprocess.DEVNULL,
                                                stderr=subprocess.DEVNULL))
        if left and chance.random() < 0.7:
            # Only conclave itself, not its group: one of those who wait, or who held it just now.
            holder = until(lambda: re.findall(r"begin \d+ (\d+)\n", world.read("log")), "one")[-1]
            holders = [p for p in running if p.pid == int(holder)]
            if chance.random() < 0.3:
                holders = []
            chance.choice(holders or running).kill()
            killed += 1
            holders_killed += len(holders)
        until(lambda: not running or any(p.poll() is not None for p in running), "the end of one")
    # Those that were left alone hold it no more: the last has ended when we get it.
    world.ok("lock", "counter", "--", "true")
    log = [entry.split() for entry in world.read("log").splitlines()]
    assert holders_killed > 0 and len(log) % 2 == 0
    for begin, end in zip(log[::2], log[1::2]):
        assert (begin[0], end[0]) == ("begin", "end") and begin[1] == end[1], log
    assert int(world.read("f")) == len(log) // 2 >= 120 - killed
