"""subject_of: what there is to show, and what cannot be shown."""

import pytest
import torch

import stator
from stator import InputSpec
from stator.debug.view import page
from stator.debug.view.subject import subject_of
from stator.errors import FormatError, InputError, SpecMismatch
from stator.page.subject import NO_TEXT


def doubled(x):
    return x * 2


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.fc(x)) + torch.tensor([1.0, 2.0, 3.0])

    @stator.to_static(input_spec=[InputSpec([None, 3], "float32")])
    def score(self, x):
        return self.fc(x).sum()


@pytest.fixture
def saved(tmp_path):
    stator.save(Net(), tmp_path / "net", input_spec=[InputSpec([None, 3], "float32")])
    return tmp_path / "net"


def labels(source):
    return [one.label for one in subject_of(source).programs]


def test_a_static_function_shows_every_capture_the_last_one_first():
    static = stator.to_static(doubled)
    static(torch.ones(2))
    static(torch.ones(3))
    subject = subject_of(static)
    assert [one.program for one in subject.programs] == [
        one.program for one in static.concrete_programs
    ]
    assert [one.label for one in subject.programs] == [
        "1. because it was called for the first time",
        "2. because x.shape[0] is 3, not 2",
    ]
    assert (subject.title, subject.start) == ("doubled", 1)
    assert subject.report is not None
    assert len(subject.report["captures"]) == 2


def test_a_static_module_shows_its_forward():
    model = stator.to_static(Net())
    model(torch.ones(2, 3))
    assert labels(model) == ["forward"]


def test_a_program_and_a_traced_layer_can_be_shown():
    static = stator.to_static(doubled)
    static(torch.ones(2))
    assert subject_of(static.program).programs[0].program is static.program
    _, traced = stator.TracedLayer.trace(Net().eval(), [torch.ones(2, 3)])
    assert subject_of(traced).programs[0].program is traced.program


def test_a_saved_model_shows_its_methods_and_modes(saved):
    for path in (saved, str(saved) + ".stator"):
        assert labels(path) == ["forward, eval", "forward, train", "score"]
        assert subject_of(path).title == "net"
    assert subject_of(saved).remarks == (NO_TEXT,)
    assert subject_of(saved).is_saved


def test_a_loaded_model_shows_what_the_saved_one_does(saved):
    loaded = stator.load(saved)
    assert labels(loaded) == labels(saved)
    names = [sorted(weight.name for weight in subject_of(one).weights) for one in (loaded, saved)]
    assert names[0] == names[1]


def test_a_mode_that_could_not_be_captured_is_told(tmp_path):
    class Picky(torch.nn.Module):
        def forward(self, x):
            return x.data_ptr() + 1 if self.training else x * 2

    stator.save(Picky().eval(), tmp_path / "m", input_spec=[InputSpec([2], "float32")])
    assert labels(tmp_path / "m") == ["forward, eval"]
    (remark,) = subject_of(tmp_path / "m").remarks[1:]
    assert remark.startswith("forward could not be captured in train mode: ")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (3, "[ST300] an int cannot be viewed"),
        (doubled, "[ST300] a function cannot be viewed"),
        (Net(), "[ST300] a Net is not static: there is no program to view"),
        (stator.to_static(doubled), "[ST301] doubled has not been captured yet"),
    ],
)
def test_what_cannot_be_viewed_is_told_what_to_do(source, text):
    with pytest.raises((InputError, SpecMismatch)) as raised:
        page(source)
    assert str(raised.value).startswith(text)
    assert raised.value.fix


def test_a_path_without_a_model_is_an_error(tmp_path):
    with pytest.raises(FormatError, match="does not exist"):
        page(tmp_path / "nothing")
