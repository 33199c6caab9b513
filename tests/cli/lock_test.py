"""`conclave lock`: exit codes, waiting, and a killed holder."""

import os
import signal

from conftest import alive, until


def test_exits_with_the_code_of_the_command(world):
    assert world.conclave("lock", "x", "--", "sh", "-c", "exit 7").returncode == 7
    assert world.conclave("lock", "x", "--", "sh", "-c", "kill -9 $$").returncode == 128 + 9


def test_a_waiter_is_granted_the_lock_after_the_release(world):
    holder, line = world.hold("x")
    assert line["path"] == "/conclave/x"
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 1
    assert world.conclave("lock", "-n", "-E", "33", "x", "--", "true").returncode == 33
    waiter = world.start_conclave("lock", "x", "--", "sh", "-c", "echo got it")
    holder.send_signal(signal.SIGTERM)
    assert waiter.communicate()[0] == "got it\n"
    assert holder.wait() == 0


def test_grandchildren_of_a_killed_conclave_still_hold_the_lock(world):
    p = world.start_conclave(
        "lock", "x", "--", "sh", "-c", "sleep 1000 & echo $!; wait", start_new_session=True)
    grandchild = int(p.stdout.readline())
    p.kill()
    p.wait()
    assert alive(grandchild)
    assert world.conclave("lock", "-n", "x", "--", "true").returncode == 1
    os.killpg(os.getpgid(grandchild), signal.SIGKILL)
    until(lambda: world.conclave("lock", "-n", "x", "--", "true").returncode == 0, "the lock")
