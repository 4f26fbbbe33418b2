"""Figures of matplotlib: `plt.show()` shows them, and what is still open at the end of a cell is shown then."""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any, Callable

PYPLOT = "matplotlib.pyplot"
_PARTS = ("axes", "lines", "patches", "texts", "images", "legends", "artists")


class Figures:
    """Watches for pyplot and finds its figures. Imports nothing of matplotlib: what is not there has no figures."""

    def __init__(self, show: Callable[[Any], None]) -> None:
        self.show = show  # shows one figure
        self.shown: list[tuple[Any, bytes]] = []  # figures and their images, in this cell
        self.hooked: Any = None
        self.looking = False
        # Children of the kernel inherit it too, so it is one that every matplotlib has.
        os.environ.setdefault("MPLBACKEND", "agg")
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Answers the import system: takes the place of `show` as soon as pyplot has run."""
        if name != PYPLOT or self.looking:
            return None
        self.looking = True
        try:
            from importlib.util import find_spec  # matplotlib imports it too

            spec = find_spec(name)
        finally:
            self.looking = False
        run = getattr(getattr(spec, "loader", None), "exec_module", None)
        if run is not None:

            def exec_module(module: Any) -> None:
                run(module)
                self.hook()

            spec.loader.exec_module = exec_module  # type: ignore[union-attr]
        return spec

    def hook(self) -> None:
        """Replaces `plt.show`, once: code may replace it again."""
        pyplot = sys.modules.get(PYPLOT)
        if pyplot is None or pyplot is self.hooked:
            return
        self.hooked = pyplot

        def show(*_: Any, **__: Any) -> None:
            """Shows all open figures and closes them."""
            failure: Exception | None = None
            for figure in self.close():
                try:
                    self.show(figure)
                except Exception as error:
                    failure = failure or error
            if failure is not None:
                raise failure

        show.__module__, show.__qualname__ = PYPLOT, "show"
        pyplot.show = show  # type: ignore[attr-defined]

    def is_figure(self, value: Any) -> bool:
        """Tells whether a value is a figure."""
        cls = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
        return type(cls) is type and issubclass(type(value), cls)

    def close(self) -> list[Any]:
        """Closes all open figures and returns them."""
        helpers = getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)
        if helpers is None or not helpers.figs:
            return []
        figures = [manager.canvas.figure for manager in helpers.get_all_fig_managers()]
        helpers.destroy_all()
        return figures

    def forget(self, figure: Any) -> None:
        """Closes one figure, which was shown and can not change any more in this cell."""
        helpers = getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)
        if helpers is not None and self.is_figure(figure):
            helpers.destroy_fig(figure)

    def render(self, figure: Any) -> bytes | None:
        """Draws a figure; None for one with nothing in it."""
        if not any(getattr(figure, each, None) for each in _PARTS):
            return None
        out = io.BytesIO()
        colours = {"facecolor": figure.get_facecolor(), "edgecolor": figure.get_edgecolor()}
        figure.savefig(out, format="png", bbox_inches="tight", **colours)
        self.shown.append((figure, out.getvalue()))
        return out.getvalue()

    def render_news(self, figure: Any) -> bytes | None:
        """Draws a figure; None also for one that was shown in this cell and has not changed since."""
        before = [data for each, data in self.shown if each is figure]
        data = self.render(figure)
        return None if data in before else data
