"""Seeds of random programs that are known to fail today, and why; the suite leaves them out."""

from __future__ import annotations

from collections.abc import Mapping

KNOWN: Mapping[int, str] = {
    506: "a Python error in the body of a recorded loop: ValueError of an inner zip()",
    528: "TypeError: 'Variant' object is not callable, where eager raises IndexError",
    5615: "RuntimeError: dictionary changed size during iteration, where eager raises nothing",
    8641: "what is printed before an error that is raised while capturing is not printed",
}
