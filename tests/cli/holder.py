"""A command of process_chaos.py: appends to the history that it lives, as long as it does.

    holder.py HISTORY RESOURCE MILLISECONDS BACKGROUND_MILLISECONDS NEW_SESSION EXIT_CODE

Lines are "RESOURCE TOKEN PROCESS TIME", by the monotonic clock, in nanoseconds; the time is taken
before the line is written. With BACKGROUND_MILLISECONDS it leaves a child that goes on for so long.
"""

import os
import sys
import time

history, resource = sys.argv[1:3]
milliseconds, background, new_session, code = map(int, sys.argv[3:])
out = os.open(history, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
if resource == "item":
    resource = "item:" + os.environ["CONCLAVE_ITEM_NAME"]
token = os.environ["CONCLAVE_FENCING_TOKEN"]


def live(milliseconds):
    end = time.monotonic_ns() + milliseconds * 1_000_000
    while (now := time.monotonic_ns()) < end:
        os.write(out, f"{resource} {token} {os.getpid()} {now}\n".encode())
        time.sleep(0.003)


if background and os.fork() == 0:
    if new_session:
        os.setsid()
    for fd in range(3):
        os.close(fd)
    live(background)
    os._exit(0)
live(milliseconds)
sys.exit(code)
