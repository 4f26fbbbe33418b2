"""Figures of matplotlib and images of Pillow, with the real libraries; `requirements.txt` beside this file names them."""

from __future__ import annotations

import unittest

from harness import Sandbox


class Matplotlib(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Sandbox()
        self.addCleanup(self.sandbox.close)
        self.sandbox.run("import matplotlib.pyplot as plt", 120)

    def test_shows_each_figure_once(self) -> None:
        figure = "fig, ax = plt.subplots()\nax.plot([1, 2])\n"
        rows = [
            (figure + "plt.show()", 1),
            (figure + "None", 1),
            (figure + "fig", 1),
            (figure + "display(fig)", 1),
            (figure + "display(fig)\nplt.show()", 1),
            (figure + "display(fig)\nax.plot([5, 1])\nplt.show()", 2),
            (figure + "plt.close(fig)", 0),
            (figure + figure + "plt.show()", 2),
            (figure + "plt.close(fig)\n[fig, fig]", 2),
            ("import matplotlib\nmatplotlib.use('agg')\n" + figure + "plt.show()", 1),
            ("plt.figure()\nNone", 0),
            ("plt.get_fignums()", 0),
            (figure + "1 / 0", 1),
            (figure + "exit()", 1),
        ]
        for code, count in rows:
            with self.subTest(code):
                outcome = self.sandbox.run(code, 60)
                self.assertEqual([kind for kind, _ in outcome.images], ["image/png"] * count, outcome)
                self.assertEqual(outcome.stderr, "")

    def test_says_what_can_not_be_drawn(self) -> None:
        code = "plt.plot([1])\nplt.title('$\\\\frac{$')\n"
        self.assertEqual(self.sandbox.run(code + "plt.show()", 60).error["ename"], "ValueError")
        outcome = self.sandbox.run(code + "None", 60)
        self.assertEqual(outcome.status, "ok")
        self.assertIn("a figure can not be drawn: ValueError", outcome.stderr)


class Pillow(unittest.TestCase):
    def test_scales_down_what_is_too_large(self) -> None:
        with Sandbox() as sandbox:
            sandbox.run(
                "import io, os\nfrom PIL import Image\nim = Image.frombytes('RGB', (1500, 1500), os.urandom(6_750_000))",
                60,
            )
            for code, kind in (("im", "image/png"), ("b = io.BytesIO()\nim.save(b, 'TIFF')\nim", "image/png")):
                outcome = sandbox.run(code, 60)
                ((found, data),) = outcome.images
                self.assertEqual(found, kind)
                self.assertLessEqual(len(data), 4 * 1024 * 1024)
                self.assertTrue(outcome.stderr.endswith("it is scaled down\n"))


if __name__ == "__main__":
    unittest.main()
