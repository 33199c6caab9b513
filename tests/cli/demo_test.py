"""`make demo`: the story it tells is true, and it leaves nothing behind."""

import os

from conftest import BINARY

DEMO = os.path.join(os.path.dirname(__file__), "../../tools/demo")


def test_tells_its_story_and_leaves_nothing_behind(world):
    folder = world.path("t")
    os.mkdir(folder)
    r = world.run(DEMO, BINARY, env={"TMPDIR": folder})
    assert (r.returncode, r.stderr) == (0, ""), r
    assert "14 lines whole and in order, 1 cut short by the kill, 0 wrong" in r.stdout
    assert "her late write is refused" in r.stdout
    assert "her conclave ends with 75" in r.stdout
    assert "of the lines are wrong" in r.stdout
    assert "\x1b" not in r.stdout
    assert os.listdir(folder) == []
