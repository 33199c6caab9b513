#!/usr/bin/python3
"""Runs kazoo's own test suite, as Debian ships it, against a server, and compares every
result with that on Apache ZooKeeper 3.8.0.

    run_suite.py --server embedded --binary build/dev/conclave
    run_suite.py --server apache
    run_suite.py --server apache --rewrite      # generates baseline.txt again

baseline.txt has a line for each test: its result on Apache ZooKeeper, its seconds, its id, and how
it fails.

  passes    It must pass. When it does not, it gets one more chance in a process and on a server of
            its own, since kazoo's tests contain time limits that a busy machine can miss; the
            report names those that needed it.
  unstable  It fails now and then on Apache's server itself: a client that connects while that
            server starts may never hear from it. There it decides nothing; another server has to
            pass it, with two more chances.
  fails     It never passed there: it wants an ensemble, or what a single node does not have. It
            has to fail in the same way, unless it passes.

A test of the baseline that was not run is a failure, too.

The tests are run in parallel batches, each with a server of its own: kazoo's harness starts "java"
from PATH, where shim/java stands first. Logs and results of the batches stay in --output, if given.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
BASELINE = HERE / "baseline.txt"
PYTHON = "/usr/bin/python3"  # the one that has Debian's packages
PACKAGES = pathlib.Path("/usr/lib/python3/dist-packages")

# All modules that use a server, except test_sasl (needs a JAAS configuration) and test_build (runs
# only on kazoo's own CI).
MODULES = """barrier cache client connection counter election eventlet_handler gevent_handler
interrupt lease lock partitioner party queue watchers""".split()

STALL_LIMIT = 60  # seconds without a test ending; the longest takes 11
SUITE_LIMIT = 540
HOPELESS = 10  # a batch ends after this many failures
SECONDS_OF_UNKNOWN = 0.5
TOO_MANY_FOR_CHANCE = 20  # with more failures, no test is repeated
MORE_CHANCES = {"passes": 1, "unstable": 2, "fails": 0}


Expected = collections.namedtuple("Expected", "result seconds reason")


class Stopped(Exception):
    """The suite has reached its time limit or was interrupted."""


def free_port_range(taken, count=10):
    """The first of `count` ports in a row that are free on all addresses, below the ports
    that the kernel uses for outgoing connections."""
    while True:
        first = random.randrange(12000, 31990)
        ports = range(first, first + count)
        if taken.intersection(ports):
            continue
        try:
            with contextlib.ExitStack() as stack:
                for port in ports:
                    stack.enter_context(socket.socket()).bind(("", port))
        except OSError:
            continue
        taken.update(ports)
        return first


class Suite:
    def __init__(self, server, binary, output):
        self.server = server
        self.binary = binary
        self.output = output
        self.deadline = time.monotonic() + SUITE_LIMIT
        self.lock = threading.Lock()
        self.ports = set()
        self.batches = 0
        self.stopping = False

    def over(self):
        return self.stopping or time.monotonic() > self.deadline

    def environment(self, folder):
        with self.lock:
            port = free_port_range(self.ports)
        environment = dict(
            os.environ,
            PATH=f"{HERE / 'shim'}:{os.environ['PATH']}",
            PYTHONPATH=str(HERE),
            PYTHONFAULTHANDLER="1",
            PYTHONDONTWRITEBYTECODE="1",  # writes nothing to Debian's folders
            TMPDIR=str(folder),
            ZOOKEEPER_VERSION="3.8.0",
            ZOOKEEPER_CLUSTER_SIZE="1",
            ZOOKEEPER_CLASSPATH="/usr/share/java/zookeeper.jar",
            ZOOKEEPER_PORT_OFFSET=str(port),
            CONCLAVE_TEST_SERVER=self.server,
            CONCLAVE_BINARY=str(self.binary or ""),
            KAZOO_SUITE_RESULTS=str(folder / "results"),
        )
        # Other variables would look like Travis or change the tests.
        for name in ("TRAVIS", "ZOOKEEPER_PATH", "ZOOKEEPER_JAAS_AUTH", "PYTEST_ADDOPTS"):
            environment.pop(name, None)
        return environment

    def pytest(self, wanted=None, options=()):
        """Starts one process over these tests; returns it and its folder."""
        with self.lock:
            self.batches += 1
            folder = self.output / f"batch-{self.batches}"
        folder.mkdir()
        environment = self.environment(folder)
        if wanted is not None:
            (folder / "wanted").write_text("\n".join(wanted))
            environment["KAZOO_SUITE_WANTED"] = str(folder / "wanted")
            modules = sorted({test.split("::")[0] for test in wanted})
        else:
            modules = [f"kazoo/tests/test_{name}.py" for name in MODULES]
        command = ["setpriv", "--pdeathsig", "KILL",  # if this process is killed
                   PYTHON, "-m", "pytest", "-q", "-p", "one_line_per_test",
                   "-p", "no:cacheprovider", "-c", "/dev/null", f"--rootdir={PACKAGES}",
                   *options, *(str(PACKAGES / module) for module in modules)]
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=(folder / "log").open("w"), stderr=subprocess.STDOUT,
            start_new_session=True)  # so that it can be killed together with its servers
        return process, folder

    def collect(self):
        """Returns the ids of all tests."""
        process, folder = self.pytest(options=("--collect-only",))
        with contextlib.suppress(Stopped):
            self.finish(process, folder)
        return next((line["collected"] for line in read_lines(folder) if "collected" in line), [])

    def finish(self, process, folder):
        """Waits until the process ends, or kills it if it prints nothing more."""
        seen, last_change = None, time.monotonic()
        try:
            while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                if self.over():
                    raise Stopped
                now = time.monotonic()
                results = folder / "results"
                size = results.stat().st_size if results.exists() else 0
                if size != seen:
                    seen, last_change = size, now
                elif now - last_change > STALL_LIMIT:
                    os.kill(process.pid, signal.SIGABRT)  # it then prints the stacks of its threads
                    time.sleep(1)
                    return
                time.sleep(0.05)
        finally:
            # The ended process is still a zombie here, so its number means this group.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def run(self, tests):
        """Runs these tests in a separate process. If a test hangs or ends the process, the
        remaining tests run in another one. Returns the results by id."""
        results, left, failed_starts = {}, list(tests), 0
        while left and not self.over():
            process, folder = self.pytest(left, [f"--maxfail={HOPELESS}"])
            with contextlib.suppress(Stopped):
                self.finish(process, folder)
            lines = read_lines(folder)
            results.update((line["finished"], line) for line in lines if "finished" in line)
            started = [line["started"] for line in lines if "started" in line]
            for test in started:
                results.setdefault(test, {"outcome": "hung", "seconds": STALL_LIMIT,
                                          "text": f"hung, or ended its process; {tail(folder)}"})
            left = [test for test in left if test not in results]
            bad = sum(result["outcome"] != "passed" for result in results.values())
            if not started:
                print(f"a batch did not start; {tail(folder)}", flush=True)
                failed_starts += 1
            if failed_starts == 2 or bad >= HOPELESS:
                break  # the others count as not run
        return results

    def run_parallel(self, batches):
        results = {}
        threads = [threading.Thread(target=lambda batch=batch: results.update(self.run(batch)))
                   for batch in batches if batch]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results


def read_lines(folder):
    try:
        with (folder / "results").open() as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


def tail(folder):
    text = (folder / "log").read_text(errors="replace")
    return "the end of the log:\n" + text[-3000:]


def read_baseline():
    """Returns the expected results by test id."""
    baseline = {}
    for line in BASELINE.read_text().splitlines():
        if line and not line.startswith("#"):
            expectation, seconds, test, *reason = line.split(maxsplit=3)
            baseline[test] = Expected(expectation, float(seconds), "".join(reason))
    return baseline


def write_baseline(rounds, old):
    """Once unstable, always unstable, if it passes at all. A single failure in many rounds can happen
    to any test that a batch begins with, and is what the second chance is for."""
    tests = sorted({test for results in rounds for test in results})
    with BASELINE.open("w") as file:
        file.write(f"""\
# kazoo's own tests on Apache ZooKeeper 3.8.0, one node, in {len(rounds)} rounds; made by
#   run_suite.py --server apache --rewrite
# result  seconds  test
""")
        for test in tests:
            outcomes = [results[test]["outcome"] if test in results else "not run"
                        for results in rounds]
            passed = outcomes.count("passed")
            sticky = test in old and old[test].result == "unstable"
            expectation = ("fails" if passed == 0 else
                           "unstable" if sticky or passed < 0.9 * len(rounds) else "passes")
            reasons = {summary(results[test]) for results in rounds} if expectation == "fails" else ()
            seconds = statistics.median(
                results[test]["seconds"] for results in rounds if test in results)
            file.write(f"{expectation:8}  {seconds:5.1f}  {'  '.join((test, *reasons))}\n")


def divide(tests, baseline, count):
    """Returns batches of about equal duration. Within a batch, the order is kept."""
    batches = [[] for _ in range(count)]
    loads = [0.0] * count
    unknown = Expected(None, SECONDS_OF_UNKNOWN, "")
    seconds = {test: baseline.get(test, unknown).seconds + 0.05 for test in tests}
    for test in sorted(tests, key=lambda test: -seconds[test]):
        lightest = loads.index(min(loads))
        batches[lightest].append(test)
        loads[lightest] += seconds[test]
    order = {test: place for place, test in enumerate(tests)}
    return [sorted(batch, key=order.get) for batch in batches]


def passed(results, test):
    result = results.get(test)
    return result is not None and result["outcome"] == "passed"


def judge(suite, tests, baseline, batches):
    """Runs the tests. Prints and returns whether all results are as on Apache's server."""
    def expectation(test):
        told = baseline[test].result
        return "fails" if told == "unstable" and suite.server == "apache" else told

    def excused(test):
        how, told = baseline[test], summary(results[test])
        return expectation(test) == "fails" and (how.result == "unstable" or told == how.reason)

    start = time.monotonic()
    results = suite.run_parallel(divide(tests, baseline, batches))

    again = []
    for chances in (1, 2):
        retried = [test for test in tests
                   if not passed(results, test) and MORE_CHANCES[expectation(test)] >= chances]
        if not retried or len(retried) > TOO_MANY_FOR_CHANCE or suite.over():
            break
        print(f"once more, on a server of their own: {len(retried)} test(s)", flush=True)
        retry = suite.run_parallel([retried])
        for test in retried:
            if passed(retry, test):
                again.append(f"{test} (before: {summary(results.get(test))})")
            results[test] = retry.get(test, results.get(test))

    missing = [test for test in tests if results.get(test) is None]
    not_passing = [test for test in tests if test not in missing and not passed(results, test)]
    failing = [test for test in not_passing if not excused(test)]
    for test in failing:
        print(f"\n==== {test}: {results[test]['outcome']}\n{results[test]['text'][-3000:]}")
    for test in not_passing:
        if test not in failing:
            print(f"does not pass on Apache's server either: {test}: {summary(results[test])}")
    for test in tests:
        if baseline[test].result == "fails" and passed(results, test):
            print(f"passes, though not on Apache's server: {test}")
    for line in again:
        print(f"passed at a later attempt: {line}")
    for test in missing:
        print(f"NOT RUN: {test}")
    for test in failing:
        print(f"FAILED: {test}")
    if suite.over():
        print("stopped before the end")
    print(f"kazoo's own tests on {suite.server}: {len(tests)} expected, "
          f"{len(tests) - len(missing)} run, "
          f"{sum(passed(results, test) for test in tests)} passed, "
          f"{len(not_passing) - len(failing)} not passing on Apache either, "
          f"{len(again)} at a later attempt, {len(failing)} failed, {len(missing)} not run; "
          f"{time.monotonic() - start:.0f} s")
    return not failing and not missing


def summary(result):
    if result is None:
        return "not run"
    lines = [line for line in result["text"].splitlines() if line.startswith("E ")]
    return " ".join((lines[0] if lines else result["outcome"]).split())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--server", choices=("apache", "embedded"),
                        default=os.environ.get("CONCLAVE_TEST_SERVER", "apache"))
    parser.add_argument("--binary", default=os.environ.get("CONCLAVE_BINARY"),
                        help="the conclave program, for --server embedded")
    parser.add_argument("--batches", type=int, default=6, help="servers at a time")
    parser.add_argument("--only", default="", help="only tests whose id contains this")
    parser.add_argument("--output", type=pathlib.Path, help="a new folder for logs, to be kept")
    parser.add_argument("--rewrite", action="store_true", help="write baseline.txt")
    parser.add_argument("--rounds", type=int, default=3, help="for --rewrite")
    options = parser.parse_args()
    if options.server == "embedded":
        if not options.binary or not os.access(options.binary, os.X_OK):
            parser.error("--server embedded needs --binary, the conclave program")
        options.binary = pathlib.Path(options.binary).resolve()
    if options.rewrite and (options.server != "apache" or options.only):
        parser.error("the baseline is the whole suite on Apache's server")

    with contextlib.ExitStack() as stack:
        if options.output:
            options.output.mkdir(parents=True)
            output = options.output.resolve()
        else:
            output = pathlib.Path(stack.enter_context(
                tempfile.TemporaryDirectory(prefix="conclave_kazoo_")))
        suite = Suite(options.server, options.binary, output)

        def stop(*_):
            suite.stopping = True
        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)

        if options.rewrite:
            suite.deadline += SUITE_LIMIT * (options.rounds - 1)
            tests = suite.collect()
            old = read_baseline() if BASELINE.exists() else {}
            rounds = [suite.run_parallel(divide(tests, old, options.batches))
                      for _ in range(options.rounds)]
            if suite.stopping or not all(set(tests) <= set(results) for results in rounds):
                return "run_suite.py: not all was run, the baseline stays as it was"
            write_baseline(rounds, old)
            return 0

        baseline = read_baseline()
        # New tests need --rewrite. Here only tests of the baseline count.
        tests = [test for test in baseline if options.only in test]
        if not tests:
            parser.error(f"no test of the baseline contains '{options.only}'")
        return 0 if judge(suite, tests, baseline, options.batches) else 1


if __name__ == "__main__":
    sys.exit(main())
