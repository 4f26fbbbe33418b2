"""
Installs packages for an image of the sandbox, and prints them as a tar: behind one line of JSON that says which wheels
they are of, with their hashes. It runs in a container of the image that they are for, or on the machine whose Python is
packed; it reads no stdin but wheels. The same wheels give the same bytes.

    install.py OPTIONS       JSON: requirements (lines as pip takes them), target (the folder that the tar is for), wheels
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

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
BLOCK = 1 << 20
EXIT_NO_PIP = 90  # pip itself ends with small numbers


def pip(*arguments: str) -> None:
    """Runs pip, with all that it says on stderr; ends with its exit code when it fails."""
    environment = dict(os.environ, PIP_NO_PYTHON_VERSION_WARNING="1", PIP_ROOT_USER_ACTION="ignore")
    code = subprocess.call([*PIP, *arguments], stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment)
    if code != 0:
        sys.exit(code)


def receive(folder: str) -> None:
    """Takes the wheels on stdin."""
    stream = sys.stdin.buffer
    for line in iter(stream.readline, b""):
        header = json.loads(line.decode())
        with open(os.path.join(folder, os.path.basename(header["name"])), "wb") as wheel:
            left = header["size"]
            while left > 0:
                block = stream.read(min(left, BLOCK))
                if not block:
                    sys.exit("the wheels on stdin end early")
                wheel.write(block)
                left -= len(block)


def download(options: dict, folder: str, work: str) -> None:
    """Puts the wheels of the requirements and of all that they need into a folder."""
    requirements = os.path.join(work, "requirements.txt")
    with open(requirements, "w") as stream:
        stream.write("\n".join(options["requirements"]) + "\n")
    source = options["wheels"]
    if source == "-":
        source = os.path.join(work, "given")
        os.mkdir(source)
        receive(source)
    places = [] if source is None else ["--no-index", "--find-links", source]
    hashes = ["--require-hashes"] if options["locked"] else []
    # Built packages alone: what builds one runs code of its own, and needs compilers.
    pip("download", "--quiet", "--only-binary", ":all:", "--dest", folder, *places, *hashes, "--requirement", requirements)


def lock(folder: str) -> list:
    """Exact requirements for the wheels of a folder, with their hashes."""
    lines = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as wheel:
            digest = hashlib.sha256()
            for block in iter(lambda wheel=wheel: wheel.read(BLOCK), b""):
                digest.update(block)
        package, version = name.split("-")[:2]
        lines.append("{}=={} --hash=sha256:{}".format(package.replace("_", "-").lower(), version, digest.hexdigest()))
    return lines


def write(folder: str) -> None:
    """Prints a folder as a tar: sorted, owned by root, without time stamps."""
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for parent, folders, names in os.walk(folder):
            folders.sort()
            for name in sorted([*folders, *names]):
                path = os.path.join(parent, name)
                info = tar.gettarinfo(path, os.path.relpath(path, folder))
                info.uid = info.gid = info.mtime = 0
                info.uname = info.gname = ""
                info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
                if info.isreg():
                    with open(path, "rb") as stream:
                        tar.addfile(info, stream)
                else:
                    tar.addfile(info)


def main() -> None:
    """Downloads, installs, compiles and prints."""
    options = json.loads(sys.argv[1])
    if importlib.util.find_spec("pip") is None:
        sys.exit(EXIT_NO_PIP)
    work = tempfile.mkdtemp(prefix="sandpy-install-")
    try:
        wheels, site = os.path.join(work, "wheels"), os.path.join(work, "site")
        os.mkdir(wheels)
        os.mkdir(site)
        download(options, wheels, work)
        lines = lock(wheels)
        # By name and not by file, which pip would note down with its path.
        names = [line.split()[0] for line in lines]
        pip("install", "--quiet", "--no-index", "--find-links", wheels, "--no-deps", "--no-compile", "--target", site, *names)
        shutil.rmtree(os.path.join(site, "bin"), ignore_errors=True)  # they name the interpreter that ran this
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
