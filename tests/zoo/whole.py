"""PROGRAMS: the whole zoo, every file of it imported; HEAVY: the names of those that take long."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.zoo.programs import ZOO, Program

MACHINERY = ("comparison", "harness", "programs", "expressions", "whole")
for file in sorted(Path(__file__).parent.glob("*.py")):
    if file.stem not in MACHINERY and not file.stem.startswith("test_"):
        importlib.import_module(f"tests.zoo.{file.stem}")
PROGRAMS: tuple[Program, ...] = tuple(ZOO)

# those that take seconds to capture, which are left to `make test`
HEAVY = frozenset(
    {
        "algorithms.beam_search", "algorithms.viterbi_with_lists", "counters.counter_updates",
        "counters.counters_combined", "machines.an_item_too_many",
        "machines.generator_left_by_a_break_in_nested_ranges",
        "machines.generator_of_a_generator_over_a_list_of_the_run",
        "outside.tables_written_by_data", "taken_items.map_over_a_generator",
        "texts.digits_of_a_base", "unpacked.words_chosen_by_numbers",
    }
)  # fmt: skip
