"""Models that earlier versions have written keep loading, and give what they gave then."""

import json
from pathlib import Path

import pytest
import torch

import stator
from stator.export.contents import VERSION
from stator.export.saved_model import STATELESS_VERSION, read_model
from tests.data.settle import X, results

DATA = Path(__file__).parents[1] / "data"
FOLDERS = sorted(DATA.glob("version_*"))


def test_there_is_a_model_of_every_version():
    assert [folder.name for folder in FOLDERS] == [f"version_{k + 1}" for k in range(VERSION)]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_model_of_an_earlier_version_gives_what_it_gave(folder):
    head = (folder / "model.stator").read_bytes()[:40]
    assert f'"version":{folder.name.removeprefix("version_")},'.encode() in head
    want, got = json.loads((folder / "results.json").read_text()), results(load(folder))
    assert got["eval"]["facts"] == want["eval"]["facts"]
    assert got["train"]["facts"] == want["train"]["facts"]
    for mode in ("eval", "train"):  # another processor may sum in another order
        torch.testing.assert_close(
            torch.tensor(got[mode]["state"]), torch.tensor(want[mode]["state"])
        )
    torch.testing.assert_close(
        torch.tensor(got["running_mean"]), torch.tensor(want["running_mean"])
    )


def load(folder):
    return stator.load(folder / "model")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_model_of_an_earlier_version_is_saved_again_in_this_one(folder, tmp_path):
    loaded = load(folder)
    stator.save(loaded, tmp_path / "model")
    again = stator.load(tmp_path / "model")
    assert torch.equal(again(X, 2.0)["state"], loaded(X, 2.0)["state"])
    assert again.step.weight is again.again.weight
    version = VERSION if read_model(tmp_path / "model").states else STATELESS_VERSION
    assert f'"version":{version},'.encode() in (tmp_path / "model.stator").read_bytes()[:40]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_tensor_of_a_model_is_aligned_as_torch_aligns_it(folder):
    assert all(t.data_ptr() % 64 == 0 for t in read_model(folder / "model").tensors.values())
