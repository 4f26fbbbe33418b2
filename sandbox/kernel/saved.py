"""The saved tools in this session: `user_tools.py` as it was last heard of, run when a cell first names it."""

from __future__ import annotations

import builtins
import sys

from . import history
from .names import replace_names
from .rehearsal import rehearse
from .toolfile import NAME, PATH, FaultyFileError, ToolFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec as Spec
    from typing import Any

    from .names import Names

_ModuleType = type(sys)
_ModuleSpec = type(sys.__spec__)


class Saved:
    """What is known of the file; `take` gets each new state of it."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.text = ""
        self.file = ToolFile("")
        self.fault: str | None = None  # why nothing of it can be used
        self.notes: list[str] = []
        self.module: Any = None
        self.finder = Finder(self)
        self.offered: dict[str, Any] = {}
        # What the file sees beside its own names: Python's built-ins and what every session has.
        self.around: dict[str, Any] = {}

    # The file

    def take(self, text: str, tried: bool = False) -> None:
        """Takes a new state of the file; `tried` where it was run before."""
        if text == self.text:
            return
        self.text, self.fault = text, None
        if self.finder not in sys.meta_path:
            sys.meta_path.insert(0, self.finder)  # type: ignore[arg-type]
        try:
            self.file = ToolFile(text)
            fault = None if tried or not self.file.tree.body else rehearse(lambda: self.run(_ModuleType(NAME)))
        except FaultyFileError as error:
            fault = str(error)
        if fault is not None:
            self.fail(fault)
            return
        hidden = [name for name in self.file.tools() if not self.may_offer(name)]
        if hidden:
            listed = ", ".join(hidden)
            self.notes.append(f"{PATH}: {listed} would hide other names; `from {NAME} import {hidden[0]}` has it")
        if self.module is not None:
            self.unload()
            self.load()

    def fail(self, fault: str) -> None:
        """Takes note that the file can not be used, and says so once."""
        self.fault = fault
        self.unload()
        self.notes.append(
            f"the saved tools can not be used: {PATH}, {fault}; the user can mend that file, "
            "`sandpy memory tools path` says where it is"
        )

    def report(self) -> str:
        """Words what was found since the last time, "" for nothing."""
        notes, self.notes = self.notes, []
        return "".join(f"{note}\n" for note in notes)

    def may_offer(self, name: str) -> bool:
        """Tells whether a tool may be global."""
        return not (hasattr(builtins, name) or name in self.names.injected or name.startswith("mcp_"))

    # Its module

    def mentioned(self, source: str) -> None:
        """Runs the file where a cell that is about to run names it or one of its tools."""
        if self.module is None and self.fault is None and self.text:
            if NAME in source or any(name in source for name in self.file.tools()):
                try:
                    self.load()
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # of the user's code, which worked when it was tried
                    self.fail(f"{type(error).__name__}: {error}")
        elif self.module is not None:
            self.offer()

    def load(self) -> Any:
        """Runs the file, and makes its tools global. Raises ImportError, or what the file raises."""
        if self.fault is not None:
            message = f"{PATH}, {self.fault}"
            raise ImportError(message, name=NAME, path=PATH)
        if self.module is None:
            module = _ModuleType(NAME)
            before = sys.modules.get(NAME)
            sys.modules[NAME] = module
            try:
                self.run(module)
            except BaseException:
                sys.modules.pop(NAME, None)
                raise
            self.adopt(module, before)
        return self.module

    def run(self, module: Any, text: str | None = None) -> None:
        """Runs the text, or another, in the namespace of a module."""
        text = (self.text if text is None else text).lstrip("\ufeff")
        history.keep(text, PATH)
        self.share(self.names.injected)
        vars(module).update(__file__=PATH, __builtins__=self.around)
        exec(compile(text, PATH, "exec", dont_inherit=True), vars(module))

    def adopt(self, module: Any, before: Any = None) -> None:
        """Takes a module that the text was run in; what came from the one before it is replaced by its like."""
        sys.modules[NAME] = self.module = module
        namespace = self.names.namespace
        if before is not None:
            old = vars(before)
            for name, value in list(namespace.items()):
                if value is before:
                    namespace[name] = module
                elif name in self.file.definitions() and name in old and value is old[name]:
                    namespace[name] = vars(module).get(name, value)
        self.offer()

    def offer(self) -> None:
        """Makes the tools global, but for names that the user gave to something else."""
        wanted = {
            name: vars(self.module)[name]
            for name in (self.file.tools() if self.module is not None else ())
            if name in vars(self.module) and self.may_offer(name)
        }
        replace_names(self.names.namespace, self.offered, wanted)
        self.offered = wanted

    def unload(self) -> None:
        """Takes the module back; what holds it may go on to."""
        self.module = None
        if self.fault is not None:
            sys.modules.pop(NAME, None)
            self.offer()

    def share(self, injected: dict[str, Any]) -> None:
        """Lets the file see the names that every session has."""
        self.around.update(vars(builtins))
        self.around.update(injected)


class Finder:
    """Lets `import user_tools` find the file, before any other of that name."""

    def __init__(self, saved: Saved) -> None:
        self.saved = saved

    def find_spec(self, name: str, path: object = None, target: object = None) -> Spec | None:
        """Answers the import system."""
        return _ModuleSpec(name, self, origin=PATH) if name == NAME and (self.saved.text or self.saved.fault) else None

    def create_module(self, spec: Spec) -> Any:
        """Returns the module, which ran already."""
        return self.saved.load()

    def exec_module(self, module: object) -> None:
        """Has nothing to run."""
