"""`conclave queue`: what goes in, what comes out, and what is never lost on the way."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import BINARY, PATIENCE, alive, ended_by, until

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


# --- in and out


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
def test_an_argument_is_an_item_as_it_is(world, item):
    push(world, "q", "first", item)
    assert world.ok("queue", "pop", "-0", "-n", "2", "q") == f"first\0{item}\0"


def test_items_that_look_like_flags(world):
    push(world, "q", "a", "--", "-x", "--", "--help")
    assert pop_all(world, "q") == ["a", "-x", "--", "--help"]


def test_lines_of_stdin(world):
    push(world, "q", input="one\n\ntwo words\nthe last, without an end")
    assert pop_all(world, "q") == ["one", "", "two words", "the last, without an end"]
    push(world, "q", input="")
    assert length(world, "q") == 0
    push(world, "-0", "q", input="one\nmore\0two\0")
    assert world.ok("queue", "pop", "-0", "-n", "9", "q") == "one\nmore\0two\0"


def test_lines_are_pushed_as_they_come(world):
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
                       timeout=PATIENCE)
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


def test_many_items_go_in_few_transactions(world, peer):
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


def test_push_waits_for_room(world, peer):
    args = ["-C", peer.address, "q"]
    push(world, *args, "1", "2", "3")
    waiter = world.start_conclave("queue", "push", "--capacity", "3", *args, "4", "5")
    line = "/conclave/q.conclave/room"
    until(lambda: peer.exists(line) and peer.get_children(line), "the line")
    assert world.ok("queue", "pop", *args) == "1\n"
    until(lambda: length(world, *args) == 3, "one more")
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


def test_usage_shows_the_right_line(world):
    r = world.conclave("queue", "work", "q", "./job", "x")
    assert "conclave queue work q -- ./job x" in r.stderr


def test_another_layout_is_no_empty_queue(world):
    push(world, "--layout", "kazoo", "q", "x")
    for command in (["pop"], ["peek"], ["ls"], ["work", "--until-empty"]):
        r = world.conclave("queue", *command, "q", *(["-c", "cat"] if len(command) > 1 else []))
        assert r.returncode == 78
        assert "--layout kazoo" in r.stderr


# --- popping


def test_pop_waits(world):
    assert world.conclave("queue", "pop", "-w", "50ms", "q").returncode == 1
    first = world.start_conclave("queue", "pop", "-w", "forever", "q")
    second = world.start_conclave("queue", "pop", "-n", "2", "-w", "1h", "q")
    push(world, "q", "a", "b", "c")
    assert sorted((first.communicate()[0] + second.communicate()[0]).split()) == ["a", "b", "c"]
    assert (first.returncode, second.returncode) == (0, 0)


def test_nothing_is_lost_if_it_cannot_be_printed(world):
    push(world, "q", "a", "b")
    gone, end = os.pipe()
    os.close(gone)
    for to in (end, open("/dev/full", "w")):
        p = world.start_conclave("queue", "pop", "-n", "2", "q", stdout=to)
        assert p.wait() == 74
        assert "cannot print" in p.stderr.read()
    r = world.run("sh", "-c", f"exec {BINARY} queue pop q >&-")
    assert r.returncode == 74
    assert "stdout" in r.stderr
    assert pop_all(world, "q") == ["a", "b"]
    os.close(end)


def test_killed_while_it_prints(world):
    """The item stays until all of it was written."""
    push(world, "q", "--file", "-", input="x" * 500_000)
    p = world.start_conclave("queue", "pop", "q")
    assert p.stdout.read(1) == "x"  # the rest does not fit into a pipe
    assert listed(world, "q")[0]["claimed_by"] is not None
    p.kill()
    p.wait()
    until(lambda: listed(world, "q")[0]["claimed_by"] is None, "the item's return")
    assert len(world.ok("queue", "pop", "q")) == 500_001


@pytest.mark.parametrize("s", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_it_waits_leaves_the_line(world, peer, s):
    """Over TCP: without a farewell its place in the line would stay for the session's timeout."""
    args = ["-C", peer.address, "q"]
    first = world.start_conclave("queue", "pop", "-w", "forever", *args)
    line = "/conclave/q.conclave/waiting"
    until(lambda: peer.exists(line) and peer.get_children(line), "the line")
    first.send_signal(s)
    assert first.wait() == ended_by(s)
    assert peer.get_children(line) == []


def test_a_signal_while_it_prints(world, peer):
    args = ["-C", peer.address, "q"]
    push(world, *args, "--file", "-", input="x" * 500_000)
    p = world.start_conclave("queue", "pop", *args)
    assert p.stdout.read(1) == "x"
    p.send_signal(signal.SIGINT)
    assert p.wait() == -signal.SIGINT
    assert listed(world, *args)[0]["claimed_by"] is None


def test_a_signal_while_it_waits_for_room(world, peer):
    args = ["-C", peer.address, "q"]
    push(world, *args, "a")
    p = world.start_conclave("queue", "push", "--capacity", "1", *args, "b")
    line = "/conclave/q.conclave/room"
    until(lambda: peer.exists(line) and peer.get_children(line), "the line")
    p.send_signal(signal.SIGTERM)
    assert p.wait() == 128 + signal.SIGTERM
    assert peer.get_children(line) == []


def test_pop_leaves_what_others_have_claimed(world):
    push(world, "q", "a", "b")
    p = world.start_conclave("queue", "work", "q", "-c", "read -r x; echo $x; exec sleep 1000")
    assert p.stdout.readline() == "a\n"
    assert world.ok("queue", "peek", "q") == "a\n"
    assert pop_all(world, "q") == ["b"]
    assert world.conclave("queue", "pop", "q").returncode == 1
    assert length(world, "q") == 1
    # As other libraries do.
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


def test_an_item_that_cannot_be_an_argument_fails_alone(world):
    push(world, "-0", "q", input="good\0")
    push(world, "q", "--file", "-", input="ze\0ro")
    push(world, "q", "x" * 100)
    r = work(world, "--arg", "q", "--", "printf", "<%s>")
    assert r.returncode == 1
    assert r.stdout == "<good><" + "x" * 100 + ">"
    assert "cannot be an argument" in r.stderr
    assert [i["data_length"] for i in listed(world, "q")] == [5]


# --- looking


def test_ls(world):
    assert world.ok("queue", "ls", "q") == ""
    assert listed(world, "q") == []
    push(world, "q", "a", "bcd", "e")
    push(world, "q", "f" * 12)
    p = world.start_conclave(
        "queue", "work", "--label", "somebody", "q", "-c", "echo up; exec sleep 1000")
    assert p.stdout.readline() == "up\n"
    all_of_it = listed(world, "q")
    assert [i["name"] for i in all_of_it] == sorted(i["name"] for i in all_of_it)
    assert [i["data_length"] for i in all_of_it] == [1, 3, 1, 12]
    assert [i["claimed_by"] for i in all_of_it] == ["somebody", None, None, None]
    assert [i["attempts"] for i in all_of_it] == [1, 0, 0, 0]
    assert [i["data"] for i in all_of_it] == ["a", "bcd", "e", "f" * 12]
    for i in all_of_it:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", i["created"])
        assert abs(i["created_ms"] / 1000 - time.time()) < 600
    assert all_of_it[0]["claimed_ms"] >= all_of_it[0]["created_ms"]
    text = world.ok("queue", "ls", "q").splitlines()
    assert len(text) == 4
    assert "1 byte " in text[0] and "claimed by somebody for " in text[0]
    assert "12 bytes" in text[3] and "claimed" not in text[3]
    assert len(world.ok("queue", "ls", "-n", "2", "q").splitlines()) == 2
    p.send_signal(signal.SIGTERM)
    p.wait()
    assert "attempted 1 time" in world.ok("queue", "ls", "q").splitlines()[0]


def test_ls_of_more_than_is_asked_for_at_a_time(world):
    push(world, "q", input="".join(f"{i}\n" for i in range(1100)))
    assert [i["data_length"] for i in listed(world, "q")] == [len(str(i)) for i in range(1100)]


# --- working


def test_the_command_has_the_item(world):
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
def test_items_are_worked_on_in_order(world, layout):
    args = ["--layout", layout, "q"]
    push(world, *args, *"abcde")
    r = work(world, *args, "--", "sh", "-c", "cat; echo")
    assert (r.returncode, r.stdout.split(), r.stderr) == (0, list("abcde"), "")
    assert length(world, *args) == 0


def test_what_fails_is_given_back(world):
    push(world, "q", "a", "bad", "c")
    r = work(world, "q", "-c", "read -r x; echo $x; [ $x != bad ]")
    assert r.returncode == 1
    assert r.stdout.split() == ["a", "bad", "c"]  # once, and it holds up nobody
    assert "ended with 1" in r.stderr and "1 item was not completed" in r.stderr
    left = listed(world, "q")
    assert [(i["attempts"], i["claimed_by"]) for i in left] == [(1, None)]
    r = work(world, "-q", "q", "-c", "echo $CONCLAVE_ITEM_ATTEMPT; kill -9 $$")
    assert (r.returncode, r.stdout, r.stderr) == (1, "2\n", "")
    assert work(world, "q", "--", "true").returncode == 0
    assert length(world, "q") == 0


def test_an_item_that_fails_is_not_tried_over_and_over(world):
    """Those behind it come first, and it is tried again only after a pause."""
    push(world, "q", "bad", "a")
    p = world.start_conclave("queue", "work", "--retry-after", "1h", "q",
                             "-c", "read -r x; echo $x >> done; [ $x != bad ]")
    until(lambda: world.lines("done") == ["bad", "a"], "both")
    for more in ("b", "c"):
        push(world, "q", more)
        until(lambda: world.lines("done")[-1] == more, more)
    until(lambda: length(world, "q") == 1, "the completion")
    assert world.lines("done").count("bad") == 1
    assert listed(world, "q")[0]["claimed_by"] is not None
    p.send_signal(signal.SIGTERM)
    assert p.wait() == 128 + signal.SIGTERM
    assert listed(world, "q")[0]["claimed_by"] is None


def test_it_is_tried_again(world):
    push(world, "q", "x")
    p = world.start_conclave("queue", "work", "--retry-after", "20ms", "q",
                             "-c", "echo $CONCLAVE_ITEM_ATTEMPT; [ $CONCLAVE_ITEM_ATTEMPT = 3 ]")
    assert [p.stdout.readline() for _ in range(3)] == ["1\n", "2\n", "3\n"]
    until(lambda: length(world, "q") == 0, "the end of it")


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


def test_one_that_succeeds_in_the_end_is_no_failure(world):
    """And none is forgotten that comes back just when there is nothing else."""
    push(world, "q", input="x\n" * 30)
    r = work(world, "--max-attempts", "3", "--retry-after", "1ms", "-q", "-j", "3", "q",
             "-c", "[ $CONCLAVE_ITEM_ATTEMPT = 2 ]")
    assert (r.returncode, r.stderr) == (0, "")
    assert length(world, "q") == 0


def test_all_fail(world):
    """A worker that can do nothing does not run through the whole queue at full speed."""
    push(world, "q", input="x\n" * 50)
    p = world.start_conclave("queue", "work", "--retry-after", "1h", "q", "-c", "echo >> tries; false")
    begin = time.monotonic()
    until(lambda: len(world.lines("tries")) >= 4, "some tries")
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


def test_several_at_a_time(world):
    """Each of three waits for the other two."""
    push(world, "q", *"abc")
    all_here = "touch here.$CONCLAVE_ITEM_NAME; until [ $(ls here.* | wc -l) = 3 ]; do sleep 0.01; done"
    assert work(world, "-j", "3", "q", "-c", all_here).returncode == 0
    assert length(world, "q") == 0


def test_never_more_than_that_at_a_time(world):
    push(world, "q", input="x\n" * 12)
    # Two places, of which each command takes one.
    r = work(world, "-j", "2", "q", "-c",
             "mkdir 1 2> /dev/null && p=1 || { mkdir 2 && p=2; } || echo three; sleep 0.02; rmdir $p")
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "")


def test_a_command_that_cannot_be_run(world):
    push(world, "q", "a")
    r = work(world, "q", "--", "/no/such")
    assert r.returncode == 127
    assert world.conclave("queue", "work", "q", "--", world.folder).returncode == 126
    assert [i["claimed_by"] for i in listed(world, "q")] == [None]


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


def test_a_signal_is_passed_on_and_items_given_back(world):
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
    """On this machine its command goes on, and keeps the item as long as it lives."""
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


def test_over_tcp_a_killed_worker_takes_its_command_with_it(world):
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
    """Its command is ended, and the worker goes on with the next."""
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
    # It is the first of the queue again.
    assert p.stdout.readline().split()[0] in "ab"
    assert p.poll() is None


def full_pipe():
    """Both ends; whoever writes to it waits."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    return reading, writing


def waits_in_write(pid):
    """Whether its first thread does, to stderr."""
    with open(f"/proc/{pid}/syscall") as f:
        return f.read().split()[:2] == ["1", "0x2"]


@pytest.mark.parametrize("local", [True, False], ids=["unix", "tcp"])
def test_a_claim_is_lost_while_nobody_reads_the_messages(world, peer, local):
    """The next worker gets the item at once, so its command must not wait for the worker's end."""
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
    push(world, *args, "b")  # its failure is a message
    until(lambda: waits_in_write(worker.pid), "a worker that waits for a reader")
    world.ok("znode", "rm", *args[:-1], "/conclave/q.conclave/taken/qn-0000000000")
    until(lambda: not any(map(alive, processes)), "the end of the command")
    assert waits_in_write(worker.pid)
    os.close(reading)


def test_the_server_is_gone(world):
    """TERM to the command before the server can give its item to others; the worker waits on."""
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


def test_its_own_server_is_killed_under_it(world):
    """It is started again, and has everything; a command that runs is completed there."""
    push(world, "q", *"abc")
    p = world.start_conclave(
        "queue", "work", "q", "-c", "read -r x; echo $x; until [ -e go ]; do sleep 0.01; done")
    assert p.stdout.readline() == "a\n"
    os.kill(world.local_pid(), signal.SIGKILL)
    until(lambda: length(world, "q") == 3, "the server")
    open(world.path("go"), "w").close()
    until(lambda: length(world, "q") == 0, "the end of the work")


def test_no_server(world):
    for command in (["push", "q", "x"], ["pop", "q"], ["len", "q"], ["work", "q", "--", "true"]):
        r = world.conclave(
            "queue", command[0], "-C", "127.0.0.1:1", "--connect-timeout", "100ms", *command[1:])
        assert r.returncode == 69


def test_workers_that_are_killed(world):
    """Every item is done, and none by two at the same time."""
    count = 60
    push(world, "q", input="".join(f"{i}\n" for i in range(count)))
    command = ("read -r x; mkdir busy.$x || echo $x >> trouble; sleep 0.01; rmdir busy.$x; "
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
    assert world.lines("trouble") == []
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
