"""Drives an ipykernel by jupyter_client as the bench says, a JSON command a line, and answers with milliseconds."""

from __future__ import annotations

import json
import sys
import time

from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

PATIENCE = 60


def execute(client: BlockingKernelClient, code: str) -> None:
    """Runs one cell and waits for its reply and for all of its output."""
    wanted = client.execute(code)
    while True:
        message = client.get_iopub_msg(timeout=PATIENCE)
        if message["parent_header"].get("msg_id") != wanted:
            continue
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    while client.get_shell_msg(timeout=PATIENCE)["parent_header"].get("msg_id") != wanted:
        pass


def start() -> tuple[KernelManager, BlockingKernelClient]:
    """Starts a kernel and waits until it has run a cell."""
    manager = KernelManager()
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=PATIENCE)
    execute(client, "1")
    return manager, client


def stop(manager: KernelManager, client: BlockingKernelClient) -> None:
    """Ends a kernel."""
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def main() -> None:
    """Serves commands until stdin ends."""
    manager, client = start()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        code = json.loads(line)
        started = time.perf_counter()
        if code is None:
            other = start()
        else:
            execute(client, code)
        took = time.perf_counter() - started
        if code is None:
            stop(*other)
        print(json.dumps(took * 1000), flush=True)
    stop(manager, client)


main()
