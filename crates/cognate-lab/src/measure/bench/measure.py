"""Runs one command and prints what it cost, as one line of JSON on the last line of standard output.

usage: python3 -I -S measure.py COMMAND [ARG ...]

wait4 reports the rusage of exactly this child. The kernel starts a child's peak memory at that of the
process it was started from, so this script stays small: figures below about 10 MB are its own.
"""

import json
import os
import sys
import time

start = time.monotonic()
pid = os.posix_spawnp(
    sys.argv[1],
    sys.argv[1:],
    os.environ,
    # The child's own output comes back through standard output; the report below is its last line.
    file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
)
_, status, usage = os.wait4(pid, 0)
wall = time.monotonic() - start
print()
print(
    json.dumps(
        {
            "status": os.waitstatus_to_exitcode(status),
            "user": usage.ru_utime,
            "system": usage.ru_stime,
            "wall": wall,
            "peak": usage.ru_maxrss * 1024,  # Linux counts in KiB
        }
    )
)
