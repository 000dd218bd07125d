"""PROGRAMS: the whole zoo, every file of it imported."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.zoo.programs import ZOO, Program

MACHINERY = ("comparison", "harness", "programs", "expressions", "whole")
for file in sorted(Path(__file__).parent.glob("*.py")):
    if file.stem not in MACHINERY and not file.stem.startswith("test_"):
        importlib.import_module(f"tests.zoo.{file.stem}")
PROGRAMS: tuple[Program, ...] = tuple(ZOO)
