#!/usr/bin/env python3
"""Packs this machine's own Python as the root file system of a container image, for machines without a registry.

    pack_host.py --describe          JSON: the interpreter, and a fingerprint that changes when the image would
    pack_host.py --fingerprint       that fingerprint alone
    pack_host.py --output FILE       writes the tar
    … --python PATH                  of this interpreter, not of the one that the script finds best

It holds the interpreter, its standard library (without tests and site-packages), the shared libraries that ldd names, a
shell with a few small programs, time zones and certificates where present. The same machine gives the same bytes.
Linux only: the container needs the same kind of binaries.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import io
import json
import marshal
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

OLDEST = (3, 9)
# Modules that need shared libraries and are missing from a Python that was built without them.
OPTIONAL_MODULES = ("bz2", "ctypes", "hashlib", "lzma", "sqlite3", "ssl", "zlib", "zoneinfo")
CANDIDATES = (
    "python3",
    *(f"python3.{minor}" for minor in range(15, 8, -1)),
    "/usr/bin/python3",
    "/usr/local/bin/python3",
)
PROGRAMS = (
    *("cat", "cp", "date", "echo", "env", "false", "head", "id", "kill", "ls", "mkdir", "mv", "pwd"),
    *("rm", "sh", "sleep", "sort", "tail", "true", "uname", "wc"),
)
# Loaded by name at run time, or needed by packages of others: ldd does not show them.
LATE_LIBRARIES = (
    "libnss_files.so.2",
    # What PEP 513 and its successors let the wheels of others expect of any Linux, but for windows and pictures.
    *("libgcc_s.so.1", "libstdc++.so.6", "libc.so.6", "libdl.so.2", "libm.so.6", "libnsl.so.1", "libpthread.so.0"),
    *("libresolv.so.2", "librt.so.1", "libutil.so.1", "libz.so.1"),
)
LIBRARY_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
SKIPPED_FOLDERS = (
    *("__pycache__", "dist-packages", "site-packages", "ensurepip", "idlelib", "lib2to3"),
    *("test", "tests", "tkinter", "turtledemo"),
)
# The window toolkit and the interpreter's own test modules.
SKIPPED_MODULES = ("_tkinter.", "_test", "_ctypes_test.", "_xxtestfuzz.", "xxlimited")
ACCOUNTS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}

PROBE = """
import json, os, platform, site, sys, sysconfig
have = []
for name in sys.argv[1:]:
    try:
        __import__(name)
        have.append(name)
    except ImportError:
        pass
json.dump({
    "version": list(sys.version_info[:3]), "build": sys.version, "have": have,
    "executable": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    "prefix": sys.base_prefix, "stdlib": sysconfig.get_path("stdlib", vars={"base": sys.base_prefix,
    "installed_base": sys.base_prefix}), "dynload": sysconfig.get_config_var("DESTSHARED"),
    "implementation": platform.python_implementation(),
    "packages": site.getsitepackages([sys.base_prefix])[0],
}, sys.stdout)
"""


class Python:
    """One interpreter of this machine, as it describes itself."""

    def __init__(self, facts: dict) -> None:
        self.version = tuple(facts["version"])
        self.build: str = facts["build"]
        self.modules: list[str] = facts["have"]
        self.executable = Path(facts["executable"])
        self.stdlib = Path(facts["stdlib"])
        self.packages = Path(facts["packages"])
        dynload = facts["dynload"]
        self.dynload = Path(dynload) if dynload and Path(dynload).is_dir() else self.stdlib / "lib-dynload"

    def names(self) -> list[str]:
        """The names under which the container finds it."""
        return ["python3", "python", f"python{self.version[0]}.{self.version[1]}"]


def describe(candidate: str) -> Python | None:
    """Asks an interpreter about itself; None where it is missing, too old or not CPython."""
    command = [candidate, "-I", "-B", "-c", PROBE, *OPTIONAL_MODULES]
    try:
        answer = subprocess.run(command, capture_output=True, timeout=20, check=True)
        facts = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    if facts["implementation"] != "CPython" or tuple(facts["version"]) < OLDEST:
        return None
    python = Python(facts)
    return python if (python.stdlib / "os.py").is_file() else None


def choose_python(wanted: str | None) -> Python:
    """The wanted interpreter, or the one with the most of the standard library; of equals the newest."""
    candidates = CANDIDATES if wanted is None else (wanted,)
    found = [python for name in candidates if shutil.which(name) and (python := describe(name))]
    if not found:
        what = "on this machine" if wanted is None else f'at "{wanted}"'
        message = f"no CPython {OLDEST[0]}.{OLDEST[1]} or newer {what}"
        raise SystemExit(message)
    return max(found, key=lambda python: (len(python.modules), python.version))


def fingerprint(python: Python) -> str:
    """Changes when this script or the interpreter does."""
    stat = python.executable.stat()
    parts = (Path(__file__).read_bytes(), str(python.executable), python.build, stat.st_size, stat.st_mtime_ns)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def shared_libraries(binary: Path) -> set[Path]:
    """What ldd names, loader included; nothing for a static binary."""
    result = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=False)
    return {Path(name) for name in re.findall(r"(?:^|\s)(/[^\s()]+)", result.stdout) if Path(name).is_file()}


def late_libraries() -> set[Path]:
    """Those of LATE_LIBRARIES that this machine has."""
    roots = [Path(folder) for folder in LIBRARY_FOLDERS]
    folders = roots + [child for root in roots if root.is_dir() for child in sorted(root.glob("*-linux-*"))]
    return {folder / name for folder in folders for name in LATE_LIBRARIES if (folder / name).is_file()}


def standard_library(python: Python) -> list[Path]:
    """The files of the standard library that a sandbox can use."""
    files: list[Path] = []
    for root in {python.stdlib, python.dynload}:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(
                name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("config-")
            )
            files += [
                Path(folder) / name
                for name in sorted(names)
                if not name.endswith((".a", ".pyc", ".exe")) and not name.startswith(SKIPPED_MODULES)
            ]
    return files


def compiled(source: Path, python: Python) -> bytes | None:
    """
    Byte code that is taken without looking at the source's time stamp, which the image does not keep; the container's
    file system is read-only, so without it each start would compile again. Only for the interpreter that runs this.
    """
    if python.version[:2] != sys.version_info[:2]:
        return None
    text = source.read_bytes()
    try:
        code = compile(text, str(source), "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError):
        return None
    flags = 0b01  # hash based, unchecked
    header = importlib.util.MAGIC_NUMBER + flags.to_bytes(4, "little") + importlib.util.source_hash(text)
    return header + marshal.dumps(code)


def place(path: Path) -> str:
    """The path inside the image: through no linked folder, so that no entry hides behind a link."""
    return str(path.parent.resolve() / path.name)


class Image:
    """The tar under construction: sorted, owned by root, without time stamps."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[tarfile.TarInfo, bytes | Path | None]] = {}

    def _put(self, name: str, kind: bytes, mode: int, body: bytes | Path | None = None, link: str = "") -> None:
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.linkname = kind, mode, link
        if isinstance(body, Path):
            info.size = body.stat().st_size
        elif body is not None:
            info.size = len(body)
        self.entries.setdefault(name, (info, body))
        parent = str(Path(name).parent)
        if parent != ".":
            self.folder(parent)

    def folder(self, name: str, mode: int = 0o755) -> None:
        """Adds an empty folder; those of files come by themselves."""
        self._put(name.strip("/"), tarfile.DIRTYPE, mode)

    def link(self, name: str, target: str) -> None:
        """Adds a symbolic link."""
        self._put(name.lstrip("/"), tarfile.SYMTYPE, 0o777, link=target)

    def data(self, name: str, body: bytes) -> None:
        """Adds a file with this content."""
        self._put(name.lstrip("/"), tarfile.REGTYPE, 0o644, body)

    def file(self, path: Path, name: str | None = None) -> None:
        """Adds a file under its own path (its folder's links resolved), with its real content where it is a link."""
        real = path.resolve()
        executable = bool(real.stat().st_mode & 0o111)
        self._put((name or place(path)).lstrip("/"), tarfile.REGTYPE, 0o755 if executable else 0o644, real)

    def write(self, stream: io.BufferedIOBase) -> None:
        """Writes the tar."""
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name in sorted(self.entries):
                info, body = self.entries[name]
                if isinstance(body, Path):
                    with body.open("rb") as source:
                        tar.addfile(info, source)
                else:
                    tar.addfile(info, io.BytesIO(body) if body is not None else None)


def add_folder_links(image: Image) -> None:
    """/lib -> usr/lib and its like, as they are here: the loader's own path goes through one of them."""
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            image.link(name, str(path.readlink()))


def build(python: Python) -> Image:
    """Collects everything that the image holds."""
    image = Image()
    add_folder_links(image)
    for name in ("dev", "etc", "proc", "root", "run", "sys", "usr/bin", "usr/local/bin", "var/tmp", "workspace"):
        image.folder(name)
    image.folder("tmp", 0o1777)
    for name, text in ACCOUNTS.items():
        image.data(name, text.encode())

    binaries = {python.executable}
    image.file(python.executable)
    for name in python.names():
        image.link(f"usr/local/bin/{name}", place(python.executable))
    for path in standard_library(python):
        image.file(path)
        if path.suffix == ".so" or ".so." in path.name:
            binaries.add(path)
        elif path.suffix == ".py" and (code := compiled(path, python)) is not None:
            tag = f"cpython-{python.version[0]}{python.version[1]}"
            image.data(place(path.parent / "__pycache__" / f"{path.stem}.{tag}.pyc"), code)
    for program in PROGRAMS:
        found = shutil.which(program, path="/usr/bin:/bin")
        if found:
            image.file(Path(found), f"usr/bin/{program}")
            binaries.add(Path(found))
            if not Path("/bin").is_symlink():
                image.link(f"bin/{program}", f"/usr/bin/{program}")

    libraries = late_libraries()
    for binary in sorted(binaries):
        libraries |= shared_libraries(binary.resolve())
    for library in sorted(libraries):
        image.file(library)

    zones = Path("/usr/share/zoneinfo")
    if zones.is_dir():
        for folder, folders, names in os.walk(zones):
            folders[:] = sorted(name for name in folders if name not in ("posix", "right"))
            for name in sorted(names):
                if (Path(folder) / name).is_file():  # "localtime" can be a link to a file that is not there
                    image.file(Path(folder) / name)
    certificates = Path("/etc/ssl/certs/ca-certificates.crt")
    if certificates.is_file():
        image.file(certificates)
    return image


def main() -> None:
    """Does what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--describe", action="store_true")
    what.add_argument("--fingerprint", action="store_true")
    what.add_argument("--output", metavar="FILE", type=Path)
    parser.add_argument("--python", metavar="PATH")
    arguments = parser.parse_args()
    if sys.platform != "linux":
        message = f"the container needs Linux binaries, and this is {sys.platform}"
        raise SystemExit(message)
    python = choose_python(arguments.python)
    if arguments.describe:
        facts = {
            "fingerprint": fingerprint(python),
            "executable": str(python.executable),
            "version": ".".join(map(str, python.version)),
            "packages": place(python.packages),
        }
        print(json.dumps(facts))
        return
    if arguments.fingerprint:
        print(fingerprint(python))
        return
    if python.version[:2] != sys.version_info[:2] and "SANDPY_IMAGE_PYTHON" not in os.environ:
        # Byte code must come from the interpreter that will run it.
        environment = {**os.environ, "SANDPY_IMAGE_PYTHON": "1"}
        os.execve(python.executable, [str(python.executable), "-I", *sys.argv], environment)
    partial = arguments.output.with_suffix(".partial")
    with partial.open("wb") as stream:
        build(python).write(stream)
    partial.replace(arguments.output)
    size = arguments.output.stat().st_size >> 20
    print(f"packed {python.executable} {'.'.join(map(str, python.version))}: {size} MB", file=sys.stderr)


if __name__ == "__main__":
    main()
