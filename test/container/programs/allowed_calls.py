"""Uses what ordinary Python programs use and prints, as JSON, the error of each part that failed."""

import asyncio
import ctypes
import fcntl
import json
import mmap
import multiprocessing
import os
import pty
import resource
import select
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import termios
import threading
import time


def threads():
    seen = []
    workers = [threading.Thread(target=lambda: seen.append(threading.get_native_id())) for _ in range(20)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert len(seen) == 20


def subprocesses():
    run = subprocess.run([sys.executable, "-c", "print(6*7)"], capture_output=True, text=True, check=True)
    assert run.stdout == "42\n"
    # With a preexec_fn the child is made by fork, otherwise by vfork.
    run = subprocess.run([sys.executable, "-c", ""], preexec_fn=os.setsid, check=True)
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], os.environ)
    assert os.waitpid(pid, 0)[1] == 0
    pid = os.fork()
    if pid == 0:
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3


def processes():
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue, lock = context.Queue(), context.Lock()
        child = context.Process(target=put, args=(queue, lock))
        child.start()
        assert queue.get(timeout=20) == "from the child"
        child.join()


def put(queue, lock):
    with lock:
        queue.put("from the child")


def event_loop():
    async def main():
        server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.close()
        server.close()
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1)", stdout=subprocess.PIPE)
        assert await child.stdout.read() == b"1\n"
        await asyncio.wait_for(asyncio.to_thread(time.sleep, 0.001), 5)

    asyncio.run(main())


def waiting():
    libc = ctypes.CDLL(None, use_errno=True)
    for made in (libc.eventfd(0, 0), libc.timerfd_create(0, 0), libc.inotify_init1(0)):
        assert made >= 0, os.strerror(ctypes.get_errno())
        os.close(made)
    select.epoll().close()
    poll = select.poll()
    poll.register(0)
    poll.poll(0)
    select.select([], [], [], 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    os.kill(os.getpid(), 0)
    # To this thread: another one that is still there has not blocked it.
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
    assert signal.sigtimedwait([signal.SIGUSR1], 5).si_signo == signal.SIGUSR1


def process_descriptors():
    os.close(os.pidfd_open(os.getpid()))


def memory():
    with mmap.mmap(-1, 1 << 20) as area:
        area[:4] = b"abcd"
        area.madvise(mmap.MADV_DONTNEED)
    fd = os.memfd_create("x")
    os.write(fd, b"abc")
    assert os.pread(fd, 3, 0) == b"abc"
    os.close(fd)


def files():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a")
        with open(path, "wb") as file:
            file.write(b"x" * 100_000)
            os.fsync(file.fileno())
            fcntl.flock(file, fcntl.LOCK_EX)
        shutil.copy2(path, path + "2")
        shutil.copytree(folder, folder + "copy")
        os.symlink("a", path + "link")
        os.link(path, path + "hard")
        os.mkfifo(path + "fifo")
        os.chmod(path, 0o600)
        os.utime(path)
        os.truncate(path, 10)
        os.rename(path, path + "3")
        os.statvfs(folder)
        os.listdir(folder)
        assert [entry.name for entry in os.scandir(folder)]
        shutil.rmtree(folder + "copy")


def sockets():
    left, right = socket.socketpair()
    left.sendall(b"x")
    assert right.recv(1) == b"x"
    socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).close()
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname(), timeout=5)
    accepted, _ = server.accept()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.sendall(b"abc")
    assert accepted.recv(3) == b"abc"
    assert socket.getaddrinfo("127.0.0.1", 80)


def limits():
    resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))
    resource.getrusage(resource.RUSAGE_SELF)
    os.sched_getaffinity(0)
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    os.nice(1)
    os.getloadavg()
    os.uname()
    os.urandom(8)
    os.getrandom(8)
    # PR_SET_DUMPABLE: the supervisor hides its memory with it.
    assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0


def terminals():
    leader, follower = pty.openpty()
    termios.tcgetattr(follower)
    termios.tcsetattr(follower, termios.TCSANOW, termios.tcgetattr(follower))
    fcntl.ioctl(leader, termios.FIONREAD, b"0000")
    os.get_terminal_size(follower)


def databases():
    with sqlite3.connect("/workspace/x.db") as database:
        database.execute("pragma journal_mode=wal")
        database.execute("create table t (a)")
        database.execute("insert into t values (1)")
    assert database.execute("select a from t").fetchone() == (1,)


def cryptography():
    ssl.create_default_context()
    assert ssl.RAND_bytes(8)


if __name__ == "__main__":
    parts = (threads, subprocesses, processes, event_loop, waiting, process_descriptors, memory, files, sockets, terminals,
             databases, cryptography, limits)
    failures = {}
    for part in parts:
        try:
            part()
        except BaseException as error:
            failures[part.__name__] = f"{type(error).__name__}: {error}"
    print(json.dumps(failures))
