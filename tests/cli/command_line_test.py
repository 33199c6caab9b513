"""The command line itself: unknown words, options before the command, help, -v."""

import pytest
from conftest import BINARY
from relay import Relay


@pytest.mark.parametrize("line, meant", [
    ("lokc x -- true", "'lock'"), ("stat", "'status'"), ("pop jobs", "'queue pop'"),
    ("queue psuh jobs x", "'queue push'"), ("completion bahs", "'completion bash'"),
    ("help lokc", "'lock'"),
    ("status --jsno", "--json"), ("lock --permit 4 x -- true", "--permits"),
    ("--conect zk1 status", "--connect"), ("queue peek --jsno=3 q", "--json")])
def test_suggests_the_closest_word(world, line, meant):
    assert world.refused(*line.split()).endswith(f"; did you mean {meant}?\n")


def test_words_without_a_suggestion(world):
    assert world.refused("xyzzy") == (
        "conclave: there is no command 'xyzzy'; see: conclave --help\n")
    assert world.refused("completion", "powershell") == (
        "conclave: there is no command 'completion powershell'; the commands are bash, zsh, fish\n")
    assert "see: conclave status --help" in world.refused("status", "--xyzzy")
    # Words after a path may belong to the command to run.
    assert "lock x -- ls -Z" in world.refused("lock", "x", "ls", "-Z")
    assert "conclave lock -C h:1 x -- ls -Z" in world.refused("-C", "h:1", "lock", "x", "ls", "-Z")
    assert world.local_pid() is None


def test_help_and_version(world):
    assert world.ok("help") == world.ok("--help")
    assert world.ok("help", "lock") == world.ok("lock", "--help")
    assert world.ok("help", "queue", "push") == world.ok("queue", "push", "--help")
    assert world.ok("version") == world.ok("--version")
    for words in [], ["queue"]:
        r = world.conclave(*words)
        assert (r.returncode, r.stdout, r.stderr) == (64, world.ok(*words, "--help"), "")


def test_options_before_the_command(world):
    _, address = world.serve()
    other = {"CONCLAVE_CONNECT": "127.0.0.1:1"}
    assert world.ok("-C", address, "lock", "x", "--", "echo", "ran", env=other) == "ran\n"
    world.ok("--connect", address, "--session-timeout=5s", "queue", "push", "q", "item", env=other)
    assert world.ok(f"--connect={address}", "queue", "len", "q", env=other) == "1\n"
    # Options after the command take precedence.
    assert world.ok("-C", "127.0.0.1:1", "queue", "len", "q", "-C", address) == "1\n"
    assert "no server" in world.refused(
        "--connect-timeout", "50ms", "queue", "len", "q", env=other, code=69)
    assert world.refused("-C", address, "version") == (
        "conclave: conclave version has no option --connect; leave it out\n")


def test_verbose(world):
    _, address = world.serve()
    r = world.conclave("-v", "lock", "-C", address, "x", "--", "echo", "ran")
    assert (r.returncode, r.stdout) == (0, "ran\n")
    lines = r.stderr.splitlines()
    assert lines[0] == f"conclave: using {address} (--connect)"
    assert any(line.startswith("conclave: session 0x") for line in lines)
    assert f"conclave: connected to {address}" in lines
    world.hold("-C", address, "x", "--label", "me")
    p = world.start_conclave("lock", "-v", "-C", address, "x", "--", "true")
    line = p.stderr.readline()
    while "waiting for x · 1 ahead · held by me for " not in line:
        assert line.startswith("conclave: ")
        line = p.stderr.readline()


def test_verbose_reports_a_suspension(world):
    _, address = world.serve()
    world.hold("-C", address, "x")
    relay = Relay(address)
    p = world.start_conclave("lock", "-w", "20", "-v", "-C", relay.address, "x", "--", "true")

    def expect(part):
        line = p.stderr.readline()
        while part not in line:
            assert line.startswith("conclave: "), line
            line = p.stderr.readline()

    expect("1 ahead")
    relay.disconnect()
    expect(" suspended")
    expect(f"waiting for x · no connection to {relay.address}")
    relay.restore()
    expect(" reconnected")
    expect("1 ahead")
    relay.close()


@pytest.mark.parametrize("line", ["lock x -- true", "queue pop -w 100 q"])
def test_on_a_terminal_a_command_reports_that_it_waits_for_its_server(world, line):
    _, address = world.serve()
    world.hold("-C", address, "x")
    relay = Relay(address)
    relay.disconnect()
    t = world.terminal(BINARY, "-C", relay.address, *line.split())
    t.expect(f"no connection to {relay.address}")
    t.text = ""
    relay.restore()
    t.expect(" ahead" if "lock" in line else f"connected to {relay.address}")
    t.text = ""
    relay.disconnect()
    t.expect(f"no connection to {relay.address}")
    relay.close()


def test_on_a_terminal_a_lock_that_is_not_acquired_is_reported(world):
    world.hold("x")
    args = ["lock", "-w", "0.01", "x", "--", "true"]
    r = world.conclave(*args)
    assert (r.returncode, r.stderr) == (1, "")
    t = world.terminal(BINARY, *args)
    t.expect("conclave: lock x: not acquired within 10ms")
    assert t.wait() == 1


def test_an_empty_server_name(world):
    for hosts in "a,,b", ",a", "a,", "a,/chroot":
        assert hosts in world.refused("status", "-C", hosts)


@pytest.mark.parametrize("line, named", [
    ("serve --listen 99999", "99999"), ("serve --listen ::1:0", "[::1]:0"),
    ("serve --words foo", "'foo'"), ("serve --words ruok,stat,foo", "srvr"),
    ("serve --socket-group nosuch", "--socket-group"),
    ("serve --socket here --socket-group nosuch", "groupadd"),
    ("serve --tls-listen 0 --tls-cert missing --tls-key missing", "missing"),
    ("serve --tick 0", "session timeout"), ("serve --config missing", "missing"),
    ("status -C 127.0.0.1:1 --tls-ca missing", "missing"),
    ("lock -C 127.0.0.1:1 --tls-cert missing --tls-key missing x -- true", "missing"),
    ("status --watch=abc", "'abc'"), ("status --watch=-1s x", "'-1s'")])
def test_bad_usage_is_64(world, line, named):
    words = line.split()
    if words[0] == "serve":
        words[1:1] = ["--durability", "none"]
    assert named in world.refused(*words)


@pytest.mark.parametrize("option", [
    "--require-auth", "--words", "--backup", "--data", "--socket", "--config", "--listen", "--tick",
    "--super-digest", "--log"])
def test_an_empty_option_of_the_server(world, option):
    said = world.refused("serve", option, "")
    assert option in said and "empty" in said


def test_an_empty_list_for_the_server(world):
    for option in "--require-auth", "--words":
        assert option in world.refused("serve", "--durability", "none", option, ",")


def test_known_four_letter_words(world):
    for words in "ruok,wchc", "*":
        world.serve("--words", words)


def test_several_unix_sockets(world):
    """As with TCP, any server that answers is used. The client does not know which one has the
    session."""
    _, address = world.serve("--socket", world.path("socket"))
    hosts = f"unix:{world.path('missing')},unix:{world.path('socket')}"
    assert world.ok("lock", "-C", hosts, "x", "--", "echo", "ran") == "ran\n"
    p, _ = world.hold("-C", hosts, "x")
    assert world.conclave("lock", "-C", address, "-n", "x", "--", "true").returncode == 1
    p.kill()
    world.ok("lock", "-C", hosts, "x", "--", "true")
    assert "missing" in world.refused("status", "--connect-timeout", "50ms", "-C",
                                      f"unix:{world.path('missing')},unix:{world.path('none')}",
                                      code=69)


def test_a_backup_needs_a_file(world):
    """Otherwise the command would run a server."""
    assert "--backup" in world.refused("serve", "--backup", "")


@pytest.mark.parametrize("words, proposed", [
    (["-c", "echo hi"], "PATH -c 'echo hi'"), (["-c"], "PATH -c LINE"),
    (["-c", "echo hi", "x", "y"], "x y -- sh -c 'echo hi'"),
    (["x", "sh", "-c", "echo hi"], "x -- sh -c 'echo hi'")], ids=str)
def test_the_proposed_command_line_is_correct(world, words, proposed):
    said = world.refused("lock", *words)
    assert said.endswith(f"try: conclave lock {proposed}\n"), said
