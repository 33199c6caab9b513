"""`conclave znode`: reads and writes single nodes, like zkCli."""

import base64
import contextlib
import json
import os
import signal
import threading

import pytest
from conftest import BINARY, TIMEOUT, stop, until
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError


def refused(world, code, *args, **rest):
    """Runs a `znode` command that must exit with `code`, and returns its only line on stderr."""
    return world.refused("znode", *args, code=code, **rest)


def watcher(world, *args, **rest):
    """Starts `znode watch --json` and waits until it watches."""
    p = world.start_conclave("znode", "watch", "--json", *args, **rest)
    line = p.stdout.readline()
    assert line, p.stderr.read()
    assert json.loads(line)["event"] == "watching"
    return p


def next_event(p):
    timer = threading.Timer(TIMEOUT, p.kill)
    timer.start()
    line = p.stdout.readline()
    timer.cancel()
    assert line, "no event was printed"
    e = json.loads(line)
    return e["event"], e["path"]


@pytest.fixture
def kazoo(world):
    """A client of kazoo. All commands use the same TCP server."""
    _, address = world.serve()
    world.env["CONCLAVE_CONNECT"] = address
    k = KazooClient(address)
    k.start()
    yield k
    k.stop()
    k.close()


def test_relative_paths_are_below_conclave(world):
    assert world.ok("znode", "create", "x", "hello") == "/conclave/x\n"
    assert world.ok("znode", "get", "/conclave/x") == "hello"
    assert world.ok("znode", "ls", "/") == "conclave\nzookeeper\n"
    assert world.ok("znode", "ls") == "conclave\nzookeeper\n"


def test_ls(world):
    for name in ("b", "a", "c"):
        world.ok("znode", "create", "-p", f"d/{name}", name * 3)
    assert world.ok("znode", "ls", "d") == "a\nb\nc\n"
    assert world.json("znode", "ls", "--json", "d") == ["a", "b", "c"]
    heading, *rows = [line.split() for line in world.ok("znode", "ls", "-l", "d").splitlines()]
    assert heading == ["changed", "version", "bytes", "children", "owner", "name"]
    assert [r[2:] for r in rows] == [["0", "3", "0", "-", name] for name in "abc"]
    details = world.json("znode", "ls", "-l", "--json", "d")
    assert [(c["name"], c["data_length"]) for c in details] == [("a", 3), ("b", 3), ("c", 3)]
    assert world.ok("znode", "ls", "-l", "d/a") == ""
    assert "no such node" in refused(world, 1, "ls", "e")


def test_tree(world):
    world.ok("znode", "create", "-p", "t/a/b", "12345")
    world.ok("znode", "create", "t/c")
    holder = world.start_conclave("znode", "create", "-e", "--hold", "t/a/e")
    assert holder.stdout.readline() == "/conclave/t/a/e\n"
    assert world.ok("znode", "tree", "t") == (
        "/conclave/t (2)\n"
        "  a (2)\n"
        "    b\n"
        "    e  ephemeral\n"
        "  c\n"
        "5 nodes, 1 ephemeral, 5 bytes\n")
    assert world.ok("znode", "tree", "--depth", "1", "t") == (
        "/conclave/t (2)\n"
        "  a (2) ...\n"
        "  c\n"
        "3 nodes, 0 ephemeral, 0 bytes\n")
    top = world.json("znode", "tree", "--json", "t")
    assert top["path"] == "/conclave/t"
    assert [c["name"] for c in top["children"]] == ["a", "c"]
    b, e = top["children"][0]["children"]
    shown = {**world.json("znode", "stat", "--json", "t/a/b"), "name": "b"}
    assert b == shown and (b["data_length"], b["num_children"]) == (5, 0)
    assert e["ephemeral_owner_text"] == hex(e["ephemeral_owner"]) != "0x0"
    # Each value has only one name. Times are `created` and `changed`, also with _ms.
    assert not {"ctime", "mtime", "size"} & b.keys() and b["created_ms"] <= b["changed_ms"]
    assert world.ok("znode", "tree", "/").startswith("/ (2)\n  conclave (1)\n    t (2)\n")
    assert "no such node" in refused(world, 1, "tree", "u")


def test_get_prints_the_data_unchanged(world):
    data = bytes(range(256))
    with open(world.path("data"), "wb") as f:
        f.write(data)
    world.ok("znode", "create", "x", "--file", "data")
    r = world.run("sh", "-c", f"'{BINARY}' znode get x | cmp - data")
    assert r.returncode == 0, r
    shown = world.json("znode", "get", "--json", "x")
    assert base64.b64decode(shown["base64"]) == data and "data" not in shown


@pytest.mark.parametrize("data", ["", "a", "ab", "äöü €\u0000 \U0001f600\n\"", "\ufffd"])
def test_utf8_data_is_text_in_json(world, data):
    world.ok("znode", "create", "x", "-", input=data)
    assert world.json("znode", "get", "--json", "x")["data"] == data


@pytest.mark.parametrize("data", [
    b"\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3", b"a\xffbc"])
def test_other_data_is_base64_in_json(world, data):
    with open(world.path("data"), "wb") as f:
        f.write(data)
    world.ok("znode", "create", "x", "--file", "data")
    shown = world.json("znode", "get", "--json", "x")
    assert "data" not in shown and base64.b64decode(shown["base64"]) == data


def test_get_on_a_terminal_prints_a_newline(world):
    world.ok("znode", "create", "x", "hello")
    t = world.terminal(BINARY, "znode", "get", "x")
    assert t.wait() == 0
    until(lambda: not t.read(), "the end of the output")
    assert t.text == "hello\r\n"


def test_get_with_stat(world):
    world.ok("znode", "create", "x", "hello")
    first, *rest = world.ok("znode", "get", "--stat", "x").splitlines()
    assert first == "hello" and "data      5 bytes" in rest


def test_set(world):
    world.ok("znode", "create", "x")
    world.ok("znode", "set", "x", "argument")
    assert world.ok("znode", "get", "x") == "argument"
    world.ok("znode", "set", "x", "-", input="stdin\n")
    assert world.ok("znode", "get", "x") == "stdin\n"
    with open(world.path("file"), "w") as f:
        f.write("file")
    world.ok("znode", "set", "x", "--file", "file")
    assert world.ok("znode", "get", "x") == "file"
    world.ok("znode", "set", "x", "")
    assert world.ok("znode", "get", "x") == ""
    world.ok("znode", "set", "x", "--", "-5")
    assert world.ok("znode", "get", "x") == "-5"
    assert world.json("znode", "set", "--json", "x", "6")["stat"]["version"] == 6


def test_set_with_a_version(world):
    world.ok("znode", "create", "x", "0")
    world.ok("znode", "set", "--version", "0", "x", "1")
    assert "version" in refused(world, 1, "set", "--version", "0", "x", "2")
    assert world.ok("znode", "get", "x") == "1"


def test_set_refuses(world):
    assert "stdin" in refused(world, 64, "set", "x")
    assert "no such node" in refused(world, 1, "set", "x", "1")
    assert "cannot read nowhere" in refused(world, 64, "set", "x", "--file", "nowhere")
    assert "--file" in refused(world, 64, "set", "x", "y", "--file", "nowhere")
    assert "too large" in refused(world, 1, "set", "x", "--file", "/dev/zero")


def test_create_with_parents(world):
    assert "-p" in refused(world, 1, "create", "a/b/c")
    assert world.ok("znode", "create", "-p", "a/b/c") == "/conclave/a/b/c\n"
    assert world.ok("znode", "create", "-p", "a/b/d") == "/conclave/a/b/d\n"
    assert "already" in refused(world, 1, "create", "a/b/c")
    # Only /conclave is created without -p, no other top-level node.
    assert "-p" in refused(world, 1, "create", "/x/y")


def test_create_kinds(world):
    assert world.ok("znode", "create", "-s", "s-") == "/conclave/s-0000000000\n"
    made = world.json("znode", "create", "--json", "-s", "s-", "four")
    assert (made["path"], made["stat"]["data_length"]) == ("/conclave/s-0000000001", 4)
    assert world.ok("znode", "create", "--container", "c") == "/conclave/c\n"
    assert world.ok("znode", "create", "--ttl", "5m", "-s", "t-") == "/conclave/t-0000000003\n"
    world.ok("znode", "create", "--acl", "world:anyone:r", "a")
    assert world.ok("znode", "acl", "a") == "world:anyone:r\n"


def test_ttl_and_container_nodes_are_removed(world):
    _, address = world.serve("--container-check", "10ms")
    world.env["CONCLAVE_CONNECT"] = address
    world.ok("znode", "create", "-p", "k/ttl")
    world.ok("znode", "create", "--ttl", "1ms", "k/gone")
    world.ok("znode", "create", "--container", "k/c")
    world.ok("znode", "create", "k/c/child")
    world.ok("znode", "rm", "k/c/child")
    until(lambda: world.ok("znode", "ls", "k") == "ttl\n", "the removal of the nodes")


def test_ephemeral_nodes_need_hold(world):
    assert "--hold" in refused(world, 64, "create", "-e", "x")
    assert "-e" in refused(world, 64, "create", "--hold", "x")
    p = world.start_conclave("znode", "create", "-p", "-e", "-s", "--json", "--hold", "m/x-", "me")
    line = json.loads(p.stdout.readline())
    assert line["path"] == "/conclave/m/x-0000000000"
    assert line["stat"]["ephemeral_owner"] == line["session_id"] != 0
    assert world.ok("znode", "get", line["path"]) == "me"
    p.send_signal(signal.SIGTERM)
    assert p.wait(TIMEOUT) == 0
    assert world.ok("znode", "ls", "m") == ""


def test_hold_exits_if_its_node_is_removed(world):
    p = world.start_conclave("znode", "create", "-e", "--hold", "x")
    p.stdout.readline()
    world.ok("znode", "set", "x", "changed")  # does not end it
    world.ok("znode", "rm", "x")
    assert p.wait(TIMEOUT) == 75
    assert "removed" in p.stderr.read()


def test_hold_exits_if_its_node_is_replaced(world, kazoo):
    p = world.start_conclave("znode", "create", "-e", "--hold", "/x")
    p.stdout.readline()
    t = kazoo.transaction()
    t.delete("/x")
    t.create("/x")
    t.commit()
    assert p.wait(TIMEOUT) == 75


def test_rm(world):
    world.ok("znode", "create", "-p", "a/b/c")
    assert "-r" in refused(world, 1, "rm", "a")
    world.ok("znode", "rm", "a/b/c")
    assert "no such node" in refused(world, 1, "rm", "a/b/c")
    assert "no such node" in refused(world, 1, "rm", "-r", "a/b/c")
    world.ok("znode", "rm", "-f", "a/b/c")
    world.ok("znode", "rm", "-rf", "a", "a/b/c")
    assert world.ok("znode", "ls", "/conclave") == ""
    world.ok("znode", "create", "v")
    assert "version" in refused(world, 1, "rm", "--version", "1", "v")
    world.ok("znode", "rm", "--version", "0", "v")
    assert "/ cannot be removed" in refused(world, 64, "rm", "-rf", "/")


def test_more_nodes_than_requests_in_flight(world, kazoo):
    kazoo.create("/many")
    for begin in range(0, 5000, 500):
        t = kazoo.transaction()
        for i in range(begin, begin + 500):
            t.create(f"/many/{i:04}")
        t.commit()
    assert world.ok("znode", "ls", "/many") == "".join(f"{i:04}\n" for i in range(5000))
    assert len(world.json("znode", "ls", "-l", "--json", "/many")) == 5000
    kazoo.create("/many/0000/below")
    assert world.ok("znode", "tree", "/many").endswith("5002 nodes, 0 ephemeral, 0 bytes\n")
    world.ok("znode", "rm", "-r", "/many")
    assert world.ok("znode", "ls", "/") == "zookeeper\n"


def test_rm_while_others_create(world, kazoo):
    stopped = threading.Event()

    def create():
        i = 0
        while not stopped.is_set():
            i += 1
            with contextlib.suppress(NoNodeError):  # its parent was removed
                kazoo.create(f"/r/{i % 3}/{i}", makepath=True)

    creator = threading.Thread(target=create)
    creator.start()
    try:
        for _ in range(5):
            until(lambda: kazoo.exists("/r/1"), "nodes to remove")
            world.ok("znode", "rm", "-r", "/r")
    finally:
        stopped.set()
        creator.join()


def test_stat(world):
    world.ok("znode", "create", "-p", "x/y", "123")
    world.ok("znode", "set", "x", "12")
    s = world.json("znode", "stat", "--json", "x")
    assert (s["path"], s["version"], s["data_length"]) == ("/conclave/x", 1, 2)
    assert (s["num_children"], s["cversion"], s["ephemeral_owner"]) == (1, 1, 0)
    assert s["mzxid"] > s["czxid"]
    lines = world.ok("znode", "stat", "x", env={"TZ": "UTC"}).splitlines()
    assert [line.split()[0] for line in lines] == [
        "created", "changed", "version", "data", "children", "acl", "owner"]
    day, time = s["created"].rstrip("Z").split("T")
    assert lines[0].startswith(f"created   {day} {time} +0000")
    assert "no such node" in refused(world, 1, "stat", "y")


def test_watch(world):
    world.ok("znode", "create", "-p", "w")
    p = watcher(world, "w/x", "--count", "4")
    world.ok("znode", "create", "w/x")
    assert next_event(p) == ("created", "/conclave/w/x")
    world.ok("znode", "set", "w/x", "1")
    assert next_event(p) == ("changed", "/conclave/w/x")
    world.ok("znode", "create", "w/x/y")
    assert next_event(p) == ("children_changed", "/conclave/w/x")
    world.ok("znode", "rm", "w/x/y")
    assert next_event(p) == ("children_changed", "/conclave/w/x")
    assert p.wait(TIMEOUT) == 0


def test_watch_recursively(world):
    p = watcher(world, "--recursive", "/")
    world.ok("znode", "create", "-p", "a/b")
    assert [next_event(p) for _ in range(3)] == [
        ("created", "/conclave"), ("created", "/conclave/a"), ("created", "/conclave/a/b")]
    p.send_signal(signal.SIGINT)
    assert p.wait(TIMEOUT) == 0


def test_watch_as_text(world):
    p = world.start_conclave("znode", "watch", "x")
    assert p.stdout.readline().split()[3:] == ["watching", "/conclave/x"]
    world.ok("znode", "create", "x")
    assert p.stdout.readline().split()[3:] == ["created", "/conclave/x"]


def test_watch_continues_after_the_server_was_killed(world):
    world.ok("znode", "create", "x")
    p = watcher(world, "x")
    os.kill(world.local_pid(), signal.SIGKILL)
    assert next_event(p) == ("possibly_missed", "/conclave/x")
    world.ok("znode", "set", "x", "1")
    assert next_event(p) == ("changed", "/conclave/x")


def test_watch_continues_in_a_new_session(world):
    server, address = world.serve("--min-session-timeout", "100ms")
    p = watcher(world, "/x", "-C", address, "--session-timeout", "500ms")
    server.kill()
    server.wait()
    # The server has no storage, so the new server does not know the session.
    again = world.start_conclave(
        "serve", "--durability", "none", "--no-socket", "--listen", address)
    assert again.stdout.readline()
    assert next_event(p) == ("possibly_missed", "/x")
    world.ok("znode", "create", "-C", address, "/x")
    assert next_event(p) == ("created", "/x")


def test_acl(world):
    world.ok("znode", "create", "x")
    assert world.ok("znode", "acl", "x") == "world:anyone:cdrwa\n"
    wanted = "world:anyone:ra,digest:ops:Zt1XbbQzAFsOtz6wYWLRLmBAvhU=:cdrwa"
    world.ok("znode", "acl", "x", "--set", wanted)
    assert world.ok("znode", "acl", "x") == wanted.replace(",", "\n") + "\n"
    shown = world.json("znode", "acl", "--json", "x")
    assert shown["aversion"] == 1
    assert shown["acl"][0] == {"scheme": "world", "id": "anyone", "permissions": "ra"}
    assert "not allowed" in refused(world, 77, "set", "x", "1")
    assert "version" in refused(world, 1, "acl", "x", "--version", "0", "--set", "world:anyone:r")
    for wrong in ("world:anyone", "world:anyone:x", "world:anyone:", ":a:r", "world:anyone:r,", "r"):
        assert "cdrwa" in refused(world, 64, "acl", "x", "--set", wrong)


def test_acl_with_credentials(world):
    world.secret("digest:ops:secret\n")
    world.ok("znode", "create", "x", "--auth-file", "auth")
    assert "not allowed" in refused(world, 77, "get", "x")
    assert world.ok("znode", "get", "x", "--auth-file", "auth") == ""
    world.ok("znode", "acl", "x", "--auth-file", "auth", "--set", "world:anyone:r,auth::cdrwa")
    assert world.ok("znode", "get", "x") == ""


@pytest.mark.parametrize(
    "name", ["ls", "tree", "get", "set", "create", "rm", "stat", "watch", "acl"])
def test_help_has_an_example(world, name):
    assert f"conclave znode {name} " in world.ok("znode", name, "--help").split("Example")[1]


def test_no_server(world):
    r = refused(world, 69, "get", "-C", "127.0.0.1:1", "--connect-timeout", "200ms", "x")
    assert "127.0.0.1:1" in r


@pytest.mark.parametrize("args", [["watch", "/x"], ["create", "-e", "--hold", "/x"]])
def test_a_signal_while_it_connects(world, args):
    server, address = world.serve()
    stop(server)
    p = world.start_conclave("znode", *args, "-C", address, "--connect-timeout", "1h")

    def blocks_signals():
        with open(f"/proc/{p.pid}/status") as f:
            blocked = next(line for line in f if line.startswith("SigBlk")).split()[1]
        return int(blocked, 16) & 1 << (signal.SIGINT - 1)

    until(blocks_signals, "the loop that waits for signals")
    p.send_signal(signal.SIGINT)
    assert p.wait(TIMEOUT) == -signal.SIGINT
