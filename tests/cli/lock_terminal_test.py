"""`conclave lock` on a terminal, under a shell with job control."""

import os
import signal

import pytest
from conftest import BINARY, alive, until

CTRL_C, CTRL_Z, CTRL_D, CTRL_BACKSLASH = "\x03", "\x1a", "\x04", "\x1c"


@pytest.fixture
def shell(world):
    """An interactive bash with `conclave` in $PATH."""
    t = world.terminal("bash", "--norc", "--noprofile", "-i",
                       env={"PS1": "prompt> ", "HISTFILE": None,
                            "PATH": os.path.dirname(BINARY) + ":" + os.environ["PATH"]})
    t.expect("prompt> ")
    return t


def enter(t, line):
    """Types a line at the prompt. After that, t.text contains only output after this line."""
    t.text = ""
    t.type(line + "\n")
    t.expect("\n")  # the echo
    t.text = t.text.split("\n", 1)[1]


def answer(t, line):
    """Types a line for a command. The terminal may not echo it, because the shell enables the echo
    only after it has processed the line that started the command."""
    t.type(line + "\n")


def exit_code(t):
    enter(t, "echo code=$?.")
    t.expect("prompt> ")
    return int(t.text.split("code=")[1].split(".")[0])


def pid_in(t, word):
    t.expect(word + "=")
    until(lambda: t.read() and "." in t.text.split(word + "=")[1], "the process id")
    return int(t.text.split(word + "=")[1].split(".")[0])


def state(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def test_ctrl_c_ends_the_command(shell):
    enter(shell, "conclave lock x -- sh -c 'echo child=$$.; exec sleep 1000'")
    child = pid_in(shell, "child")
    shell.type(CTRL_C)
    shell.expect("prompt> ")
    assert exit_code(shell) == 128 + signal.SIGINT
    assert not alive(child)


def test_ctrl_backslash_ends_the_command(shell):
    enter(shell, "ulimit -c 0; conclave lock x -- sh -c 'echo child=$$.; exec sleep 1000'")
    pid_in(shell, "child")
    shell.type(CTRL_BACKSLASH)
    shell.expect("prompt> ")
    assert exit_code(shell) == 128 + signal.SIGQUIT


def test_a_command_that_handles_ctrl_c(shell):
    enter(shell, "conclave lock x -- sh -c 'trap \"echo cleaned up; exit 6\" INT; echo ready; "
                 "while :; do sleep 0.01; done'")
    shell.expect("ready")
    shell.type(CTRL_C)
    shell.expect("cleaned up")
    shell.expect("prompt> ")
    assert exit_code(shell) == 6


def test_ctrl_z_and_fg(world, shell):
    enter(shell, "mkfifo go; conclave lock x -- sh -c 'trap \"exit 5\" TERM; echo child=$$.; "
                 "read a <go'")
    child = pid_in(shell, "child")
    shell.type(CTRL_Z)
    shell.expect("Stopped")
    shell.expect("prompt> ")
    assert state(child) == "T"
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 1
    enter(shell, "fg")
    until(lambda: state(child) != "T", "the command to continue")
    os.kill(child, signal.SIGTERM)
    shell.expect("prompt> ")
    assert exit_code(shell) == 5


def test_ctrl_z_and_bg(shell):
    # The command is one process, because a shell cannot be stopped while it starts another process.
    enter(shell, "mkfifo go; conclave lock x -- sh -c 'echo child=$$.; read a <go; echo continued'")
    child = pid_in(shell, "child")
    shell.type(CTRL_Z)
    shell.expect("Stopped")
    enter(shell, "bg")
    until(lambda: state(child) != "T", "the command to continue")
    enter(shell, "echo >go; wait")
    shell.expect("continued")
    shell.expect("prompt> ")


def test_ctrl_z_twice(shell):
    enter(shell, "conclave lock x -- sh -c 'echo child=$$.; exec sleep 1000'")
    child = pid_in(shell, "child")
    for _ in range(2):
        shell.text = ""
        shell.type(CTRL_Z)
        shell.expect("Stopped")
        shell.expect("prompt> ")
        assert state(child) == "T"
        enter(shell, "fg")
        until(lambda: state(child) != "T", "the command to continue")
    shell.type(CTRL_C)
    shell.expect("prompt> ")
    assert exit_code(shell) == 130


def test_a_command_reads_from_the_terminal(shell):
    enter(shell, "conclave lock x -- sh -c 'read a; echo \"[$a]\"'")
    answer(shell, "some words")
    shell.expect("[some words]")
    shell.expect("prompt> ")
    assert exit_code(shell) == 0


def test_a_command_reads_to_the_end_of_the_terminal(shell):
    enter(shell, "conclave lock x -- cat -A")
    answer(shell, "line")
    shell.expect("line$")
    shell.type(CTRL_D)
    shell.expect("prompt> ")
    assert exit_code(shell) == 0


def test_ctrl_z_while_the_command_reads_the_terminal(shell):
    enter(shell, "conclave lock x -- cat -A")
    answer(shell, "one")
    shell.expect("one$")
    shell.type(CTRL_Z)
    shell.expect("Stopped")
    shell.expect("prompt> ")
    enter(shell, "fg")
    answer(shell, "two")
    shell.expect("two$")
    shell.type(CTRL_D)
    shell.expect("prompt> ")
    assert exit_code(shell) == 0


def test_a_background_command_that_reads_the_terminal_is_stopped(shell):
    enter(shell, "conclave lock x -- cat -A &")
    shell.expect("prompt> ")

    def is_stopped():
        enter(shell, "jobs")
        shell.expect("prompt> ")
        return "Stopped" in shell.text

    until(is_stopped, "the stopped job")
    enter(shell, "fg")
    answer(shell, "now")
    shell.expect("now$")
    shell.type(CTRL_D)
    shell.expect("prompt> ")
    assert exit_code(shell) == 0


def test_the_shell_gets_the_terminal_after_the_command(shell):
    enter(shell, "conclave lock x -- sh -c 'read a'; read b; echo \"[$b]\"")
    answer(shell, "for the command")
    answer(shell, "for the shell")
    shell.expect("[for the shell]")


def test_in_a_pipeline(shell):
    enter(shell, "conclave lock x -- sh -c 'echo out; exec sleep 1000' | cat -A")
    shell.expect("out$")
    shell.type(CTRL_C)
    shell.expect("prompt> ")
    enter(shell, "conclave lock -n x -- echo free")
    shell.expect("free")


def test_a_command_that_changes_the_terminal(shell):
    enter(shell, "conclave lock x -- stty -echo; conclave lock x -- stty echo; echo finished")
    shell.expect("finished")


@pytest.mark.parametrize("interpreter", [
    "bash", "sh"])
def test_ctrl_c_also_ends_the_script(world, shell, interpreter):
    with open(world.path("script"), "w") as f:
        f.write("conclave lock x -- sh -c 'echo child=$$.; exec sleep 1000'\necho continued\n")
    enter(shell, interpreter + " script")
    pid_in(shell, "child")
    shell.type(CTRL_C)
    shell.expect("prompt> ")
    assert "continued" not in shell.text
    assert exit_code(shell) == 130


@pytest.mark.parametrize("interpreter", ["bash", "sh"])
def test_ctrl_c_ends_the_script_while_the_command_reads_the_terminal(world, shell, interpreter):
    with open(world.path("script"), "w") as f:
        f.write("conclave lock x -- sh -c 'echo ready; exec cat -A'\necho continued\n")
    enter(shell, interpreter + " script")
    shell.expect("ready")
    answer(shell, "line")
    shell.expect("line$")
    shell.type(CTRL_C)
    shell.expect("prompt> ")
    assert "continued" not in shell.text


def test_a_command_that_opens_the_terminal_itself(shell):
    enter(shell, "conclave lock x -- sh -c 'read a </dev/tty; echo \"[$a]\" >/dev/tty' "
                 "</dev/null >/dev/null 2>&1")
    answer(shell, "secret")
    until(lambda: shell.read() and ("[secret]" in shell.text or "Stopped" in shell.text), "output")
    assert "[secret]" in shell.text


def test_the_wait_status_counts_all_waiters_of_a_semaphore(world, shell):
    world.hold("--permits", "2", "x", "--label", "p1")
    world.hold("--permits", "2", "x")
    for n in 1, 2:
        world.start_conclave("lock", "--hold", "--permits", "2", "x")
        until(lambda: [len(e["waiters"]) for e in world.json("status", "--json")["entries"]] == [n],
              f"waiter {n}")
    enter(shell, "conclave lock --permits 2 x -- true")
    shell.expect("waiting for x · 4 ahead · held by p1 for ")


def test_the_wait_status_is_shown_and_cleared(world, shell):
    holder, _ = world.hold("--label", "the boss", "x")
    enter(shell, "conclave lock x -- echo got it")
    shell.expect("waiting for x")
    shell.expect("1 ahead")
    shell.expect("held by the boss")
    holder.terminate()
    shell.expect("got it")
    # The status line is cleared before the output of the command.
    assert shell.text.split("got it")[0].endswith("\r\x1b[K")


def test_quiet_prints_nothing_while_waiting(world, shell):
    holder, _ = world.hold("x")
    enter(shell, "conclave lock -q -w 1 x -- true")
    shell.expect("prompt> ")
    assert "waiting" not in shell.text and "\x1b[K" not in shell.text
    assert exit_code(shell) == 1


def test_ctrl_c_while_waiting(world, shell):
    holder, _ = world.hold("x")
    enter(shell, "conclave lock x -- echo got it")
    shell.expect("waiting for x")
    shell.type(CTRL_C)
    shell.expect("prompt> ")
    assert exit_code(shell) == 130
    holder.terminate()
    holder.wait()
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 0


def test_ctrl_z_while_waiting(world, shell):
    holder, _ = world.hold("x")
    enter(shell, "conclave lock x -- echo got it")
    shell.expect("waiting for x")
    shell.type(CTRL_Z)
    shell.expect("Stopped")
    enter(shell, "fg")
    holder.terminate()
    shell.expect("got it")


def test_a_waiter_in_the_background_does_not_write_over_the_prompt(world, shell):
    holder, _ = world.hold("x")
    enter(shell, "conclave lock -w 1 x -- echo got it & wait")
    shell.expect("Exit 1")
    assert "waiting for" not in shell.text


def test_a_label_cannot_contain_control_sequences(world, shell):
    holder, _ = world.hold("--label", "\x1b]0;owned\x07evil", "x")
    enter(shell, "conclave lock -w 1 x -- echo got it")
    shell.expect("evil")
    assert "\x1b]0;" not in shell.text
