"""`conclave lock`: the command gets the same input, output, arguments and environment as without
`conclave`."""

import json
import os
import random
import re
import signal
import subprocess
import sys

import pytest
from conftest import BINARY

ECHO_ARGUMENTS = [sys.executable, "-c",
                  "import os, sys; sys.stdout.buffer.write(b'\\0'.join("
                  "map(os.fsencode, sys.argv[1:])))"]


def raw(world, *args, **rest):
    """Like world.conclave(), but with bytes."""
    return subprocess.run([BINARY, *args], env=world.env, cwd=world.folder, capture_output=True,
                          **rest)


def test_binary_input_and_output(world):
    data = random.Random(1).randbytes(1 << 20)
    r = raw(world, "lock", "x", "--", "cat", input=data)
    assert (r.returncode, r.stderr) == (0, b"")
    assert r.stdout == data
    r = raw(world, "lock", "x", "-c", "cat >&2", input=data)
    assert (r.returncode, r.stdout) == (0, b"")
    assert r.stderr == data


def test_unread_input_remains_for_the_next_command(world):
    world.ok("lock", "x", "--", "true")
    script = f'"{BINARY}" lock x -- sh -c "read a; echo 1 \\$a"; read b; echo 2 $b'
    r = world.run("sh", "-c", script, input="first\nsecond\n")
    # A shell reads a line byte by byte. The second line is still there unless conclave has read it.
    assert (r.stdout, r.stderr) == ("1 first\n2 second\n", "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-",
                                    "<&- >&- 2>&-"])
@pytest.mark.parametrize("started", [True, False], ids=["warm", "first"])
def test_closed_descriptors(world, closed, started):
    if started:
        world.ok("lock", "x", "--", "true")
    # The command must find only those of the three descriptors open that conclave had open.
    look = ('import os, sys; f = open("found", "w"); '
            'print(*[i for i in range(3) if os.path.exists(f"/proc/self/fd/{i}")'
            ' and i != f.fileno()], file=f)')
    with open(world.path("look.py"), "w") as f:
        f.write(look)
    r = world.run("sh", "-c", f'"$@" {closed}', "sh", BINARY, "lock", "x", "--", sys.executable,
                  "look.py")
    assert r.returncode == 0, r
    # Before it opens the file, Python does not reuse closed descriptors.
    missing = {"<": "0", ">": "1", "2": "2"}
    closed_numbers = {missing[word[0]] for word in closed.split()}
    assert set(world.read("found").split()) == {"0", "1", "2"} - closed_numbers


@pytest.mark.parametrize("argument", [
    "", " ", "a b", "line\nline", "\n", "tab\t", "\u00fc\u4e16\U0001f512", "*", "$HOME", "`id`",
    "'\"", "\\", "--", "-n", "--hold", "--connect", "x" * 100_000])
def test_arguments_are_passed_unchanged(world, argument):
    r = raw(world, "lock", "x", "--", *ECHO_ARGUMENTS, "first", argument, "", argument)
    assert (r.returncode, r.stderr) == (0, b"")
    assert r.stdout.decode().split("\0") == ["first", argument, "", argument]


def test_arguments_that_are_not_utf8(world):
    r = raw(world, b"lock", b"x", b"--", *ECHO_ARGUMENTS, b"\xff\xfe")
    assert (r.returncode, r.stdout) == (0, b"\xff\xfe")


def test_paths_with_special_characters(world):
    for path in "a b", "\u00fc/\u4e16", "it's", '"quoted"', "$x":
        out = world.ok("lock", path, "-c", 'printf %s "$CONCLAVE_LOCK_PATH"')
        assert out == "/conclave/" + path


SHOW = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]


def test_environment_of_the_command(world):
    tokens = []
    for kind in ["x"], ["-s", "x"], ["x"], ["--permits", "2", "x"], ["y", "x"]:
        found = json.loads(world.ok("lock", *kind, "--", *SHOW, env={"MINE": "a b", "EMPTY": ""}))
        assert (found["MINE"], found["EMPTY"]) == ("a b", "")
        assert found["CONCLAVE_LOCAL"] == world.local
        assert found["CONCLAVE_LOCK_PATH"] == "/conclave/x"
        assert found["CONCLAVE_LOCK_NODE"].startswith("/conclave/x/")
        assert int(found["CONCLAVE_SESSION_ID"]) != 0
        tokens.append(int(found["CONCLAVE_FENCING_TOKEN"]))
    assert tokens == sorted(set(tokens)) and tokens[0] > 0


def test_status_shows_the_same_values_as_the_environment(world):
    p = world.start_conclave("lock", "x", "--", "sh", "-c",
                             "echo $CONCLAVE_LOCK_NODE $CONCLAVE_FENCING_TOKEN "
                             "$CONCLAVE_SESSION_ID; read wait", stdin=subprocess.PIPE)
    node, token, session = p.stdout.readline().split()
    seen, = world.json("status", "--json", "x")["entries"]
    holder, = seen["holders"]
    assert (holder["node"], holder["fencing_token"], holder["session_id"]) == (
        node, int(token), int(session))
    p.communicate("\n")
    assert p.returncode == 0


def test_a_nested_lock(world):
    """The variables of the inner lock replace those of the outer lock."""
    inner = ["lock", "inner", "--", "sh", "-c", "env | grep ^CONCLAVE_LOCK_PATH="]
    assert world.ok("lock", "outer", "--", BINARY, *inner) == "CONCLAVE_LOCK_PATH=/conclave/inner\n"


def test_output_to_a_closed_pipe(world):
    # SIGPIPE terminates the command, as without conclave, and a shell sees this exit code.
    script = f'{{ "{BINARY}" lock x -- sh -c "while echo y; do :; done"; echo $? >code; }} | true'
    assert world.run("sh", "-c", script).returncode == 0
    assert world.read("code") == f"{128 + signal.SIGPIPE}\n"
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 0


def test_output_of_conclave_to_a_closed_pipe(world):
    reading, writing = os.pipe()
    os.close(reading)
    p = world.start_conclave("status", "--json", stdout=writing)
    os.close(writing)
    p.wait()
    assert p.returncode != 0 and "Sanitizer" not in p.stderr.read()


LIST_DESCRIPTORS = [sys.executable, "-c", "import os\n"
                    "for i in range(1024):\n"
                    "  try: print(i, os.readlink(f'/proc/self/fd/{i}'))\n"
                    "  except FileNotFoundError: pass"]


@pytest.mark.parametrize("where", ["local", "tcp"])
def test_no_inherited_descriptors_in_the_range_that_scripts_use(world, where):
    if where == "tcp":
        world.env["CONCLAVE_CONNECT"] = world.serve()[1]
    out = world.ok("lock", "x", "--", *LIST_DESCRIPTORS)
    numbers = [int(line.split()[0]) for line in out.splitlines()]
    assert set(numbers) >= {0, 1, 2}
    # The manual of flock uses 200.
    assert [n for n in numbers if 3 <= n < 48 or n == 200] == [], out


def test_the_command_inherits_descriptors_of_the_caller(world):
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    r = world.conclave("lock", "x", "--", sys.executable, "-c",
                       f"import os; os.write({writing}, b'through\\n')", pass_fds=[writing])
    os.close(writing)
    assert (r.returncode, r.stderr) == (0, "")
    # The started local server has not inherited the pipe, so read() returns.
    with os.fdopen(reading) as f:
        assert f.read() == "through\n"


def test_working_folder_and_umask(world):
    out = world.ok("lock", "x", "-c", "pwd; umask", umask=0o027)
    folder, mask = out.split()
    assert os.path.samefile(folder, world.folder)
    assert int(mask, 8) == 0o027


def test_ignored_signals_stay_ignored(world):
    """`nohup conclave lock` also protects the command."""
    script = f'trap "" HUP USR1; exec "{BINARY}" lock x -- grep SigIgn /proc/self/status'
    ignored = int(world.run("sh", "-c", script).stdout.split()[1], 16)
    for s in signal.SIGHUP, signal.SIGUSR1:
        assert ignored & (1 << (s - 1)), hex(ignored)


def test_no_additional_signals_are_blocked_or_ignored(world):
    def mask(*argv):
        out = world.run(*argv, "grep", "-E", "Sig(Blk|Ign)", "/proc/self/status").stdout
        # Ignores the two signals that libc uses in every program with threads.
        return [int(m, 16) & ~(1 << 31 | 1 << 32) for m in re.findall(r":\s*(\w+)", out)]

    assert mask(BINARY, "lock", "x", "--") == mask("env")


@pytest.mark.parametrize("trap, ignored", [("", False), ('trap "" XFSZ;', True)])
def test_a_limit_on_file_sizes_is_an_error_and_no_signal(world, trap, ignored):
    """The command gets the signal unless it was ignored before."""
    world.env["CONCLAVE_CONNECT"] = world.serve()[1]
    limited = trap + ' ulimit -f 0; exec "$@"'
    r = world.run("bash", "-c", limited, "bash", BINARY, "lock", "x", "--", "echo", "ran")
    assert (r.returncode, r.stdout, r.stderr.count("\n")) == (71, "", 1), r
    assert "ulimit -f" in r.stderr
    r = world.run("bash", "-c", trap + ' exec "$@"', "bash", BINARY, "lock", "x", "--", "grep",
                  "SigIgn", "/proc/self/status")
    assert bool(int(r.stdout.split()[1], 16) & 1 << (signal.SIGXFSZ - 1)) == ignored
