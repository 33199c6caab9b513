"""The command that process_chaos.py runs. It appends heartbeats to the history while it is alive.

    holder.py HISTORY RUN RESOURCE MILLISECONDS BACKGROUND_MILLISECONDS NEW_SESSION EXIT_CODE

A line is "RUN RESOURCE TOKEN WHAT TIME". TIME is from the monotonic clock, in nanoseconds, and is
read before the line is written. WHAT is `command`, `background` or `done`. `background` is a
heartbeat of the child process that continues for BACKGROUND_MILLISECONDS. `done` means that the
command is about to exit with 0. If RESOURCE is `item`, the item of the queue is on stdin.
"""

import os
import sys
import time

history, run, resource = sys.argv[1:4]
milliseconds, background, new_session, code = map(int, sys.argv[4:])
out = os.open(history, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
token = os.environ["CONCLAVE_FENCING_TOKEN"]


def append(what, now):
    os.write(out, f"{run} {resource} {token} {what} {now}\n".encode())


def run_heartbeat(what, milliseconds):
    end = time.monotonic_ns() + milliseconds * 1_000_000
    while (now := time.monotonic_ns()) < end:
        append(what, now)
        time.sleep(0.003)


if resource == "item":
    resource = "item:" + sys.stdin.read()
if background and os.fork() == 0:
    if new_session:
        os.setsid()
    for fd in range(3):
        os.close(fd)
    run_heartbeat("background", background)
    os._exit(0)
run_heartbeat("command", milliseconds)
if code == 0:
    append("done", time.monotonic_ns())
sys.exit(code)
