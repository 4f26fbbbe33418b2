"""
Tries the limits of a sandbox, for `sandpy doctor`: makes processes, then takes memory, until it is stopped or has twice
of what it should get. Each line that it prints is a JSON object; the container may be killed before the last one.
"""

import errno
import json
import os
import signal
import sys
from pathlib import Path

STEP = 1 << 20
PAGE = 4096


def report(name: str, **facts: object) -> None:
    """Prints a line at once."""
    print(json.dumps(dict(facts, limit=name)), flush=True)


def try_processes(most: int) -> None:
    """Forks until the kernel refuses, or `most` times."""
    report("pids", trying=True)
    children = []
    refused = None
    try:
        while len(children) < most:
            child = os.fork()
            if child == 0:
                signal.pause()
                os._exit(0)
            children.append(child)
    except OSError as error:
        refused = errno.errorcode.get(error.errno or 0, str(error))
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
    report("pids", started=len(children), refused=refused)


def try_memory(most: int) -> None:
    """Takes memory in a child until it is killed, refused, or has `most` bytes."""
    report("memory", started=True)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        take_memory(most, writer)
        os._exit(0)
    os.close(writer)
    taken = 0
    while True:
        chunk = os.read(reader, 4096)
        if not chunk:
            break
        taken += len(chunk) * STEP
    status = os.waitpid(child, 0)[1]
    report("memory", taken=taken, killed=os.WIFSIGNALED(status), refused=os.WIFEXITED(status) and taken < most)


def take_memory(most: int, writer: int) -> None:
    """Touches every page, and says one byte for each MiB."""
    try:
        with Path("/proc/self/oom_score_adj").open("w") as stream:
            stream.write("1000")  # rather this process than its parent, which is to tell
    except OSError:
        pass  # it is the biggest all the same
    kept = []
    try:
        for _ in range(most // STEP):
            block = bytearray(STEP)
            for at in range(0, STEP, PAGE):
                block[at] = 1
            kept.append(block)
            os.write(writer, b".")
    except MemoryError:
        pass


def main() -> None:
    """Takes the limits that are to hold: bytes of memory, processes. One that is 0 is not tried."""
    memory_bytes, pids = int(sys.argv[1]), int(sys.argv[2])
    if pids > 0:
        try_processes(2 * pids)
    if memory_bytes > 0:
        try_memory(2 * memory_bytes)


main()
