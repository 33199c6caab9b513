"""Exit codes for output that cannot be written and files that cannot be read."""

import pytest


@pytest.mark.parametrize("to", ["/dev/full", "&-"])
def test_output_that_cannot_be_written_is_a_failure(world, to):
    world.ok("znode", "create", "/x", "data")
    world.ok("queue", "push", "q", "item")
    for command in ("znode get /x", "znode get --json /x", "znode ls /", "znode stat /x",
                    "znode tree /", "queue ls q", "queue len q", "status", "status --json",
                    "doctor", "completion bash", "--help", "lock --help", "version"):
        r = world.redirected(to, *command.split())
        assert r.returncode == 74, (command, r)
        assert r.stderr.startswith("conclave: cannot write to standard output"), r


def test_hold_releases_the_lock_if_it_cannot_print_its_line(world):
    r = world.redirected("/dev/full", "lock", "--hold", "x")
    assert r.returncode == 74 and "the lock was released" in r.stderr, r
    assert world.ok("lock", "-n", "x", "--", "echo", "free") == "free\n"


@pytest.mark.parametrize("command", [["queue", "push", "q", "--file"], ["znode", "set", "/x", "--file"]],
                         ids=" ".join)
def test_a_file_that_cannot_be_read(world, command):
    world.ok("znode", "create", "/x", "data")
    assert "cannot read missing: No such file" in world.refused(*command, "missing", code=64)


@pytest.mark.parametrize("command", [["status"], ["lock", "x", "--", "echo", "ran"],
                                     ["lock", "-n", "x", "--", "echo", "ran"],
                                     ["elect", "x", "--", "echo", "ran"], ["queue", "len", "q"],
                                     ["queue", "work", "--until-empty", "q", "--", "true"],
                                     ["status", "--watch"], ["znode", "watch", "/x"]],
                         ids=" ".join)
def test_a_chroot_that_does_not_exist(world, command):
    _, address = world.serve()
    world.env["CONCLAVE_CONNECT"] = address + "/missing"
    assert "the chroot /missing of " in world.refused(*command, code=69)


def test_a_limit_of_zero_is_refused(world):
    assert "1797" not in world.refused("status", "--limit", "0")
