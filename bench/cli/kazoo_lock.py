"""Runs a command while holding a lock of kazoo: SERVER PATH COMMAND..."""

import subprocess
import sys

from kazoo.client import KazooClient

client = KazooClient(hosts=sys.argv[1])
client.start()
with client.Lock(sys.argv[2]):
    code = subprocess.call(sys.argv[3:])
client.stop()
sys.exit(code)
