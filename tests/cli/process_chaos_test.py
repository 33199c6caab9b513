"""A short run of process_chaos.py. `make chaos SERVER=processes` runs longer."""

import os

import pytest
from conftest import BINARY
from process_chaos import SERVERS, Command, Run, chaos, judge
from system_server_test import needs_mount

JUDGE = os.environ["CONCLAVE_JUDGE"]
SECONDS = 3.5


@pytest.mark.parametrize("server", [
    pytest.param(s, marks=[needs_mount] if s == "system" else []) for s in SERVERS])
def test_locks_are_exclusive_under_faults(server):
    seed = int.from_bytes(os.urandom(4), "big")
    r = chaos(BINARY, JUDGE, server, SECONDS, seed)
    assert r.violations == [], seed
    assert r.holds > 0 and sum(r.hits.values()) > 0, (seed, r)


# --- tests of the driver and the checkers with given histories


@pytest.fixture
def run():
    r = Run(BINARY, JUDGE, "local", 1)
    yield r
    r.close()


def violations(run, *lines, commands):
    """Checks a history of lines "RUN RESOURCE TOKEN WHAT TIME", the format of holder.py."""
    run.commands = {c.number: c for c in commands}
    with open(run.history, "w") as f:
        f.writelines(line + "\n" for line in lines)
    holds = run.holds()
    run.write_events(holds)
    run.exit_codes(holds)
    return judge(JUDGE, run.events) + run.failed


def command(number, kind, code=0, **rest):
    return Command(number, kind, [], code=code, exited=10_000, **rest)


def test_consecutive_holds_are_accepted(run):
    assert violations(
        run,
        "1 lock:a 5 command 100", "1 lock:a 5 done 200", "1 lock:a 5 background 300",
        "2 lock:a,lock:b 6 command 301", "2 lock:a,lock:b 6 done 400",
        "3 lock:rw 7 command 100", "4 lock:rw 8 command 101",
        "3 lock:rw 7 done 200", "4 lock:rw 8 done 200",
        commands=[command(1, "lock"), command(2, "lock several"), command(3, "lock shared"),
                  command(4, "lock shared")]) == []


@pytest.mark.parametrize("kinds, resources", [
    (["lock", "lock"], ["lock:a", "lock:a"]),
    (["lock", "lock several"], ["lock:b", "lock:a,lock:b"]),
    (["lock shared", "lock beside shared"], ["lock:rw", "lock:rw"]),
    (["lock beside shared", "lock shared"], ["lock:rw", "lock:rw"]),
    (["elect", "elect forever"], ["election:e", "election:e"]),
    (["queue work", "queue work"], ["item:x", "item:x"])])
@pytest.mark.parametrize("what", ["command", "background"])
def test_two_holders_are_found(run, kinds, resources, what):
    found = violations(run, f"1 {resources[0]} 5 command 100", f"1 {resources[0]} 5 {what} 300",
                   f"2 {resources[1]} 6 command 300",
                   commands=[command(1, kinds[0], 7), command(2, kinds[1], 7)])
    first, second = (k.replace(" ", "_") for k in kinds)
    assert found == [f"300: {second}#2 was granted {resources[0]} while {first}#1 held it"]


def test_too_many_permits_are_found(run):
    lines = [f"{n} lock:p {n} command {at}" for at in (1, 9) for n in (1, 2, 3)]
    found = violations(run, *lines, commands=[command(n, "lock permits", 7) for n in (1, 2, 3)])
    assert found == ["1: lock_permits#3 is number 3 to hold lock:p, of 2"]


def test_a_decreasing_token_is_found(run):
    found = violations(run, "1 lock:a 5 command 100", "2 lock:a 4 command 200",
                   commands=[command(1, "lock", 7), command(2, "lock", 7)])
    assert found == ["200: lock#2 was granted lock:a with token 4 after 5"]


def test_lost_and_duplicated_items_are_found(run):
    worked = ["1 item:x 5 command 100", "1 item:x 5 done 200"]
    run.pushes = [(1, "x", "done")]
    assert violations(run, *worked, commands=[command(1, "queue work")]) == []
    # It is not known whether the item was completed. It may still be in the queue or not.
    for popped in [], [(900, "x")]:
        run.popped = popped
        for killed in None, 201:
            ended = command(1, "queue work", -9, killed=killed)
            assert violations(run, *worked, commands=[ended]) == []
    run.popped = []
    lost = ["200: 1 items are missing, 0 may be"]
    assert violations(run, *worked, commands=[command(1, "queue work", -9, killed=199)]) == lost
    assert violations(run, worked[0], "1 item:x 5 command 200",
                  commands=[command(1, "queue work", 1)]) == lost
    run.popped = [(20_000, "x")]
    assert violations(run, *worked, commands=[command(1, "queue work")]) == [
        "20000: x was delivered twice"]


def test_wrong_exit_codes_are_found(run):
    assert violations(run, "1 lock:a 5 command 100", commands=[command(1, "lock")]) == [
        "lock#1 exited with 0, but its command was not done"]
    run.failed.clear()
    assert violations(run, "1 lock:a 5 command 100", commands=[command(1, "lock", 1)]) == [
        "lock#1 exited with 1 (not acquired), but its command ran"]
