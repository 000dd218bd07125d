"""Programs of the zoo with regions that have no libraries do what they do without regions.

    python -m tests.ahead.test_zoo FOLDER      all of them

Every run of ops is a region, in branches, loops and functions, whatever the cost rule says of it.
"""

import sys
import warnings
from pathlib import Path
from unittest import mock

import pytest

from stator.ahead.programs import ExampleRuns, compile_programs
from stator.export.saved_model import read_model
from stator.extension import command
from stator.optimize import region_rules
from tests.native.by_file import Batch
from tests.native.saved_models import save_all

pytestmark = pytest.mark.slow

EVERY = 40  # of the programs, one in so many


def regions_without_libraries(path):
    """Write the folder of a model; the number of regions in it."""
    saved = read_model(path)
    runs = {name: ExampleRuns(program, {}, ()) for name, program in saved.programs.items()}
    with (
        warnings.catch_warnings(),
        mock.patch.object(region_rules, "LEAST_FUSED", 1),
        mock.patch.object(region_rules, "LEAST_ELEMENTS", 0),
    ):
        warnings.simplefilter("ignore")  # no example reaches a region
        return len(compile_programs(str(path), saved.digest, "cpu", runs, lambda _: None))


def differences(folder, every):
    """What programs with regions do otherwise; and how many regions there are."""
    batch, regions = Batch(folder), 0
    for program, path, calls in save_all(folder, every):
        regions += regions_without_libraries(path)
        batch.add(program.name, path, calls)
    return list(batch.differences("--trust-compiled")), regions


@pytest.mark.skipif(command() is None, reason="the native runtime is not built")
def test_blocks_of_regions_run_where_there_is_no_code(tmp_path, capfd):
    found, regions = differences(tmp_path, EVERY)
    assert not found, "\n".join(found)
    assert regions > 10
    assert capfd.readouterr().err == ""  # every folder was used


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    wrong, count = differences(target, 1)
    print("\n".join([*wrong, f"{count} regions, {len(wrong)} calls differ"]))
