"""The disk of this user's own server is full. Commands report it, and work again when there is
space."""

import os
import subprocess

import pytest
from conftest import until


@pytest.fixture
def small_disk(world):
    """A world in which this user's own server has a disk of 16 MB."""
    os.mkdir(world.local)
    r = world.run("mount", "-t", "tmpfs", "-o", "size=16m,mode=0700", "none", world.local)
    if r.returncode != 0:
        pytest.xfail(f"a file system cannot be mounted here: {r.stderr.strip()}")
    yield world
    world.conclave("local", "stop", "--force")
    # Unmounts lazily, because world.close() kills a server that has not exited.
    subprocess.run(["umount", "--lazy", world.local], check=True)


def fill(world):
    with open(world.path("local", "fill"), "wb", buffering=0) as f:
        try:
            while True:
                f.write(bytes(4096))
        except OSError:
            pass


def expect_disk_full(world):
    for command in ["lock", "x", "--", "echo", "ran"], ["queue", "push", "q", "item"]:
        said = world.refused(*command, code=69)
        assert f"the disk of the server at {world.local} is full; free disk space there" in said


def test_full_while_the_server_runs(small_disk):
    world = small_disk
    world.ok("queue", "push", "q", "first")
    fill(world)
    # The file that the server writes first still has space.
    big = "x" * 600_000
    failed = until(lambda: (lambda r: r if r.returncode else None)(
        world.conclave("queue", "push", "big", input=big)), "the full disk")
    # The outcome of this push is unknown.
    assert (failed.returncode, failed.stderr.count("\n")) == (69, 1)
    assert failed.stderr.count("the outcome is unknown") < 2, failed.stderr
    expect_disk_full(world)
    os.remove(world.path("local", "fill"))
    until(lambda: world.conclave("lock", "x", "--", "true").returncode == 0, "free disk space")
    assert world.ok("lock", "x", "--", "echo", "ran") == "ran\n"
    world.ok("queue", "push", "q", "second")
    assert world.ok("queue", "pop", "-n", "5", "q") == "first\nsecond\n"


def test_full_before_the_server_starts(small_disk):
    world = small_disk
    fill(world)
    for command in ["lock", "x", "--", "echo", "ran"], ["queue", "push", "q", "item"]:
        assert "make room on the disk" in world.refused(*command, code=69)
    os.remove(world.path("local", "fill"))
    assert world.ok("lock", "x", "--", "echo", "ran") == "ran\n"
