"""A pytest plugin: runs exactly the selected tests and prints each result at once.

KAZOO_SUITE_WANTED names a file with one test id per line, KAZOO_SUITE_RESULTS the file that gets
one JSON object per line. Each line is written when it happens, so that the reader knows which test
was at work when the process hung or died.
"""

import json
import os

results = open(os.environ["KAZOO_SUITE_RESULTS"], "a", buffering=1)
outcomes = {}


def tell(**what):
    results.write(json.dumps(what) + "\n")


def pytest_collection_modifyitems(config, items):
    wanted_file = os.environ.get("KAZOO_SUITE_WANTED")
    if wanted_file:
        with open(wanted_file) as file:
            wanted = set(file.read().split("\n"))
        items[:] = [item for item in items if item.nodeid in wanted]
    tell(collected=[item.nodeid for item in items])


def pytest_runtest_logstart(nodeid, location):
    outcomes[nodeid] = {"outcome": "passed", "seconds": 0.0, "text": ""}
    tell(started=nodeid)


def pytest_runtest_logreport(report):  # of set-up, call and tear-down
    test = outcomes[report.nodeid]
    test["seconds"] += report.duration
    if report.outcome != "passed" and test["outcome"] == "passed":
        test["outcome"] = report.outcome
        test["text"] = report.longreprtext


def pytest_runtest_logfinish(nodeid, location):
    tell(finished=nodeid, **outcomes[nodeid])
