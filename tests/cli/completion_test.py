"""`conclave completion` in bash, zsh and fish, and the manual page."""

import os
import re
import subprocess

import pytest
from conftest import BINARY, until

COMPLETE = r"""
cd "$1"; PATH="$1/bin:$PATH"
eval "$(conclave completion bash)"
# Sets the variables that bash sets when Tab is pressed at the end of the line.
COMP_LINE=$2 COMP_POINT=${#2}
IFS=$'\x01' read -r -a COMP_WORDS <<< "$3"
[[ $3 == *$'\x01' ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_conclave conclave "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def shell_world(world):
    """A world with `conclave` in $PATH."""
    os.mkdir(world.path("bin"))
    os.symlink(BINARY, world.path("bin", "conclave"))
    world.env["PATH"] = world.path("bin") + ":" + world.env["PATH"]
    return world


def bash(world, line):
    words = re.findall(r"[^\s=:]+|[=:]", line) + ([""] if line.endswith(" ") else [])
    r = world.run("bash", "--norc", "-c", COMPLETE, "bash", world.folder, line, "\x01".join(words))
    assert (r.returncode, r.stderr) == (0, ""), r
    return sorted(r.stdout.split())


def test_bash_commands_and_options(shell_world):
    world = shell_world
    assert bash(world, "conclave sta") == ["status"]
    assert {"lock", "status", "revoke", "gc", "local", "serve", "completion"} <= set(
        bash(world, "conclave "))
    assert "manual" not in bash(world, "conclave ")  # it is an internal command
    assert {"--help", "--version"} <= set(bash(world, "conclave --"))
    assert bash(world, "conclave lock --on-") == ["--on-revoke", "--on-suspend"]
    assert {"-n", "--nonblock"} <= set(bash(world, "conclave lock -"))
    assert bash(world, "conclave local ") == ["status", "stop"]
    assert bash(world, "conclave local status --j") == ["--json"]
    assert bash(world, "conclave local stop --f") == ["--force"]
    assert bash(world, "conclave help rev") == ["revoke"]
    # After server options.
    assert bash(world, "conclave -v --connect zk1 sta") == ["status"]
    assert bash(world, "conclave --connect zk1 status --js") == ["--json"]


def test_bash_values(shell_world):
    world = shell_world
    assert bash(world, "conclave lock --on-suspend ") == ["ignore", "stop", "term"]
    assert bash(world, "conclave lock --on-suspend=s") == ["stop"]
    assert bash(world, "conclave lock --label x --on-revoke t") == ["term"]
    assert bash(world, "conclave lock --wait ") == []
    assert bash(world, "conclave completion ") == ["bash", "fish", "zsh"]
    open(world.path("file.pem"), "w").close()
    assert bash(world, "conclave status --tls-ca fi") == ["file.pem"]
    # An argument that equals the name of a command is not treated as a command.
    assert bash(world, "conclave lock status --js") == []


def test_bash_programs(shell_world):
    world = shell_world
    assert "conclave" in bash(world, "conclave lock x -- concl")
    open(world.path("argument"), "w").close()
    assert bash(world, "conclave lock x -- cat argu") == ["argument"]


def test_paths_are_completed_only_if_a_server_runs(shell_world):
    world = shell_world
    assert bash(world, "conclave lock ") == []
    assert world.conclave("local", "status").returncode == 1  # no server was started
    world.hold("backups/db")
    world.hold("backups/files")
    world.hold("other")
    assert bash(world, "conclave lock b") == ["backups"]
    assert bash(world, "conclave status backups/") == ["backups/db", "backups/files"]
    assert bash(world, "conclave lock backups/d") == ["backups/db"]
    assert bash(world, "conclave lock /conclave/o") == ["/conclave/other"]
    assert bash(world, "conclave lock /c") == ["/conclave"]
    assert bash(world, "conclave lock backups/db/") == []  # the nodes of waiters are not completed
    r = world.conclave("completion", "paths", "--", "b", env={"CONCLAVE_CONNECT": "127.0.0.1:1"})
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "")
    r = world.conclave("completion", "paths", "--", "b", env={"CONCLAVE_CONFIG": "/nowhere"})
    assert (r.returncode, r.stdout, r.stderr) == (0, "", "")


def test_fish(shell_world):
    world = shell_world
    world.env["HOME"] = world.folder
    world.env.pop("XDG_CONFIG_HOME", None)

    def fish(line):
        r = world.run("fish", "--no-config", "-c",
                      f"source (conclave completion fish | psub); complete -C '{line}'")
        assert r.returncode == 0, r
        return [found.split("\t")[0] for found in r.stdout.splitlines()]

    assert fish("conclave sta") == ["status"]
    assert "manual" not in fish("conclave ")
    assert fish("conclave lock --on-") == ["--on-revoke", "--on-suspend"]
    assert sorted(fish("conclave lock --on-suspend ")) == ["ignore", "stop", "term"]
    assert fish("conclave local ") == ["status", "stop"]
    assert fish("conclave local stop --f") == ["--force"]
    assert fish("conclave lock x -- conclav") == ["conclave"]
    world.hold("backups/db")
    assert fish("conclave lock ba") == ["backups"]
    assert fish("conclave lock -w 3 backups/") == ["backups/db"]


def test_zsh(shell_world):
    world = shell_world
    world.env.update({"HOME": world.folder, "ZDOTDIR": world.folder})
    os.mkdir(world.path("functions"))
    with open(world.path("functions", "_conclave"), "w") as f:
        f.write(world.ok("completion", "zsh"))
    with open(world.path(".zshrc"), "w") as f:
        f.write("PS1='ready> '; unsetopt zle_bracketed_paste beep; LISTMAX=1000\n"
                f"fpath=({world.path('functions')} $fpath)\n"
                "autoload -Uz compinit; compinit -u -D\n"
                "bindkey '^I' complete-word\n")
    t = world.terminal("zsh", "-i", "-o", "no_global_rcs")
    t.expect("ready> ")

    def completes(line, result):
        """Types the line and Tab, and waits for the completed line."""
        t.text = ""
        t.type(f"{line}\t")
        t.expect(result)
        t.type("\x15")  # clears the line

    completes("conclave sta", "conclave status")
    completes("conclave lock --on-rev", "--on-revoke")
    completes("conclave local sto", "conclave local stop")
    completes("conclave lock --on-suspend ig", "ignore")
    completes("conclave lock x -- conclav", "-- conclave")
    world.hold("backups/db")
    completes("conclave lock back", "lock backups")
    completes("conclave lock backups/", "backups/db")
    t.type("exit\r")
    assert t.wait() == 0
    assert "command not found" not in t.text and "parse error" not in t.text


def test_the_manual_page(world):
    page = world.ok("manual")
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "SERVER OPTIONS", "ENVIRONMENT",
                    "FILES", "EXIT STATUS", "EXAMPLES", "SAFETY"):
        assert f".SH {section}\n" in page
    # Every command and option of help is there.
    listed = world.ok("--help").split("Subcommands:")[1].split("\n\n")[0]
    commands = [line.split()[0] for line in listed.strip().splitlines()]
    assert {"lock", "status", "gc", "completion"} <= set(commands)
    for command in commands:
        assert f".SS \\fBconclave {command}\\fR" in page
        for option in re.findall(r"^  (?:-\w,)*(--[\w-]+)", world.ok(command, "--help"), re.M):
            assert option == "--help" or f"\\fB{option}\\fR".replace("-", "\\-") in page, option
    assert not re.search(r"^\.(?!\\\"|TH|SH|SS|TP|IP |PP|EX|EE|B |BR |I |IR |RI |RB |br)", page, re.M)
    r = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-rLL=100n"], input=page, text=True,
                       capture_output=True, timeout=60)
    assert (r.returncode, r.stderr) == (0, "")
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", r.stdout)
    assert "conclave lock [OPTION...] PATH... [-- COMMAND...]" in text
    assert "--on-suspend term|stop|ignore" in text


def test_the_manual_page_has_the_exit_codes_and_variables_of_the_documentation(world):
    page = world.ok("manual")
    with open(os.path.join(os.path.dirname(__file__), "../../docs/cli.md"), encoding="utf-8") as f:
        documented = f.read()
    table = documented.split("## Which exit codes are there?")[1].split("## ")[0]
    codes = {c for row in re.findall(r"^\| ([\d, ]+)", table, re.M) for c in re.findall(r"\d+", row)}
    assert {"1", "64", "71", "77", "127", "128"} <= codes
    status = page.split(".SH EXIT STATUS\n")[1].split(".SH ")[0]
    assert codes - {"128"} | {"0"} == set(re.findall(r"^\.B (\d+)$", status, re.M))
    environment = page.split(".SH ENVIRONMENT\n")[1].split(".SH ")[0]
    added = set(world.ok("lock", "x", "--", "env").split()) - set(world.run("env").stdout.split())
    used = set(re.findall(r"CONCLAVE_\w+", documented + " ".join(added)))
    assert {"CONCLAVE_LOCAL", "CONCLAVE_HELD", "CONCLAVE_LOCK_PATH"} <= used
    assert used - set(re.findall(r"CONCLAVE_\w+", environment)) == set()


def test_the_manual_page_uses_plain_words(world):
    page = world.ok("manual")
    unwanted = r"somebody|whoever|please|told|tells|let go|gi(?:ve|ven) back|behind --|so long|so many|\bus\b"
    assert re.findall(unwanted, page.replace("\\-", "-"), re.I) == []


def test_the_manual_is_not_in_help(world):
    assert "manual " not in world.ok("--help").split("Subcommands:")[1].split("Example")[0]
    assert "man(1)" in world.ok("manual", "--help")


NAMES = ["a b", "a$(touch pwned)", "a`touch pwned`", "a;touch pwned", "a*", "a'b", 'a"b', "a\\b",
         "a&touch pwned", "a>pwned", "a\u00e9 b"]


def test_bash_escapes_the_names_of_nodes(shell_world):
    """Other users choose these names."""
    world = shell_world
    for name in NAMES:
        world.ok("znode", "create", "-p", "evil/" + name)
    world.ok("znode", "create", "evil/plain")
    t = world.terminal("bash", "--norc", "--noprofile", "-i",
                       env={"PS1": "prompt> ", "HISTFILE": None})
    t.expect("prompt> ")
    t.type('eval "$(conclave completion bash)"; conclave() { '
           'case $1 in completion) command conclave "$@" ;; *) printf "<%s>" "$@"; echo ;; esac; }; '
           'echo loaded:\n')
    t.expect("loaded:\r")
    # Each name is the only one that begins with these characters.
    for typed, name in [("evil/a\\ ", "a b"), ("evil/a\\$", NAMES[1]), ("evil/a\\`", NAMES[2]),
                        ("evil/a\\;", NAMES[3]), ("evil/a\\*", "a*"), ("evil/a\\'", "a'b"),
                        ('evil/a\\"', 'a"b'), ("evil/a\\&", NAMES[8]), ("evil/a\\>", "a>pwned"),
                        ("evil/p", "plain"), ('"evil/p', "plain")]:
        t.text = ""
        t.type("conclave status " + typed + "\t\n")  # bash adds the closing quote
        t.expect(f"<evil/{name}>")
    t.text = ""
    t.type('conclave status "evil/a$\t"\n')  # not completed within quotes
    t.expect("<evil/a$>")
    assert not os.path.exists(world.path("pwned"))
