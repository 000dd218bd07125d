"""DEFINITIONS: the modules of this package whose functions are converted like user code."""

from __future__ import annotations

from stator.containers import (
    counter_definitions,
    definitions,
    lazy_definitions,
    machine_definitions,
    set_definitions,
    standard_definitions,
)
from stator.library import (
    attribute_definitions,
    control_flow_definitions,
    dataclass_definitions,
    deep_copies,
    generator_definitions,
    number_definitions,
    progress_definitions,
    python_random,
    statistics_definitions,
    text_definitions,
    torch_definitions,
)

DEFINITIONS = frozenset(
    module.__name__
    for module in (
        attribute_definitions, control_flow_definitions, counter_definitions, dataclass_definitions,
        deep_copies, definitions, generator_definitions, lazy_definitions, machine_definitions,
        number_definitions, progress_definitions, python_random, set_definitions,
        standard_definitions, statistics_definitions, text_definitions, torch_definitions,
    )
)  # fmt: skip
