"""
Looks at a sandbox from the inside, for `sandpy doctor`: prints one JSON object and ends. Nothing here decides whether
what it sees is good. It runs on any Python 3, for an image may have one that is too old for the sandbox.
"""

import errno
import importlib.util
import json
import os
import platform
import re
import site
import socket
import stat
import sys
from pathlib import Path

UNREACHABLE = "192.0.2.1"  # reserved for documentation (RFC 5737): nobody answers there, wherever this runs
UNREACHABLE_6 = "2001:db8::1"  # RFC 3849
CONNECT_SECONDS = 1.0
CLONE_NEWUSER = 0x10000000
PR_GET_NO_NEW_PRIVS = 39
FAMILIES = {"AF_NETLINK": 16, "AF_PACKET": 17, "AF_ALG": 38, "AF_VSOCK": 40}
OWN_FOLDERS = ("/tmp", "/workspace", "/projects", "/dev/shm")
OTHER_FOLDERS = ("/", "/etc", "/usr", "/opt", "/home", "/root", "/run", "/var", "/var/tmp", "/dev", "/sys", "/mnt")
ENGINE_SOCKETS = ("/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock")
# What engines make for each container. Everything else that is mounted, and is no memory, is of the machine.
ENGINE_FILES = ("/", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/run/.containerenv", "/.dockerenv")
SYSTEM_FOLDERS = ("/proc", "/sys", "/dev")
# The last two are parts of gVisor.
HARMLESS_DEVICE = re.compile(r"/dev/(null|zero|full|u?random|tty|console|(pts/)?ptmx|pts/\d+|fuse|net/tun)")
NEEDED_MODULES = ("asyncio", "ctypes", "json", "select", "socket", "sqlite3", "ssl", "zlib")
KNOWN_PACKAGES = ("numpy", "pandas", "matplotlib", "scipy", "PIL", "requests")
STATUS_KEYS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")


def refusal(action) -> "str | None":  # noqa: ANN001
    """The name of the error with which an action fails; None when it succeeds."""
    try:
        action()
    except socket.timeout:
        return "timeout"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return None


def text_of(path: str) -> str:
    """A file's text; empty where it cannot be read."""
    try:
        with Path(path).open(errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def connect(family: int, kind: int, address: str) -> "str | None":
    """Tries to reach an address; a datagram socket only asks whether there is a way."""

    def act() -> None:
        with socket.socket(family, kind) as peer:
            peer.settimeout(CONNECT_SECONDS)
            peer.connect((address, 9))

    return refusal(act)


def make_user_namespace() -> "str | None":
    """Tries to become root of a user namespace, in a process of its own."""
    try:
        import ctypes
    except ImportError:
        return "untested"
    child = os.fork()
    if child == 0:
        code = 255
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            code = 0 if libc.unshare(CLONE_NEWUSER) == 0 else ctypes.get_errno()
        finally:
            os._exit(code)
    code = os.waitpid(child, 0)[1] >> 8
    return None if code == 0 else errno.errorcode.get(code, "untested")


def status_of_process() -> dict:
    """What the kernel says of this process; a line that it does not have is absent."""
    status = dict(line.split(":", 1) for line in text_of("/proc/self/status").splitlines() if ":" in line)
    found = {key: status[key].strip() for key in STATUS_KEYS if key in status}
    if "NoNewPrivs" not in found:  # gVisor only tells whoever asks
        try:
            import ctypes

            found["NoNewPrivs"] = str(ctypes.CDLL(None).prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))
        except ImportError:
            pass
    return found


def write_in(folder: str) -> "str | None":
    """Tries to make a file, which it removes."""
    path = Path(folder) / ".sandpy-doctor"

    def act() -> None:
        os.close(os.open(str(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        path.unlink()

    return refusal(act)


def flags_of(folder: str) -> "dict | None":
    """How a folder is mounted."""
    try:
        facts = os.statvfs(folder)
    except OSError:
        return None
    # gVisor has them in the table of mounts alone.
    lines = [line.split() for line in text_of("/proc/self/mountinfo").splitlines()]
    options = [fields[5].split(",") for fields in lines if len(fields) > 5 and fields[4] == folder][-1:]
    said = {option for each in options for option in each}
    bits = (("ro", 1), ("nosuid", 2), ("nodev", 4), ("noexec", 8))
    flags = {name: bool(facts.f_flag & bit) or name in said for name, bit in bits}
    return dict(flags, bytes=facts.f_blocks * facts.f_frsize)


def foreign_folders() -> list:
    """The folders that a sandbox has no business in: some of the image, and what is mounted."""
    mounted = [line.split()[4] for line in text_of("/proc/self/mountinfo").splitlines() if len(line.split()) > 4]
    folders = [path for path in mounted if Path(path).is_dir() and not path.startswith("/proc")]
    return [path for path in sorted({*OTHER_FOLDERS, *folders}) if path not in OWN_FOLDERS][:200]


def foreign_mounts() -> list:
    """Where the engine shows something of the machine that no sandbox is to see."""
    found = []
    for line in text_of("/proc/self/mountinfo").splitlines():
        place, _, source = line.partition(" - ")
        path, kind = (place.split() + [""] * 5)[4], source.split(" ")[0]
        is_own = path in ENGINE_FILES or f"/{path.split('/')[1]}" in SYSTEM_FOLDERS or kind == "tmpfs"
        if not is_own:
            found.append(path[:200])
    return sorted(found)[:50]


def foreign_devices() -> list:
    """Devices that are not in every container."""
    found = []
    for folder, _, names in os.walk("/dev"):
        for path in (Path(folder, name) for name in names):
            try:
                mode = path.lstat().st_mode
            except OSError:
                continue
            is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
            if is_device and not HARMLESS_DEVICE.fullmatch(str(path)):
                found.append(str(path)[:200])
    return sorted(found)[:50]


def find_packages() -> list:
    """Those of KNOWN_PACKAGES that the image has."""
    return [name for name in KNOWN_PACKAGES if importlib.util.find_spec(name) is not None]


def look() -> dict:
    """All that can be seen from in here."""
    stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
    return {
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "implementation": platform.python_implementation(),
        "missing_modules": [name for name in NEEDED_MODULES if importlib.util.find_spec(name) is None],
        "packages": find_packages(),
        "package_folder": (site.getsitepackages() or [""])[0],
        "uid": os.getuid(),
        "gid": os.getgid(),
        "status": status_of_process(),
        "interfaces": [line.split(":")[0].strip() for line in text_of("/proc/net/dev").splitlines()[2:50]],
        "connect": {
            "tcp": connect(socket.AF_INET, stream, UNREACHABLE),
            "udp": connect(socket.AF_INET, datagram, UNREACHABLE),
            "tcp6": connect(socket.AF_INET6, stream, UNREACHABLE_6),
        },
        "families": {
            name: refusal(lambda family=family: socket.socket(family, stream if family != 17 else 3).close())
            for name, family in FAMILIES.items()
        },
        # In the host's network namespace these would be the host's, and could be spoken to.
        "abstract_sockets": sum(" @" in line for line in text_of("/proc/net/unix").splitlines()),
        "engine_sockets": [path for path in ENGINE_SOCKETS if Path(path).exists()],
        "user_namespace": make_user_namespace(),
        "root": flags_of("/"),
        "folders": {path: flags_of(path) for path in OWN_FOLDERS},
        "unwritable_own": [path for path in OWN_FOLDERS if write_in(path) is not None],
        "foreign": foreign_mounts() + foreign_devices(),
        "writable": [path for path in foreign_folders() if write_in(path) is None],
        # With a process namespace of its own this is the first process.
        "pid": os.getpid(),
    }


print(json.dumps(look()))
