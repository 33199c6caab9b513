"""A short run of process_chaos.py; `make chaos SERVER=processes` has a longer one."""

import os

import pytest
from conftest import BINARY
from process_chaos import chaos


@pytest.mark.parametrize("server", ["local", "served"])
def test_no_two_hold_a_lock(server):
    seed = int.from_bytes(os.urandom(4), "big")
    failed, holds, hits, codes = chaos(BINARY, server, 10, seed)
    assert failed == [], seed
    assert holds > 0 and sum(hits.values()) > 0, (seed, holds, hits, codes)
