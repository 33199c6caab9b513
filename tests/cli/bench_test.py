"""`conclave bench`: it prints all results and the server, and removes its nodes."""

import signal

import pytest
from conftest import TIMEOUT, until
from relay import Relay

ALL = ["lock", "hand_off", "create", "get", "queue"]


def remaining_nodes(world):
    names = world.conclave("znode", "ls", "/conclave").stdout.splitlines()
    return [name for name in names if name.startswith("bench-")]


def expect_all_results(results):
    assert [r["name"] for r in results] == ALL
    for r in results:
        assert r["count"] > 0 and r["per_second"] > 0, r
        if r["name"] != "create":  # with concurrent operations, the time of one is not measured
            assert 0 < r["median_ms"] <= r["p99_ms"], r


def test_prints_all_results(world):
    result = world.json("bench", "--json", "--seconds", "0.5")
    expect_all_results(result["results"])
    assert result["durability"] == "full"
    assert result["said_by"] == "this user's own server"
    assert result["session_timeout_ms"] == 30000
    assert result["version"].startswith("conclave ")
    assert remaining_nodes(world) == []


def test_a_slow_server(world):
    """A reply takes longer than a benchmark should. Each one continues until it has counted one
    operation."""
    _, address = world.serve()
    relay = Relay(address, delay=0.02)
    try:
        result = world.json("bench", "--json", "--seconds", "0.1", "-C", relay.address)
    finally:
        relay.close()
    expect_all_results(result["results"])
    # A lock needs several replies of 40 ms each.
    assert result["results"][0]["median_ms"] >= 40
    assert result["results"][0]["per_second"] <= 25


def test_as_text(world):
    _, address = world.serve()
    lines = world.ok("bench", "--seconds", "0.5", "-C", address).splitlines()
    assert lines[0].startswith(f"server      {address} (--connect), conclave ")
    assert lines[1].startswith("durability  none")
    assert lines[2] == "session     timeout 30s"
    rows = [line.split() for line in lines[5:]]
    assert [r[0] for r in rows] == ["lock", "hand-off", "creates,", "gets,", "queue:"]


def test_a_server_that_does_not_report_its_durability(world):
    _, address = world.serve("--words", "srvr")
    world.env["CONCLAVE_CONNECT"] = address
    assert world.json("bench", "--json", "--seconds", "0.2")["durability"] == "unknown"


@pytest.mark.parametrize("rows", range(len(ALL)))
def test_removes_its_nodes_when_interrupted(world, rows):
    p = world.start_conclave("bench", "--seconds", "2" if rows else "60")
    until(lambda: remaining_nodes(world), "the start of the benchmark")
    for _ in range(5 + rows if rows else 0):  # interrupts each of the five benchmarks once
        assert p.stdout.readline()
    p.send_signal(signal.SIGINT)
    assert p.wait(TIMEOUT) == -signal.SIGINT
    assert p.stderr.read() == ""
    assert remaining_nodes(world) == []


def test_a_server_that_dies(world):
    server, address = world.serve("--min-session-timeout", "100ms")
    p = world.start_conclave("bench", "--seconds", "60", "--session-timeout", "300ms", "-C", address)
    until(lambda: world.conclave("znode", "ls", "-C", address, "/conclave").stdout,
          "the start of the benchmark")
    server.kill()
    assert p.wait(TIMEOUT) == 69
    assert "conclave: cannot remove /conclave/bench-" in p.stderr.read()


def test_no_server(world):
    r = world.conclave("bench", "-C", "127.0.0.1:1", "--connect-timeout", "200ms")
    assert (r.returncode, r.stdout) == (69, "") and "127.0.0.1:1" in r.stderr


def test_help_has_an_example(world):
    assert "conclave bench --seconds " in world.ok("bench", "--help").split("Example")[1]
