"""Reads the program from standard input, makes it importable and starts the supervisor."""

from __future__ import annotations

import builtins
import gc
import os
import sys
from _json import make_scanner

PACKAGE = "_sandpy"

if sys.argv[1:]:  # the host's ends are not our standard descriptors yet
    first = int(sys.argv.pop())
    for fd in range(3):
        os.dup2(first + fd, fd)
    os.closerange(3, first + 3)

# Every import of the standard library is paid for at each start, many times over where an image has no compiled files:
# what is not needed for a first result comes later, see late.py.
ModuleSpec = type(sys.__spec__)
gc.disable()  # nothing of what is made until `late.settle` is garbage


def read_exactly(count: int) -> bytes:
    """Reads `count` bytes of descriptor 0 and none beyond: frames follow on the same pipe."""
    parts = []
    while count:
        part = os.read(0, count)
        if not part:
            sys.exit("sandpy: standard input ended before the program was complete")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class Sources:
    """Finds and loads the modules of the package from the sources that the host sent."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        # Our modules get builtins of their own, so that user code that replaces `len` or `str` breaks only itself.
        self.builtins = dict(vars(builtins))

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Answers the import system."""
        if name == PACKAGE:
            return ModuleSpec(name, self, is_package=True)
        head, _, tail = name.partition(".")
        if head == PACKAGE and tail + ".py" in self.files:
            return ModuleSpec(name, self, origin=f"<sandpy>/{tail}.py")
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves the making of the module to the import system."""

    def exec_module(self, module: object) -> None:
        """Runs the source of one module."""
        namespace = vars(module)
        namespace["__builtins__"] = self.builtins
        origin = module.__spec__.origin
        if origin is not None:
            source = self.files[origin.rpartition("/")[2]]
            namespace["__file__"] = origin
            exec(compile(source, origin, "exec", dont_inherit=True), namespace)


class Plain:
    """How JSON is read: into Python's own types. The C scanner is all that we need of `json`."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


payload = make_scanner(Plain)(read_exactly(int(read_exactly(10))).decode(), 0)[0]
sys.meta_path.insert(0, Sources(payload["files"]))
__import__(PACKAGE + ".supervisor")
sys.modules[PACKAGE + ".supervisor"].main(payload["files"], payload["settings"])
