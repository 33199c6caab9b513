"""`conclave lock`: all flags, which locks exclude each other, and wrong command lines."""

import json
import os
import re
import shlex
import signal
import time

import pytest
from conftest import BINARY, until
from relay import Relay


def is_held(world, *args):
    """Returns whether the lock cannot be acquired immediately."""
    r = world.conclave("lock", "-n", *args, "--", "true")
    assert r.returncode in (0, 1) and r.stderr == "", r
    return r.returncode == 1


def release(*holders):
    for p in holders:
        p.send_signal(signal.SIGTERM)
        assert p.wait() == 0


def entry(world, path):
    found = [e for e in world.json("status", "--json", path)["entries"]]
    assert len(found) == 1, found
    return found[0]


def test_readers_share_the_lock_and_writers_do_not(world):
    one, _ = world.hold("-s", "x")
    two, _ = world.hold("--shared", "x")
    assert is_held(world, "x")
    assert is_held(world, "x", "y")
    assert not is_held(world, "y")
    release(one)
    assert is_held(world, "x")
    release(two)
    assert not is_held(world, "x")


@pytest.mark.parametrize("writer", [["x"], ["-x", "x"], ["-e", "x"], ["--exclusive", "x"],
                                    ["x", "y"], ["y", "x"]])
def test_a_writer_excludes_all_others(world, writer):
    p, _ = world.hold(*writer)
    assert is_held(world, "-s", "x")
    assert is_held(world, "x")
    assert is_held(world, "x", "z")
    release(p)
    assert not is_held(world, "-s", "x")


def test_all_of_several_paths_are_acquired_or_none(world):
    one, _ = world.hold("b")
    assert is_held(world, "a", "b", "c")
    for path in "a", "c":
        assert not is_held(world, path)
    p = world.start_conclave("lock", "--hold", "c", "b", "a")
    release(one)
    assert json.loads(p.stdout.readline())["path"]
    for path in "a", "b", "c":
        assert is_held(world, path)
    release(p)
    for path in "a", "b", "c":
        assert not is_held(world, path)


def test_a_writer_is_not_overtaken_by_readers(world):
    reader, _ = world.hold("-s", "x")
    writer = world.start_conclave("lock", "--hold", "x")
    until(lambda: entry(world, "x")["waiters"], "the writer")
    assert is_held(world, "-s", "x")
    release(reader)
    assert json.loads(writer.stdout.readline())["path"] == "/conclave/x"


@pytest.mark.parametrize("wait", ["0.1", "0", "100ms", "0.1s"])
def test_wait_times_out(world, wait):
    world.hold("x")
    begin = time.monotonic()
    r = world.conclave("lock", "-w", wait, "x", "--", "echo", "ran")
    assert (r.returncode, r.stdout, r.stderr) == (1, "", "")
    if wait != "0":
        assert time.monotonic() - begin >= 0.1
    r = world.conclave("lock", "--wait", wait, "--conflict-exit-code", "7", "x", "--", "echo",
                       "ran")
    assert (r.returncode, r.stdout, r.stderr) == (7, "", "")
    assert world.conclave("lock", "-w", wait, "-E", "0", "x", "--", "false").returncode == 0


def test_wait_acquires_a_lock_that_is_released(world):
    holder, _ = world.hold("x")
    p = world.start_conclave("lock", "-w", "100", "x", "--", "echo", "ran")
    until(lambda: entry(world, "x")["waiters"], "the waiter")
    release(holder)
    assert p.communicate() == ("ran\n", "")
    assert p.returncode == 0


def test_nonblock_with_all_kinds_of_locks(world):
    world.hold("x")
    world.hold("-s", "r")
    world.hold("--permits", "1", "p")
    for args in ["x"], ["-s", "x"], ["x", "y"], ["r"], ["--permits", "1", "p"]:
        r = world.conclave("lock", "--nonblock", "-E", "9", *args, "--", "echo", "ran")
        assert (r.returncode, r.stdout, r.stderr) == (9, "", "")


def test_the_number_of_permits_is_limited(world):
    holders = [world.hold("--permits", "3", "x")[0] for _ in range(3)]
    assert is_held(world, "--permits", "3", "x")
    release(holders[1])
    assert not is_held(world, "--permits", "3", "x")
    holders[1], _ = world.hold("--permits", "3", "x")
    assert is_held(world, "--permits", "3", "x")


def test_status_shows_the_label(world):
    label = "nightly \u00fc \"backup\" 'of' db"
    _, line = world.hold("--label", label, "x")
    assert entry(world, "x")["holders"][0]["owner"] == label
    assert world.ok("znode", "get", line["node"]).startswith(label)


def test_the_default_label_is_host_and_process(world):
    p, _ = world.hold("x")
    assert str(p.pid) in entry(world, "x")["holders"][0]["owner"]


@pytest.mark.parametrize("layout, name", [
    ("kazoo", r".*__lock__\d{10}"), ("curator", r".*(?<!_)lock-\d{10}"),
    ("zookeeper", r"x-.*\d{10}"), ("custom-", r".*custom-\d{10}")])
def test_names_of_nodes(world, layout, name):
    _, line = world.hold("--layout", layout, "x")
    assert line["node"].rsplit("/", 1)[0] == "/conclave/x"
    assert re.fullmatch(name, line["node"].rsplit("/", 1)[1]), line
    assert is_held(world, "--layout", layout, "x")


def test_all_kinds_exclude_each_other(world):
    """No --layout is needed. Programs that use the library's defaults are also excluded."""
    _, line = world.hold("x")
    assert re.fullmatch(r"lock-\d{10}", line["node"].rsplit("/", 1)[1])
    for args in ["x"], ["-s", "x"], ["x", "y"]:
        assert is_held(world, *args)
    world.hold("-s", "r")
    for args in ["r"], ["r", "y"]:
        assert is_held(world, *args)
    assert not is_held(world, "-s", "r")


def test_a_different_layout_is_refused_and_named(world):
    world.hold("--layout", "kazoo", "x")
    for args in ["x"], ["-s", "x"], ["x", "y"], ["-n", "x"]:
        r = world.conclave("lock", *args, "--", "echo", "ran")
        assert (r.returncode, r.stdout) == (78, "")
        assert r.stderr == ("conclave: lock /conclave/x: node __lock__0000000000 has the layout "
                            "kazoo, but this lock has the layout curator; pass --layout kazoo to "
                            "share the lock with it\n")
    assert is_held(world, "--layout", "kazoo", "x")


def test_the_node_that_is_named_conflicts(served):
    """Readers with kazoo's names wait for kazoo's locks, so only the other node is a conflict."""
    world, zk = served
    for name in "abc__lock__", "lock-":
        zk.create(f"/conclave/x/{name}", b"", ephemeral=True, sequence=True, makepath=True)
    why = world.refused("lock", "-s", "--layout", "kazoo", "x", "--", "true", code=78)
    assert why == ("conclave: lock /conclave/x: node lock-0000000001 has the layout curator, but "
                   "this lock has the layout kazoo; pass --layout curator to share the lock with "
                   "it\n")


def test_permits_are_refused_while_a_lock_with_a_custom_prefix_is_held(world):
    world.hold("--layout", "my-", "x")
    r = world.conclave("lock", "-n", "--permits", "1", "x", "--", "echo", "ran")
    assert (r.returncode, r.stdout) == (78, "")


def test_a_different_number_of_permits_is_refused(world):
    p, _ = world.hold("--permits", "3", "x")
    for args, advice in ((["--permits", "1"], "--permits 3"), ([], "--permits 3"),
                         (["-s"], "--permits 3")):
        r = world.conclave("lock", *args, "x", "--", "echo", "ran")
        assert (r.returncode, r.stdout) == (78, "")
        assert advice in r.stderr
    assert not is_held(world, "--permits", "3", "x")
    release(p)
    world.hold("x")
    r = world.conclave("lock", "--permits", "3", "x", "--", "echo", "ran")
    assert r.returncode == 78 and "--permits" in r.stderr


def test_an_unknown_layout(world):
    assert "curator" in world.refused("lock", "--layout", "flock", "x", "--", "true")
    world.refused("lock", "--layout", "", "x", "--", "true")
    world.refused("lock", "--layout", "a/b-", "x", "--", "true")


def test_a_command_line_for_the_shell(world):
    line = "for i in a 'b  c' \"d\"; do echo \"$i\"; done | tr a-z A-Z; exit 5"
    r = world.conclave("lock", "x", "-c", line)
    assert (r.returncode, r.stdout, r.stderr) == (5, "A\nB  C\nD\n", "")
    assert world.ok("lock", "--command", "echo '--' \"$CONCLAVE_LOCK_PATH\"", "x") == (
        "-- /conclave/x\n")
    assert world.ok("lock", "x", "-c", "") == ""
    assert world.ok("lock", "-c", "", "x") == ""


def test_hold_prints_its_lock(world):
    p, line = world.hold("a/b")
    assert set(line) == {"path", "node", "fencing_token", "fencing_token_text", "session_id",
                         "session_id_text"}
    assert line["path"] == "/conclave/a/b"
    assert line["node"].startswith("/conclave/a/b/")
    assert line["fencing_token"] > 0
    assert line["session_id"] == entry(world, "a/b")["holders"][0]["session_id"]
    release(p)
    assert p.stdout.read() == ""
    again, later = world.hold("/conclave/a/b")
    assert later["fencing_token"] > line["fencing_token"]


@pytest.mark.parametrize("path", ["[a,b]", "{}", "[]", "[x]", "a,b", "%%", "lock"])
def test_a_path_is_used_unchanged(world, path):
    command = ["--", "sh", "-c", "echo $CONCLAVE_LOCK_PATH"]
    assert world.ok("lock", path, *command) == f"/conclave/{path}\n"
    _, line = world.hold("zz", path)
    assert line["path"] == "/conclave/zz"
    assert world.conclave("lock", "-n", path, *command).returncode == 1
    assert [e["path"] for e in world.json("status", "--json", path)["entries"]] == [
        f"/conclave/{path}"]


@pytest.mark.parametrize("args, name", [
    (["-w", "1", "--wait", "2"], "--wait"), (["-E", "1", "-E", "1"], "--conflict-exit-code"),
    (["--label", "a", "--label", "b"], "--label")])
def test_a_flag_given_twice_is_named(world, args, name):
    assert f"{name}: " in world.refused("lock", *args, "x", "--", "true")


FLOCK_HABITS = [
    ["x", "./job"],
    ["x", "./job", "-v"],
    ["x", "sh", "-c", "touch ran"],
    ["x", "tar", "-czf", "a", "b"],
    ["x", "make", "-n"],
    ["-n", "x", "touch", "ran"],
    ["x", "y", "-c", "touch ran"],
    ["x"],
    [],
]


@pytest.mark.parametrize("args", FLOCK_HABITS, ids=" ".join)
def test_a_command_without_dashes_is_not_used_as_a_path(world, args):
    with open(world.path("job"), "w") as f:
        f.write("#!/bin/sh\ntouch ran\n")
    os.chmod(world.path("job"), 0o755)
    line = world.refused("lock", *args)
    assert " -- " in line
    assert not os.path.exists(world.path("ran"))
    assert world.local_pid() is None  # no server was started


@pytest.mark.parametrize("args, right", [
    (["x", "./job"], ["x", "--", "./job"]),
    (["x", "tar", "-czf", "a", "b"], ["x", "--", "tar", "-czf", "a", "b"]),
    (["x", "make", "-n"], ["x", "--", "make", "-n"]),
    (["x", "sh", "-c", "echo hi"], ["x", "--", "sh", "-c", "echo hi"]),
    (["x", "./job", "-v"], ["x", "--", "./job", "-v"]),
    (["-w", "3", "x", "-n", "./job", "-n"], ["-w", "3", "x", "-n", "--", "./job", "-n"]),
    (["-w", "3", "x"], ["-w", "3", "x", "--", "COMMAND"]),
    (["-q"], ["-q", "PATH", "--", "COMMAND"]),
], ids=str)
def test_the_message_shows_the_correct_command_line(world, args, right):
    line = world.refused("lock", *args)
    shown = line[line.index("conclave lock "):]
    assert shlex.split(shown) == ["conclave", "lock", *right]


@pytest.mark.parametrize("args", [
    ["x", "--"],
    ["--", "true"],
    ["", "--", "true"],
    ["x/", "--", "true"],
    ["/", "--", "true"],
    ["a/../b", "--", "true"],
    ["-n", "-w", "1", "x", "--", "true"],
    ["-s", "-x", "x", "--", "true"],
    ["-s", "x", "y", "--", "true"],
    ["-s", "--permits", "2", "x", "--", "true"],
    ["--permits", "2", "x", "y", "--", "true"],
    ["--permits", "0", "x", "--", "true"],
    ["--permits", "-1", "x", "--", "true"],
    ["--permits", "many", "x", "--", "true"],
    ["-w", "soon", "x", "--", "true"],
    ["-w", "-1", "x", "--", "true"],
    ["-w", "nan", "x", "--", "true"],
    ["-w", "", "x", "--", "true"],
    ["-E", "256", "x", "--", "true"],
    ["-E", "-1", "x", "--", "true"],
    ["--hold", "x", "--", "true"],
    ["--hold", "-c", "true", "x"],
    ["-c", "true", "x", "--", "true"],
    ["--on-suspend", "panic", "x", "--", "true"],
    ["--kill-after", "soon", "x", "--", "true"],
    ["--session-timeout", "0", "x", "--", "true"],
    ["--no-such-flag", "x", "--", "true"],
    ["-C", "host:port", "x", "--", "true"],
    ["-C", "", "x", "y", "x"],
], ids=" ".join)
def test_usage(world, args):
    world.refused("lock", *args)


@pytest.mark.parametrize("args", [["-w", "-1", "x"], ["x/"], ["--layout", "flock", "x"]],
                         ids=" ".join)
def test_a_usage_error_needs_no_server(world, args):
    world.refused("lock", *args, "--", "true")
    assert world.local_pid() is None


def test_no_server(world):
    line = world.refused("lock", "-C", "127.0.0.1:1", "--connect-timeout", "100ms", "x", "--",
                   "true", code=69)
    assert "127.0.0.1:1" in line
    line = world.refused("lock", "-C", "unix:/nonexistent/socket", "--connect-timeout", "0.1",
                   "x", "--", "true", code=69)
    assert "/nonexistent/socket" in line


@pytest.mark.parametrize("limit", [["-w", "0.3"], ["-n"], ["-w", "0.3", "-E", "0"],
                                   ["-n", "-E", "0"]], ids=" ".join)
def test_no_server_is_not_a_conflict(world, limit):
    """Otherwise a job would never run, and nobody would notice."""
    said = world.refused("lock", *limit, "-C", "127.0.0.1:1", "--connect-timeout", "2s", "x", "--",
                         "true", code=69)
    assert "127.0.0.1:1" in said


def test_a_server_that_is_killed_during_the_wait_is_not_a_conflict(world):
    server, address = world.serve()
    world.hold("-C", address, "x")
    p = world.start_conclave("lock", "-w", "3", "-C", address, "x", "--", "true")
    until(lambda: "1 waiting" in world.ok("status", "-C", address, "x") or
          "waits" in world.ok("status", "-C", address, "x"), "the waiter")
    server.kill()
    out, err = p.communicate()
    assert (p.returncode, out) == (69, "") and address in err


@pytest.mark.parametrize("code", [0, 33])
def test_a_connection_after_the_time_limit_is_not_a_conflict(world, code):
    """The command then tries to acquire the lock, which is free (0) or held (33)."""
    _, address = world.serve()
    if code == 33:
        world.hold("-C", address, "x")
    relay = Relay(address, delay=0.05)

    def attempt():
        r = world.conclave("lock", "-v", "-w", "1ms", "-E", "33", "-C", relay.address, "x", "--",
                           "echo", "ran")
        # On a busy machine, the connection may need more than a second.
        assert r.returncode in (code, 69), r
        assert r.stdout == ("ran\n" if r.returncode == 0 else ""), r
        assert ("not acquired within 1ms" in r.stderr) == (r.returncode == 33), r
        return r.returncode == code

    until(attempt, "a connection within a second")
    relay.close()


@pytest.mark.parametrize("outer, inner", [
    (["a"], ["a"]), (["a"], ["/conclave/a"]), (["/conclave/a"], ["-s", "a"]), (["-s", "a"], ["a"]),
    (["a", "b"], ["b"]), (["b"], ["a", "b", "c"]), (["--permits", "1", "a"], ["--permits", "1", "a"]),
    (["a"], ["--hold", "a"])])
def test_a_nested_lock_that_would_wait_for_itself_is_refused(world, outer, inner):
    run = [] if "--hold" in inner else ["--", "true"]
    r = world.conclave("lock", *outer, "--", BINARY, "lock", *inner, *run)
    assert (r.returncode, r.stdout, r.stderr.count("\n")) == (64, "", 1), r
    assert "wait for itself" in r.stderr


def test_the_held_path_of_several_is_named(world):
    r = world.conclave("lock", "x", "b", "y", "--", BINARY, "lock", "c", "a", "b", "--", "true")
    assert (r.returncode, r.stdout) == (64, "")
    assert r.stderr == ("conclave: lock /conclave/b: this command runs under the same lock and would "
                        "wait for itself; acquire it only once, or limit the wait (-n, -w)\n")


def test_a_nested_election_that_would_wait_for_itself_is_refused(world):
    r = world.conclave("elect", "a", "--", BINARY, "elect", "a", "--", "true")
    assert (r.returncode, r.stdout, r.stderr.count("\n")) == (64, "", 1), r


def test_a_lock_that_waits_for_an_outer_lock_is_refused(world):
    r = world.conclave("lock", "a", "--", BINARY, "lock", "b", "--", BINARY, "lock", "a", "--", "true")
    assert r.returncode == 64, r


@pytest.mark.parametrize("outer, inner, code", [
    (["a"], ["b"], 0), (["-s", "a"], ["-s", "a"], 0), (["a"], ["-n", "a"], 1),
    (["a"], ["-w", "0.1", "-E", "7", "a"], 7),
    (["--permits", "2", "a"], ["--permits", "2", "a"], 0)])
def test_nested_locks_that_do_not_wait_for_themselves(world, outer, inner, code):
    r = world.conclave("lock", *outer, "--", BINARY, "lock", *inner, "--", "true")
    assert (r.returncode, r.stderr) == (code, ""), r


def test_the_same_path_on_another_server(world):
    _, address = world.serve()
    world.ok("lock", "a", "--", BINARY, "lock", "-C", address, "a", "--", "true")


def test_a_released_lock_in_the_environment_is_ignored(world):
    """A process may live longer than the lock that its environment names."""
    held = world.ok("lock", "a", "--", "sh", "-c", 'printf %s "$CONCLAVE_HELD"')
    assert "/conclave/a" in held
    world.ok("lock", "a", "--", "true", env={"CONCLAVE_HELD": held})
    world.ok("lock", "a", "--", "true", env={"CONCLAVE_HELD": "nonsense\n\t\t\t\t\t\n"})


def test_a_command_that_cannot_be_run(world):
    with open(world.path("plain"), "w") as f:
        f.write("echo ran\n")
    for command, code in [("./plain", 126), ("/", 126), ("./plain/below", 126), ("./missing", 127),
                          ("no-such-command", 127), ("", 127)]:
        line = world.refused("lock", "x", "--", command, code=code)
        assert f"'{command}'" in line
        assert not is_held(world, "x")


def test_a_path_that_looks_like_a_contender_of_the_parent_path_is_refused(world):
    """`lock-$(date +%s)` produces such a path. It would block a lock at the parent path forever."""
    name = "backups/lock-1763287000"
    why = (" ('lock-1763287000' looks like the node of a contender at /conclave/backups; use a name "
           "that does not end with ten digits): not a valid node path\n")
    for line in ["lock", name], ["lock", "-s", name], ["lock", "other", name], [
            "lock", "--permits", "2", name], ["elect", name]:
        assert world.refused(*line, "--", "echo", "ran").endswith(why)
    assert world.refused("queue", "push", name, "item").endswith(why)
    assert "__WRIT__0000000001" in world.refused("lock", "a/__WRIT__0000000001/b", "--", "true")
    assert world.json("znode", "ls", "--json", "/") in ([], ["zookeeper"])
    assert world.ok("lock", "backups/lock-1763287000.d", "--", "echo", "ran") == "ran\n"
    assert not is_held(world, "backups")


def test_a_reduced_session_timeout_and_kill_after_are_reported(world):
    _, address = world.serve("--max-session-timeout", "8s")
    command = ["lock", "-C", address, "x"]
    assert world.ok(*command, "--", "true") == ""  # nothing was requested
    r = world.conclave(*command, "--session-timeout", "20s", "--kill-after", "5s", "--", "true")
    assert r.returncode == 0
    assert "conclave: the session timeout is 8s: the server does not grant 20s\n" in r.stderr
    assert "--kill-after) is 1333ms" in r.stderr and r.stderr.count("\n") == 2
    r = world.conclave(*command, "-v", "--", "true")
    assert "the session timeout is 8s" in r.stderr and "1333ms" in r.stderr
