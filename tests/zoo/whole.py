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

# those that take a second or more to capture: `make check` leaves them out, and they are not
# captured again to be run without the optimiser
HEAVY = frozenset(
    {
        "algorithms.beam_search", "algorithms.k_means_with_groups", "algorithms.smallest_by_heap",
        "algorithms.viterbi_with_lists", "counters.counter_updates", "counters.counters_combined",
        "machines.an_item_too_many", "machines.generator_left_by_a_break_in_nested_ranges",
        "machines.generator_of_a_generator_over_a_list_of_the_run", "machines.items_by_next",
        "machines.the_rest_after_a_break", "outside.tables_written_by_data",
        "records.frozen_dataclasses_as_keys", "taken_items.accumulated_and_paired",
        "taken_items.generator_expressions", "taken_items.groups_of_a_generator",
        "taken_items.map_over_a_generator", "taken_items.strict_zip_of_a_generator",
        "texts.digits_of_a_base", "unpacked.words_chosen_by_numbers",
    }
)  # fmt: skip
