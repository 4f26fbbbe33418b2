import type { Bridge } from "./client.ts";

/** One look or try of hostile code: what it is called, an expression of Python, and what that must be, as JSON. */
export type Probe = readonly [title: string, expression: string, expected: unknown];

/** What probes may use. `attempt(work)` is what `work` returns, or the name of the error that the system gave. */
export const PRELUDE = `
import ctypes, errno, json, mmap, os, platform, re, resource, signal, socket, stat, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def attempt(work, *args):
    try: return work(*args)
    except OSError as error: return errno.errorcode.get(error.errno, str(error))
def call(work, *args):
    ctypes.set_errno(0)
    got = work(*args)
    return got if got >= 0 else errno.errorcode.get(ctypes.get_errno(), "?")
def read(path, most=1 << 20):
    with open(path, "rb") as file: return file.read(most).decode("utf-8", "replace")
def write(path, text="x"):
    fd = os.open(path, os.O_WRONLY)
    try: return os.write(fd, text.encode())
    finally: os.close(fd)
def make(path):
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    os.unlink(path)
    return "made"
def status(pid="self"): return dict(line.split(":\\t", 1) for line in read(f"/proc/{pid}/status").splitlines() if ":\\t" in line)
def mounts(): return [line.split() for line in read("/proc/self/mountinfo").splitlines()]
def memory():
    with open("/proc/self/mem", "rb", 0) as file:
        for line in read("/proc/self/maps", -1).splitlines():
            start, end = (int(each, 16) for each in line.split()[0].split("-"))
            if line.split()[1].startswith("r"):
                try: yield os.pread(file.fileno(), end - start, start)
                except (OSError, OverflowError): pass
def run(*command): return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)`;

/** What an expression is in the sandbox, by its JSON. */
export async function evaluate(bridge: Bridge, expression: string): Promise<unknown> {
  const { text } = await bridge.python(`${PRELUDE}\nprint(json.dumps(${expression}))`);
  try {
    return JSON.parse(text.split("\n")[0] ?? "");
  } catch {
    throw new Error(`the probe did not answer: ${text}`);
  }
}
