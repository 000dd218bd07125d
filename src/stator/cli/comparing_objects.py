"""diff, where it needs torch: of objects, and of models whose weights differ."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

from stator.api.saving import save as save_model
from stator.cli.failures import user_code
from stator.cli.inputs import load_call
from stator.cli.objects import fresh_imports
from stator.cli.origin import Origin
from stator.cli.targets import is_object
from stator.export.model_difference import ModelChanges, model_changes
from stator.export.saved_model import SavedModel, read_model
from stator.export.weight_difference import weight_distance


def changes(first: str, second: str, origin: Origin) -> ModelChanges:
    """All differences; an object is saved to a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = (
            _model(target, Path(folder) / str(number), origin)
            for number, target in enumerate((first, second))
        )
        return model_changes(before, after, weight_distance(before, after))


def _model(target: str, path: Path, origin: Origin) -> SavedModel:
    if not is_object(target):
        return read_model(target)
    torch.manual_seed(origin.seed)  # so that both begin with the same random weights
    with fresh_imports():
        subject, given = load_call(target, origin)
        with user_code(f"{target} could not be captured"):
            save_model(subject.object, path, input_spec=given.specs)
    return read_model(path)
