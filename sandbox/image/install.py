"""
Installs packages for an image of the sandbox, and prints them as a tar: behind one line of JSON that says which wheels
they are of, with their hashes. It runs in a container of the image that they are for, or on the machine whose Python is
packed; it reads no stdin but wheels. The same wheels give the same bytes.

    install.py OPTIONS     JSON: requirements (lines as pip takes them), target (the folder that the tar is for), wheels
                           (a folder, "-" for those on stdin, or null for an index), locked (requirements have hashes)

On stdin each wheel is a line of JSON, {"name", "size"}, and so many bytes.
"""

import compileall
import hashlib
import importlib.util
import json
import os
import py_compile
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
BLOCK = 1 << 20
EXIT_NO_PIP = 90  # pip itself ends with small numbers


def pip(*arguments: str) -> None:
    """Runs pip, with all that it says on stderr; ends with its exit code when it fails."""
    environment = dict(os.environ, PIP_NO_PYTHON_VERSION_WARNING="1", PIP_ROOT_USER_ACTION="ignore")
    code = subprocess.call([*PIP, *arguments], stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment)
    if code != 0:
        sys.exit(code)


def receive(folder: Path) -> None:
    """Takes the wheels on stdin."""
    stream = sys.stdin.buffer
    for line in iter(stream.readline, b""):
        header = json.loads(line.decode())
        with (folder / Path(header["name"]).name).open("wb") as wheel:
            left = header["size"]
            while left > 0:
                block = stream.read(min(left, BLOCK))
                if not block:
                    sys.exit("the wheels on stdin end early")
                wheel.write(block)
                left -= len(block)


def download(options: dict, folder: Path, work: Path) -> None:
    """Puts the wheels of the requirements and of all that they need into a folder."""
    requirements = work / "requirements.txt"
    requirements.write_text("\n".join(options["requirements"]) + "\n")
    source = options["wheels"]
    if source == "-":
        given = work / "given"
        given.mkdir()
        receive(given)
        source = str(given)
    places = [] if source is None else ["--no-index", "--find-links", source]
    hashes = ["--require-hashes"] if options["locked"] else []
    # Built packages alone: what builds one runs code of its own, and needs compilers.
    built = ("--only-binary", ":all:")
    pip("download", "--quiet", *built, *places, *hashes, "--dest", str(folder), "--requirement", str(requirements))


def lock(folder: Path) -> list:
    """Exact requirements for the wheels of a folder, with their hashes."""
    lines = []
    for path in sorted(folder.iterdir()):
        digest = hashlib.sha256()
        with path.open("rb") as wheel:
            while block := wheel.read(BLOCK):
                digest.update(block)
        package, version = path.name.split("-")[:2]
        lines.append(f"{package.replace('_', '-').lower()}=={version} --hash=sha256:{digest.hexdigest()}")
    return lines


def write(folder: Path) -> None:
    """Prints a folder as a tar: sorted, owned by root, without time stamps."""
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for parent, folders, names in os.walk(folder):
            folders.sort()
            for name in sorted([*folders, *names]):
                path = Path(parent, name)
                info = tar.gettarinfo(path, str(path.relative_to(folder)))
                info.uid = info.gid = info.mtime = 0
                info.uname = info.gname = ""
                info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
                if info.isreg():
                    with path.open("rb") as stream:
                        tar.addfile(info, stream)
                else:
                    tar.addfile(info)


def main() -> None:
    """Downloads, installs, compiles and prints."""
    options = json.loads(sys.argv[1])
    if importlib.util.find_spec("pip") is None:
        sys.exit(EXIT_NO_PIP)
    work = Path(tempfile.mkdtemp(prefix="sandpy-install-"))
    try:
        wheels, site = work / "wheels", work / "site"
        wheels.mkdir()
        site.mkdir()
        download(options, wheels, work)
        lines = lock(wheels)
        # By name and not by file, which pip would note down with its path.
        names = [line.split()[0] for line in lines]
        places = ("--no-index", "--find-links", str(wheels), "--target", str(site))
        pip("install", "--quiet", "--no-deps", "--no-compile", *places, *names)
        shutil.rmtree(site / "bin", ignore_errors=True)  # they name the interpreter that ran this
        # The sandbox cannot write byte code: without it each start would compile again.
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        compileall.compile_dir(
            site, quiet=2, stripdir=site, prependdir=options["target"], invalidation_mode=mode, force=True
        )
        print(json.dumps({"lock": lines}), flush=True)
        write(site)
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
