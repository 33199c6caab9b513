"""`make demo`: its output is correct, and it removes its files."""

import os

from conftest import BINARY

DEMO = os.path.join(os.path.dirname(__file__), "../../tools/demo")


def test_output_is_correct_and_all_files_are_removed(world):
    folder = world.path("t")
    os.mkdir(folder)
    r = world.run(DEMO, BINARY, env={"TMPDIR": folder})
    assert (r.returncode, r.stderr) == (0, ""), r
    assert "14 lines complete and in order, 1 incomplete because of the kill, 0 wrong" in r.stdout
    assert "her late write is refused" in r.stdout
    assert "her conclave exits with 75" in r.stdout
    assert "lines are wrong" in r.stdout
    assert "\x1b" not in r.stdout
    assert os.listdir(folder) == []
