"""`conclave queue`: push, pop and process items without losing any."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import BINARY, TIMEOUT, alive, ended_by, full_pipe, until

LAYOUTS = ["zookeeper", "kazoo", "kazoo-locking"]


def length(world, *args):
    return world.json("queue", "len", "--json", *args)["length"]


def listed(world, *args):
    return world.json("queue", "ls", "--json", *args)


def push(world, *args, **rest):
    assert world.ok("queue", "push", *args, **rest) == ""


def pop_all(world, *args):
    return world.conclave("queue", "pop", "-n", "100000", *args).stdout.splitlines()


def work(world, *args, **rest):
    return world.conclave("queue", "work", "--until-empty", *args, **rest)


# --- push and pop


@pytest.mark.parametrize("layout", LAYOUTS)
def test_first_in_first_out(world, layout):
    args = ["--layout", layout, "q"]
    push(world, *args, "a", "b")
    push(world, *args, "c")
    assert length(world, *args) == 3
    assert world.ok("queue", "peek", *args) == "a\n"
    assert world.ok("queue", "pop", *args) == "a\n"
    assert world.ok("queue", "pop", "-n", "5", *args) == "b\nc\n"
    assert length(world, *args) == 0
    for command in ("pop", "peek"):
        r = world.conclave("queue", command, *args)
        assert (r.returncode, r.stdout, r.stderr) == (1, "", "")


@pytest.mark.parametrize("item", ["", "{}", "[a,b]", "a b", "ä", "\n", "x\ny", "%%", "-", "pop", "queue", "'a'"])
def test_an_argument_becomes_an_item_unchanged(world, item):
    push(world, "q", "first", item)
    assert world.ok("queue", "pop", "-0", "-n", "2", "q") == f"first\0{item}\0"


def test_items_that_look_like_flags(world):
    push(world, "q", "a", "--", "-x", "--", "--help")
    assert pop_all(world, "q") == ["a", "-x", "--", "--help"]


def test_lines_of_stdin(world):
    push(world, "q", input="one\n\ntwo words\nthe last, without a newline")
    assert pop_all(world, "q") == ["one", "", "two words", "the last, without a newline"]
    push(world, "q", input="")
    assert length(world, "q") == 0
    push(world, "-0", "q", input="one\nmore\0two\0")
    assert world.ok("queue", "pop", "-0", "-n", "9", "q") == "one\nmore\0two\0"


def test_lines_are_pushed_immediately(world):
    p = world.start_conclave("queue", "push", "q", stdin=subprocess.PIPE)
    p.stdin.write("early\n")
    p.stdin.flush()
    assert world.ok("queue", "pop", "-w", "forever", "q") == "early\n"
    p.communicate("late\n")
    assert p.returncode == 0
    assert world.ok("queue", "pop", "q") == "late\n"


def test_whole_files(world):
    content = bytes(range(256)) * 20
    with open(world.path("f"), "wb") as f:
        f.write(content)
    push(world, "q", "--file", "f", "--file", "-", input="all of\nthis\n")
    r = subprocess.run([BINARY, "queue", "pop", "--raw", "q"], env=world.env, capture_output=True,
                       timeout=TIMEOUT)
    assert r.stdout == content
    assert world.ok("queue", "pop", "--raw", "q") == "all of\nthis\n"
    r = world.conclave("queue", "push", "q", "a", "--file", "f", "--file", "missing")
    assert r.returncode == 64
    assert "missing" in r.stderr
    assert length(world, "q") == 0


def test_json(world):
    push(world, "q", "text")
    push(world, "q", "--file", "-", input="a\0b")
    push(world, "q", "--file", "/dev/null")
    with open(world.path("f"), "wb") as f:
        f.write(b"\xff\xfe")
    push(world, "q", "--file", "f")
    assert json.loads(world.ok("queue", "peek", "--json", "q"))["data"] == "text"
    got = [json.loads(i) for i in pop_all(world, "--json", "q")]
    assert [i.get("data") for i in got] == ["text", "a\0b", "", None]
    assert got[3]["base64"] == "//4="
    assert (got[0]["priority"], got[0]["attempts"]) == (100, 1)
    assert got[0]["name"].startswith("qn-")


def test_priorities(world):
    for layout in ("kazoo", "kazoo-locking"):
        args = ["--layout", layout, layout]
        push(world, *args, "usual")
        push(world, "-p", "999", *args, "late")
        push(world, "--priority", "0", *args, "urgent", "urgent too")
        assert pop_all(world, *args) == ["urgent", "urgent too", "usual", "late"]
    r = world.conclave("queue", "push", "-p", "5", "q", "x")
    assert r.returncode == 64
    assert "--layout kazoo" in r.stderr


def test_many_items_need_few_transactions(world, peer):
    push(world, "-C", peer.address, "q", input="".join(f"{i}\n" for i in range(2000)))
    nodes = sorted(peer.get_children("/conclave/q"))
    assert len(nodes) == 2000
    some = {peer.exists(f"/conclave/q/{n}").czxid for n in nodes[::20]}
    assert len(some) <= 12
    assert pop_all(world, "-C", peer.address, "q") == [str(i) for i in range(2000)]


def test_too_large(world):
    r = world.conclave("queue", "push", "q", "--file", "-", input="x" * 1_100_000)
    assert r.returncode == 1
    assert "too large" in r.stderr
    assert length(world, "q") == 0


def test_capacity(world):
    push(world, "--capacity", "3", "q", "1", "2", "3")
    r = world.conclave("queue", "push", "--capacity", "3", "-w", "0", "q", "4")
    assert r.returncode == 1
    assert "full" in r.stderr
    assert world.conclave("queue", "push", "--capacity", "3", "-w", "50ms", "q", "4").returncode == 1
    assert world.conclave("queue", "push", "-w", "1", "q", "4").returncode == 64


def test_push_waits_until_the_queue_is_not_full(world, peer):
    args = ["-C", peer.address, "q"]
    push(world, *args, "1", "2", "3")
    waiter = world.start_conclave("queue", "push", "--capacity", "3", *args, "4", "5")
    waiters = "/conclave/q.conclave/room"
    until(lambda: peer.exists(waiters) and peer.get_children(waiters), "the waiter")
    assert world.ok("queue", "pop", *args) == "1\n"
    until(lambda: length(world, *args) == 3, "the next item")
    assert waiter.poll() is None
    assert world.ok("queue", "pop", *args) == "2\n"
    assert waiter.wait() == 0
    assert pop_all(world, *args) == ["3", "4", "5"]


@pytest.mark.parametrize("args", [
    ["push"], ["push", "q", "--fiel", "x"], ["push", "q", "-x"], ["pop"], ["pop", "q", "extra"], ["pop", "--layout", "other", "q"], ["nonsense", "q"],
    ["pop", "-w", "soon", "q"], ["pop", "-n", "0", "q"], ["work", "q"], ["work", "q", "./job"],
    ["work", "q", "--"], ["work", "-j", "0", "q", "--", "true"], ["restore", "q"],
    ["work", "q", "-c", "true", "--", "true"], ["pop", "--raw", "--json", "q"],
    ["pop", "--layout", "kazoo-locking", "--no-claim", "q"],
])
def test_usage(world, args):
    r = world.conclave("queue", *args)
    assert r.returncode == 64
    assert r.stderr != ""


def test_usage_shows_the_correct_command_line(world):
    r = world.conclave("queue", "work", "q", "./job", "x")
    assert "conclave queue work q -- ./job x" in r.stderr


def test_a_different_layout_is_refused(world):
    push(world, "--layout", "kazoo", "q", "x")
    for command in (["pop"], ["peek"], ["ls"], ["work", "--until-empty"]):
        r = world.conclave("queue", *command, "q", *(["-c", "cat"] if len(command) > 1 else []))
        assert r.returncode == 78
        assert "--layout kazoo" in r.stderr


# In the layout kazoo-locking, the items are in another node than in the other layouts.
@pytest.mark.parametrize("theirs, ours", [
    ("kazoo-locking", "zookeeper"), ("kazoo-locking", "kazoo"), ("zookeeper", "kazoo-locking"),
    ("kazoo", "kazoo-locking"),
])
def test_a_layout_with_another_place_is_refused(world, theirs, ours):
    push(world, "--layout", theirs, "q", "x")
    for command in (["pop"], ["peek"], ["ls"], ["len"], ["work", "--until-empty"]):
        r = world.conclave("queue", *command, "--layout", ours, "q", *(["-c", "cat"] if len(command) > 1 else []))
        assert r.returncode == 78, command
        assert f"--layout {theirs}" in r.stderr
    assert world.ok("queue", "len", "--layout", theirs, "q") == "1\n"


# --- pop


def test_pop_waits(world):
    assert world.conclave("queue", "pop", "-w", "50ms", "q").returncode == 1
    first = world.start_conclave("queue", "pop", "-w", "forever", "q")
    second = world.start_conclave("queue", "pop", "-n", "2", "-w", "1h", "q")
    push(world, "q", "a", "b", "c")
    assert sorted((first.communicate()[0] + second.communicate()[0]).split()) == ["a", "b", "c"]
    assert (first.returncode, second.returncode) == (0, 0)


def test_items_that_cannot_be_printed_are_not_lost(world):
    push(world, "q", "a", "b")
    reading, writing = os.pipe()
    os.close(reading)
    for to in (writing, open("/dev/full", "w")):
        p = world.start_conclave("queue", "pop", "-n", "2", "q", stdout=to)
        assert p.wait() == 74
        assert "cannot print" in p.stderr.read()
    r = world.run("sh", "-c", f"exec {BINARY} queue pop q >&-")
    assert r.returncode == 74
    assert "stdout" in r.stderr
    assert pop_all(world, "q") == ["a", "b"]
    os.close(writing)


def test_pop_is_killed_while_it_prints(world):
    """The item stays in the queue until it was written completely."""
    push(world, "q", "--file", "-", input="x" * 500_000)
    p = world.start_conclave("queue", "pop", "q")
    assert p.stdout.read(1) == "x"  # the rest does not fit into a pipe
    assert listed(world, "q")[0]["claimed_by"] is not None
    p.kill()
    p.wait()
    until(lambda: listed(world, "q")[0]["claimed_by"] is None, "the end of the claim")
    assert len(world.ok("queue", "pop", "q")) == 500_001


@pytest.mark.parametrize("s", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_pop_waits_removes_the_waiter(world, peer, s):
    """Over TCP, the node of the waiter would stay until the session timeout if the session was not
    closed."""
    args = ["-C", peer.address, "q"]
    first = world.start_conclave("queue", "pop", "-w", "forever", *args)
    waiters = "/conclave/q.conclave/waiting"
    until(lambda: peer.exists(waiters) and peer.get_children(waiters), "the waiter")
    first.send_signal(s)
    assert first.wait() == ended_by(s)
    assert peer.get_children(waiters) == []


def test_a_signal_while_pop_prints(world, peer):
    args = ["-C", peer.address, "q"]
    push(world, *args, "--file", "-", input="x" * 500_000)
    p = world.start_conclave("queue", "pop", *args)
    assert p.stdout.read(1) == "x"
    p.send_signal(signal.SIGINT)
    assert p.wait() == -signal.SIGINT
    assert listed(world, *args)[0]["claimed_by"] is None


def test_a_signal_while_push_waits(world, peer):
    args = ["-C", peer.address, "q"]
    push(world, *args, "a")
    p = world.start_conclave("queue", "push", "--capacity", "1", *args, "b")
    waiters = "/conclave/q.conclave/room"
    until(lambda: peer.exists(waiters) and peer.get_children(waiters), "the waiter")
    p.send_signal(signal.SIGTERM)
    assert p.wait() == 128 + signal.SIGTERM
    assert peer.get_children(waiters) == []


def test_pop_skips_claimed_items(world):
    push(world, "q", "a", "b")
    p = world.start_conclave("queue", "work", "q", "-c", "read -r x; echo $x; exec sleep 1000")
    assert p.stdout.readline() == "a\n"
    assert world.ok("queue", "peek", "q") == "a\n"
    assert pop_all(world, "q") == ["b"]
    assert world.conclave("queue", "pop", "q").returncode == 1
    assert length(world, "q") == 1
    # Like other libraries, ignores claims.
    assert world.ok("queue", "pop", "--no-claim", "q") == "a\n"
    assert length(world, "q") == 0


# --- items as arguments


def test_an_item_can_be_an_argument(world):
    for item in ("a b", "$(x) 'y'", "", "-n"):
        push(world, "q", "--", item)
    r = work(world, "q", "--", "printf", "<%s|%s>", "{}", "{}")
    assert (r.returncode, r.stdout) == (0, "<a b|a b><$(x) 'y'|$(x) 'y'><|><-n|-n>")
    push(world, "q", "a b", "c")
    assert work(world, "--arg", "q", "--", "printf", "<%s>").stdout == "<a b><c>"
    push(world, "q", "a b")
    assert work(world, "--arg", "q", "-c", 'printf "<%s>" "$1" "$#"').stdout == "<a b><1>"


def test_only_an_item_that_cannot_be_an_argument_fails(world):
    push(world, "-0", "q", input="good\0")
    push(world, "q", "--file", "-", input="ze\0ro")
    push(world, "q", "x" * 100)
    r = work(world, "--arg", "q", "--", "printf", "<%s>")
    assert r.returncode == 1
    assert r.stdout == "<good><" + "x" * 100 + ">"
    assert "cannot be an argument" in r.stderr
    assert [i["data_length"] for i in listed(world, "q")] == [5]


# --- ls


def test_ls(world):
    assert world.ok("queue", "ls", "q") == ""
    assert listed(world, "q") == []
    push(world, "q", "a", "bcd", "e")
    push(world, "q", "f" * 12)
    p = world.start_conclave(
        "queue", "work", "--label", "somebody", "q", "-c", "echo up; exec sleep 1000")
    assert p.stdout.readline() == "up\n"
    items = listed(world, "q")
    assert [i["name"] for i in items] == sorted(i["name"] for i in items)
    assert [i["data_length"] for i in items] == [1, 3, 1, 12]
    assert [i["claimed_by"] for i in items] == ["somebody", None, None, None]
    assert [i["attempts"] for i in items] == [1, 0, 0, 0]
    assert [i["data"] for i in items] == ["a", "bcd", "e", "f" * 12]
    for i in items:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", i["created"])
        assert abs(i["created_ms"] / 1000 - time.time()) < 600
    assert items[0]["claimed_ms"] >= items[0]["created_ms"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", items[0]["claimed"])
    assert "claimed" not in items[1] and "claimed_ms" not in items[1]
    text = world.ok("queue", "ls", "q").splitlines()
    assert len(text) == 4
    assert "1 byte " in text[0] and "claimed by somebody for " in text[0]
    assert "12 bytes" in text[3] and "claimed" not in text[3]
    assert len(world.ok("queue", "ls", "-n", "2", "q").splitlines()) == 2
    p.send_signal(signal.SIGTERM)
    p.wait()
    assert "attempted 1 time" in world.ok("queue", "ls", "q").splitlines()[0]


def test_ls_of_more_items_than_one_batch(world):
    push(world, "q", input="".join(f"{i}\n" for i in range(1100)))
    assert [i["data_length"] for i in listed(world, "q")] == [len(str(i)) for i in range(1100)]


# --- work


def test_input_and_environment_of_the_command(world):
    push(world, "q", "the item")
    r = work(world, "q", "-c", "cat; echo; env")
    assert r.returncode == 0
    data, *rest = r.stdout.splitlines()
    env = dict(line.split("=", 1) for line in rest)
    assert data == "the item"
    assert env["CONCLAVE_ITEM_NAME"].startswith("qn-")
    assert env["CONCLAVE_ITEM_ATTEMPT"] == "1"
    assert env["CONCLAVE_QUEUE_PATH"] == "/conclave/q"
    assert int(env["CONCLAVE_FENCING_TOKEN"]) > 0
    assert env["CONCLAVE_LOCK_NODE"].endswith("/taken/" + env["CONCLAVE_ITEM_NAME"])
    assert length(world, "q") == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_items_are_processed_in_order(world, layout):
    args = ["--layout", layout, "q"]
    push(world, *args, *"abcde")
    r = work(world, *args, "--", "sh", "-c", "cat; echo")
    assert (r.returncode, r.stdout.split(), r.stderr) == (0, list("abcde"), "")
    assert length(world, *args) == 0


def test_a_failed_item_is_returned_to_the_queue(world):
    push(world, "q", "a", "bad", "c")
    r = work(world, "q", "-c", "read -r x; echo $x; [ $x != bad ]")
    assert r.returncode == 1
    assert r.stdout.split() == ["a", "bad", "c"]  # only one attempt for each
    assert "ended with 1" in r.stderr and "1 item was not completed" in r.stderr
    left = listed(world, "q")
    assert [(i["attempts"], i["claimed_by"]) for i in left] == [(1, None)]
    r = work(world, "-q", "q", "-c", "echo $CONCLAVE_ITEM_ATTEMPT; kill -9 $$")
    assert (r.returncode, r.stdout, r.stderr) == (1, "2\n", "")
    assert work(world, "q", "--", "true").returncode == 0
    assert length(world, "q") == 0


def test_a_failed_item_is_retried_only_after_a_pause(world):
    """The following items are processed first."""
    push(world, "q", "bad", "a")
    p = world.start_conclave("queue", "work", "--retry-after", "1h", "q",
                             "-c", "read -r x; echo $x >> done; [ $x != bad ]")
    until(lambda: world.lines("done") == ["bad", "a"], "both items")
    for more in ("b", "c"):
        push(world, "q", more)
        until(lambda: world.lines("done")[-1] == more, more)
    until(lambda: length(world, "q") == 1, "the completion")
    assert world.lines("done").count("bad") == 1
    assert listed(world, "q")[0]["claimed_by"] is not None
    p.send_signal(signal.SIGTERM)
    assert p.wait() == 128 + signal.SIGTERM
    assert listed(world, "q")[0]["claimed_by"] is None


def test_a_failed_item_is_retried(world):
    push(world, "q", "x")
    p = world.start_conclave("queue", "work", "--retry-after", "20ms", "q",
                             "-c", "echo $CONCLAVE_ITEM_ATTEMPT; [ $CONCLAVE_ITEM_ATTEMPT = 3 ]")
    assert [p.stdout.readline() for _ in range(3)] == ["1\n", "2\n", "3\n"]
    until(lambda: length(world, "q") == 0, "the completion")


def test_items_that_fail_too_often_are_set_aside(world):
    push(world, "q", "bad", "good")
    r = work(world, "--max-attempts", "2", "--retry-after", "10ms", "q",
             "-c", "read -r x; echo $x; [ $x = good ]")
    assert r.returncode == 1
    assert sorted(r.stdout.split()) == ["bad", "bad", "good"]
    assert "set aside" in r.stderr
    assert length(world, "q") == 0
    aside = listed(world, "--set-aside", "q")
    assert [i["data"] for i in aside] == ["bad"]
    assert world.ok("queue", "ls", "--set-aside", "q").startswith(aside[0]["name"] + "  3 bytes")
    assert world.conclave("queue", "restore", "q", "qn-0000099999").returncode == 1
    assert world.ok("queue", "restore", "q", aside[0]["name"]) == ""
    assert listed(world, "--set-aside", "q") == []
    assert [i["attempts"] for i in listed(world, "q")] == [0]
    assert world.ok("queue", "pop", "q") == "bad\n"


def test_restore_all(world):
    push(world, "q", "a", "b")
    assert work(world, "--max-attempts", "1", "-q", "q", "--", "false").returncode == 1
    assert len(listed(world, "--set-aside", "q")) == 2
    assert world.ok("queue", "restore", "--all", "q") == ""
    assert pop_all(world, "q") == ["a", "b"]


def test_discard(world):
    push(world, "q", "a", "b", "c")
    assert work(world, "--max-attempts", "1", "-q", "q", "--", "false").returncode == 1
    first = listed(world, "--set-aside", "q")[0]["name"]
    assert world.ok("queue", "discard", "q", first) == ""
    assert [i["data"] for i in listed(world, "--set-aside", "q")] == ["b", "c"]
    assert world.conclave("queue", "discard", "q", first).returncode == 1
    assert world.ok("queue", "discard", "--all", "q") == ""
    assert listed(world, "--set-aside", "q") == []
    assert length(world, "q") == 0


def test_an_item_that_succeeds_in_a_later_attempt_is_not_a_failure(world):
    """Also checks that no item is missed that is returned just when the queue becomes empty."""
    push(world, "q", input="x\n" * 30)
    r = work(world, "--max-attempts", "3", "--retry-after", "1ms", "-q", "-j", "3", "q",
             "-c", "[ $CONCLAVE_ITEM_ATTEMPT = 2 ]")
    assert (r.returncode, r.stderr) == (0, "")
    assert length(world, "q") == 0


def test_all_items_fail(world):
    """A worker whose commands all fail must not process the whole queue at full speed."""
    push(world, "q", input="x\n" * 50)
    p = world.start_conclave("queue", "work", "--retry-after", "1h", "q", "-c", "echo >> tries; false")
    begin = time.monotonic()
    until(lambda: len(world.lines("tries")) >= 4, "four attempts")
    assert time.monotonic() - begin >= 0.1 + 0.2
    assert p.poll() is None


def test_count(world):
    push(world, "q", *"abc")
    r = world.conclave("queue", "work", "-n", "2", "q", "-c", "cat; echo")
    assert (r.returncode, r.stdout) == (0, "a\nb\n")
    r = world.conclave("queue", "work", "--count", "1", "-j", "4", "q", "--", "false")
    assert r.returncode == 1
    assert listed(world, "q")[0]["claimed_by"] is None
    assert work(world, "-n", "5", "q", "--", "true").returncode == 0


def test_several_concurrent_commands(world):
    """Each of the three commands waits for the other two."""
    push(world, "q", *"abc")
    wait_for_all = ("touch here.$CONCLAVE_ITEM_NAME; "
                    "until [ $(ls here.* | wc -l) = 3 ]; do sleep 0.01; done")
    assert work(world, "-j", "3", "q", "-c", wait_for_all).returncode == 0
    assert length(world, "q") == 0


def test_the_number_of_concurrent_commands_is_limited(world):
    push(world, "q", input="x\n" * 12)
    # Each command creates one of two folders. With three concurrent commands, this fails.
    r = work(world, "-j", "2", "q", "-c",
             "mkdir 1 2> /dev/null && p=1 || { mkdir 2 && p=2; } || echo three; sleep 0.02; rmdir $p")
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "")


def test_a_command_that_cannot_be_run(world):
    push(world, "q", "a")
    r = work(world, "q", "--", "/no/such")
    assert r.returncode == 127
    assert world.conclave("queue", "work", "q", "--", world.folder).returncode == 126
    r = work(world, "q", "--", "no-such-command")
    assert r.returncode == 127
    assert r.stderr == "conclave: cannot run 'no-such-command': No such file or directory\n"
    assert [i["claimed_by"] for i in listed(world, "q")] == [None]
    # No item was claimed, so the first attempt is still to come.
    assert work(world, "q", "-c", "echo $CONCLAVE_ITEM_ATTEMPT").stdout == "1\n"


def test_a_worker_waits_for_items(world):
    p = world.start_conclave("queue", "work", "q", "-c", "cat; echo")
    for item in "abc":
        push(world, "q", item)
        assert p.stdout.readline() == item + "\n"
    until(lambda: length(world, "q") == 0, "the completion")
    p.send_signal(signal.SIGINT)
    assert p.wait() == -signal.SIGINT
    assert p.stderr.read() == ""
    assert length(world, "q") == 0


def test_a_signal_is_passed_on_and_items_are_returned(world):
    push(world, "q", *"abcd")
    p = world.start_conclave(
        "queue", "work", "-j", "2", "q",
        "-c", "trap 'echo term >> begun; exit 1' TERM; echo up >> begun; while :; do sleep 0.01; done")
    until(lambda: world.lines("begun").count("up") == 2, "two commands")
    p.send_signal(signal.SIGTERM)
    assert p.wait() == 128 + signal.SIGTERM
    assert sorted(world.lines("begun")) == ["term", "term", "up", "up"]
    assert [(i["claimed_by"], i["attempts"]) for i in listed(world, "q")] == [
        (None, 1), (None, 1), (None, 0), (None, 0)]


def test_after_a_signal_a_command_may_still_complete(world):
    push(world, "q", "a", "b")
    p = world.start_conclave(
        "queue", "work", "q", "-c", "trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done")
    assert p.stdout.readline() == "up\n"
    p.send_signal(signal.SIGTERM)
    assert p.wait() == 128 + signal.SIGTERM
    assert pop_all(world, "q") == ["b"]


def test_a_worker_is_killed(world):
    """On this machine, its command continues and keeps the claim until it ends."""
    push(world, "q", "a")
    p = world.start_conclave("queue", "work", "q", "-c", "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    p.kill()
    p.wait()
    assert alive(child)
    assert listed(world, "q")[0]["claimed_by"] is not None
    other = world.start_conclave("queue", "work", "--count", "1", "q",
                                 "-c", "cat; echo; echo $CONCLAVE_ITEM_ATTEMPT")
    os.kill(child, signal.SIGKILL)
    assert other.communicate()[0] == "a\n2\n"
    assert length(world, "q") == 0


def test_over_tcp_the_command_of_a_killed_worker_is_killed(world):
    _, at = world.serve()
    args = ["-C", at, "--session-timeout", "2s", "q"]
    push(world, *args, "a")
    p = world.start_conclave("queue", "work", *args, "-c", "sleep 1000 & echo $!; wait")
    grandchild = int(p.stdout.readline())
    other = world.start_conclave("queue", "work", "--count", "1", *args, "-c", "cat; echo")
    p.kill()
    until(lambda: not alive(grandchild), "the end of the grandchild")
    assert other.communicate()[0] == "a\n"


def test_a_claim_is_lost(world, peer):
    """The command is killed, and the worker continues with the next item."""
    args = ["-C", peer.address, "q"]
    push(world, *args, "a", "b")
    p = world.start_conclave("queue", "work", *args, "-c",
                             "read -r x; echo $x $$; [ $x = b ] || exec sleep 1000")
    child = int(p.stdout.readline().split()[1])
    taken = "/conclave/q.conclave/taken/"
    first = peer.get_children(taken)[0]
    peer.delete(taken + first)
    assert "claim was lost" in p.stderr.readline()
    assert not alive(child)
    # The item is the first of the queue again.
    assert p.stdout.readline().split()[0] in "ab"
    assert p.poll() is None


def blocks_in_write(pid):
    """Returns whether the first thread of the process is in write() to stderr."""
    with open(f"/proc/{pid}/syscall") as f:
        return f.read().split()[:2] == ["1", "0x2"]


@pytest.mark.parametrize("local", [True, False], ids=["unix", "tcp"])
def test_a_claim_is_lost_while_the_worker_blocks_on_stderr(world, peer, local):
    """Another worker can claim the item immediately, so the command must be killed immediately."""
    args = ["q"] if local else ["-C", peer.address, "q"]
    push(world, *args, "a")
    reading, writing = full_pipe()
    worker = world.start_conclave(
        "queue", "work", "-j", "2", *args, "-c",
        "read -r x; [ $x = a ] || exit 1; setsid sleep 1000 & echo $$ $! >pids; exec sleep 1000",
        stderr=writing)
    os.close(writing)
    until(lambda: world.lines("pids"), "the command")
    processes = list(map(int, world.lines("pids")[0].split()))
    push(world, *args, "b")  # it fails, and the worker reports that
    until(lambda: blocks_in_write(worker.pid), "the worker to block")
    world.ok("znode", "rm", *args[:-1], "/conclave/q.conclave/taken/qn-0000000000")
    until(lambda: not any(map(alive, processes)), "the end of the command")
    assert blocks_in_write(worker.pid)
    os.close(reading)


def test_a_worker_with_a_limit_on_file_sizes_claims_nothing(world):
    """The item would not fit into a file in memory. Each claim would count as an attempt."""
    world.env["CONCLAVE_CONNECT"] = world.serve()[1]
    push(world, "q", "x" * 3000)
    limited = 'ulimit -f 2; exec "$@"'
    r = world.run("bash", "-c", limited, "bash", BINARY, "queue", "work", "q", "--", "true")
    assert (r.returncode, r.stderr.count("\n")) == (71, 1) and "ulimit -f" in r.stderr, r
    assert [(i["attempts"], i["claimed_by"]) for i in listed(world, "q")] == [(0, None)]


def test_the_server_is_killed(world):
    """The command gets SIGTERM before another worker can claim its item. The worker waits for a
    server."""
    server, at = world.serve()
    args = ["-C", at, "--session-timeout", "5s", "--kill-after", "100ms", "q"]
    push(world, *args[:4], "q", "a")
    p = world.start_conclave("queue", "work", *args, "-c", "echo $$; exec sleep 1000")
    child = int(p.stdout.readline())
    server.kill()
    assert "ended because the connection was lost" in p.stderr.readline()
    assert not alive(child)
    assert p.poll() is None
    p.send_signal(signal.SIGTERM)
    assert p.wait() == 128 + signal.SIGTERM


def test_this_users_own_server_is_killed(world):
    """It is restarted with all items, and the running command completes its item."""
    push(world, "q", *"abc")
    p = world.start_conclave(
        "queue", "work", "q", "-c", "read -r x; echo $x; until [ -e go ]; do sleep 0.01; done")
    assert p.stdout.readline() == "a\n"
    os.kill(world.local_pid(), signal.SIGKILL)
    until(lambda: length(world, "q") == 3, "the restarted server")
    open(world.path("go"), "w").close()
    until(lambda: length(world, "q") == 0, "the end of the work")


def test_no_server(world):
    for command in (["push", "q", "x"], ["pop", "q"], ["len", "q"], ["work", "q", "--", "true"]):
        r = world.conclave(
            "queue", command[0], "-C", "127.0.0.1:1", "--connect-timeout", "100ms", *command[1:])
        assert r.returncode == 69


@pytest.mark.parametrize("args, waiters", [
    (["pop"], "waiting"), (["pop", "--no-claim"], "waiting"),
    (["push", "--capacity", "1"], "room")], ids=lambda x: x if isinstance(x, str) else " ".join(x))
def test_a_server_that_is_killed_during_the_wait_is_not_an_empty_or_full_queue(world, args, waiters):
    server, address = world.serve()
    on_server = ["-C", address, "q"]
    items = ["b"] if args[0] == "push" else []
    if items:
        push(world, *on_server, "a")
    p = world.start_conclave("queue", *args, "-w", "3", *on_server, *items)

    def is_waiting():
        assert p.poll() is None
        r = world.conclave("znode", "ls", "-C", address, f"/conclave/q.conclave/{waiters}")
        return r.returncode == 0 and r.stdout

    until(is_waiting, "the waiter")
    server.kill()
    out, err = p.communicate()
    assert (p.returncode, out, err.count("\n")) == (69, "", 1), err
    assert address in err and "no server" in err


def test_workers_are_killed(world):
    """Every item is processed, and never by two commands at the same time."""
    count = 60
    push(world, "q", input="".join(f"{i}\n" for i in range(count)))
    command = ("read -r x; mkdir busy.$x || echo $x >> violations; sleep 0.01; rmdir busy.$x; "
               "echo $x >> done")
    start = lambda: world.start_conclave("queue", "work", "-j", "2", "q", "-c", command)
    workers = [start() for _ in range(3)]
    for i in range(8):
        until(lambda: len(world.lines("done")) > i * 5, "some progress")
        victim = workers.pop(0)
        victim.kill()
        victim.wait()
        workers.append(start())
    until(lambda: length(world, "q") == 0, "the end of the work")
    assert world.lines("violations") == []
    assert set(world.lines("done")) == {str(i) for i in range(count)}


# --- with other libraries


def test_kazoo_queue(world, peer):
    args = ["-C", peer.address, "--layout", "kazoo", "q"]
    theirs = peer.Queue("/conclave/q")
    theirs.put(b"from kazoo", priority=50)
    push(world, *args, "from us")
    assert world.ok("queue", "pop", *args) == "from kazoo\n"
    assert theirs.get() == b"from us"


def test_kazoo_locking_queue(world, peer):
    args = ["-C", peer.address, "--layout", "kazoo-locking", "q"]
    theirs = peer.LockingQueue("/conclave/q")
    theirs.put(b"a")
    push(world, *args, "b")
    assert theirs.get() == b"a"
    claims = [i["claimed_by"] is not None for i in listed(world, *args)]
    assert claims == [True, False]
    assert work(world, *args, "-c", "cat; echo").stdout == "b\n"
    assert theirs.consume()
    assert length(world, *args) == 0


def test_a_placeholder_inside_an_argument(world):
    """It is not replaced, so the command would not process the item."""
    world.ok("queue", "push", "q", "a")
    said = world.refused("queue", "work", "--until-empty", "q", "--", "sh", "-c", "echo {}")
    assert "--arg" in said and "whole argument" in said
    assert world.ok("queue", "len", "q") == "1\n"
    assert world.ok("queue", "work", "--until-empty", "--arg", "q", "--", "sh", "-c",
                    'echo "{} $1"', "sh") == "{} a\n"
    world.ok("queue", "push", "q", "b")
    r = world.conclave("queue", "work", "--until-empty", "q", "-c", "echo {}; cat")
    assert (r.returncode, r.stdout) == (0, "{}\nb")
    assert "--arg" in r.stderr and r.stderr.count("\n") == 1
