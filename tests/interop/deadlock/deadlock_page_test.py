"""The web page names a deadlock of a C++, a Java and a Python process, each with another library.

Curator's contenders would ignore those of kazoo, so the two cannot use one path. The cycle therefore
passes through the C++ process twice: two of its threads use both layouts. The Java process waits for
/a, which the first thread holds; this thread waits for /b, which the Python process holds; it waits
for /c, which the second thread holds; and this one waits for /d, which the Java process holds. No two
of the processes are deadlocked without the third one.
"""

import os
import socket
import statistics
import subprocess

import pytest
from browser import Browser
from conftest import TIMEOUT, World, until
from kazoo.client import KazooClient
from web_client import Page

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = "/conclave/deadlock"
A, B, C, D = (f"{ROOT}/{name}" for name in "abcd")
CPP = ("cpp-1", A, "curator", B, "kazoo", "cpp-2", C, "kazoo", D, "curator")
JAVA = ("java", D, "curator", A, "curator")
PYTHON = ("python", B, "kazoo", C, "kazoo")
ROUNDS = 5
JVM = (os.environ["JAVA"], "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
       "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", os.environ["CLASS_PATH"])

# Stores when the page shows the deadlock.
OBSERVE = """
    window.shown = new Promise((done) => {
      const check = () => document.querySelector('.sentence') && done(Date.now());
      new MutationObserver(check).observe(document.body, {childList: true, subtree: true});
      check();
    });"""


@pytest.fixture
def world():
    w = World()
    yield w
    w.close()


def serve_apache(world):
    with socket.create_server(("127.0.0.1", 0)) as s:
        address = f"127.0.0.1:{s.getsockname()[1]}"
    with open(world.path("zoo.cfg"), "w") as f:
        f.write(f"dataDir={world.path('data')}\nclientPortAddress=127.0.0.1\n"
                f"clientPort={address.split(':')[1]}\nadmin.enableServer=false\n")
    world.start(*JVM, "org.apache.zookeeper.server.quorum.QuorumPeerMain", world.path("zoo.cfg"),
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return address


@pytest.fixture
def zk(world):
    address = serve_apache(world) if os.environ["CONCLAVE_TEST_SERVER"] == "apache" else world.serve()[1]
    world.env["CONCLAVE_CONNECT"] = address
    client = KazooClient(hosts=address)
    client.address = address
    client.start(TIMEOUT)
    yield client
    client.stop()
    client.close()


@pytest.fixture
def browser(world):
    b = Browser(world.folder)
    yield b
    b.close()


def start(world, zk, program, tasks):
    process = world.start(*program, zk.address, *tasks, stdin=-1)
    assert process.stdout.readline() == "holds\n", process.stderr.read()
    return process


def say(process, text):
    process.stdin.write(text + "\n")
    process.stdin.flush()


def waiters(zk, *paths):
    """The creation times of the second contenders of these locks, in milliseconds."""
    times = []
    for path in paths:
        names = sorted(zk.get_children(path), key=lambda n: n[-10:])
        found = zk.exists(f"{path}/{names[1]}") if len(names) > 1 else None
        if found is None:
            return None
        times.append(found.ctime)
    return times


def test_the_page_names_a_deadlock_of_three_libraries(world, zk, browser):
    page = Page(world)
    cpp = start(world, zk, [os.environ["DEADLOCKED_TASKS"]], CPP)
    java = start(world, zk, [*JVM, "conclave.interop.deadlock.DeadlockedTasks"], JAVA)
    python = start(world, zk, ["/usr/bin/python3", "-B", os.path.join(HERE, "deadlocked_tasks.py")], PYTHON)
    browser.open(f"{page.url}#/graph")
    until(lambda: browser.text("#connection") == "Live", "the page")
    for process in (cpp, java):
        say(process, "wait")
    until(lambda: waiters(zk, A, B, D), "three waiters")
    until(lambda: browser.js("return document.querySelectorAll('.edge').length") == 7, "four holders and three waits on the page")
    assert browser.text(".deadlocks") == "", "there is no cycle yet"

    times = []
    for _ in range(ROUNDS):
        browser.js(OBSERVE)
        say(python, "wait")
        shown = browser.driver.execute_async_script("window.shown.then(arguments[0])")
        times.append(shown - max(waiters(zk, A, B, C, D)))
        sentence = browser.text(".sentence")
        for name, held, awaited in (("cpp-1", A, B), ("python", B, C), ("cpp-2", C, D), ("java", D, A)):
            assert f"{name} holds {held} and waits for {awaited}" in sentence, sentence
        # Nodes of Curator and kazoo do not show whether the thread that holds is the one that waits.
        assert browser.text(".deadlock strong") == "Possible deadlock"
        until(lambda: browser.text("#deadlock-badge") == "1 possible deadlock", "the number of deadlocks")
        assert browser.js("return document.querySelectorAll('.edge.possible').length") == 8
        browser.screenshot("deadlock-of-three-libraries")
        say(python, "cancel")
        assert python.stdout.readline() == "cancelled\n"
        until(lambda: browser.text(".deadlocks") == "", "the end of the deadlock")
    print(f"from the last wait to the page: median {statistics.median(times)} ms, at most {max(times)} ms")
    # The clock of the nodes has milliseconds. A single round can be slow on a busy machine.
    assert -5 <= min(times) and statistics.median(times) < 1000, times
    assert browser.problems() == []
    assert all(p.poll() is None for p in (cpp, java, python))
