"""A command of process_chaos.py: appends signs of life to the history while it runs.

    holder.py HISTORY RUN RESOURCE MILLISECONDS BACKGROUND_MILLISECONDS NEW_SESSION EXIT_CODE

Lines are "RUN RESOURCE TOKEN WHAT TIME", by the monotonic clock, in nanoseconds; the time is taken
before the line is written. WHAT is `command`, or `background` for the child process that it leaves
running for BACKGROUND_MILLISECONDS, or `done`: the command is about to exit with 0. The resource
`item` stands for the item of a queue, which is on stdin.
"""

import os
import sys
import time

history, run, resource = sys.argv[1:4]
milliseconds, background, new_session, code = map(int, sys.argv[4:])
out = os.open(history, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
token = os.environ["CONCLAVE_FENCING_TOKEN"]


def sign(what, now):
    os.write(out, f"{run} {resource} {token} {what} {now}\n".encode())


def live(what, milliseconds):
    end = time.monotonic_ns() + milliseconds * 1_000_000
    while (now := time.monotonic_ns()) < end:
        sign(what, now)
        time.sleep(0.003)


if resource == "item":
    resource = "item:" + sys.stdin.read()
if background and os.fork() == 0:
    if new_session:
        os.setsid()
    for fd in range(3):
        os.close(fd)
    live("background", background)
    os._exit(0)
live("command", milliseconds)
if code == 0:
    sign("done", time.monotonic_ns())
sys.exit(code)
