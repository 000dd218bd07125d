"""Which errors exist only because values are symbolic."""

import pytest
import torch

import stator
from stator.capture.errors.capture_artifacts import is_capture_artifact, users_text
from stator.containers.generators import StagedGenerator
from stator.values.staged import StagedList
from stator.values.union import Union


@pytest.mark.parametrize(
    "error",
    [
        NotImplementedError("no kernel for Meta"),
        TypeError(f"unsupported operand type(s) for +: '{Union.__name__}' and 'int'"),
        TypeError(f"'{StagedGenerator.__name__}' object is not subscriptable"),
        TypeError("float() argument must be a string or a real number, not 'SymInt'"),
        ValueError("expected a FakeTensor"),
    ],
)
def test_an_error_that_names_a_stand_in_is_an_artifact(error):
    assert is_capture_artifact(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("too large"),
        NotImplementedError("not yet"),
        TypeError("'>' not supported between instances of 'NoneType' and 'SymInt'"),
        TypeError(f"'{StagedList.__name__}' object is not callable"),
        TypeError("'SymInt' object is not iterable"),
    ],
)
def test_an_error_that_eager_code_has_too_is_none(error):
    assert not is_capture_artifact(error)


def test_a_message_of_the_users_own_may_have_the_word_union():
    def joined(x):
        if x.sum() > 0:
            raise ValueError("the European Union")
        return x

    with pytest.raises(ValueError, match="the European Union"):
        stator.to_static(joined)(torch.ones(2))


def test_messages_name_the_types_of_eager_code():
    assert users_text("'StagedList' and 'SymInt'") == "'list' and 'int'"
    assert users_text("'Tensor' and 'PooledDict'") == "'Tensor' and 'dict'"


def test_a_subclass_of_tensor_that_torch_cannot_make_is_an_artifact():
    text = "Creating a new Tensor subclass Tagged but the raw Tensor object is already associated"
    assert is_capture_artifact(RuntimeError(text))


def test_an_attribute_that_no_tensor_has_raises_what_eager_code_raises():
    @stator.to_static
    def chosen(x):
        return x.no_such_attribute if x.sum() > 0 else x

    assert chosen(-torch.ones(2)).tolist() == [-1, -1]
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'no_such_"):
        chosen(torch.ones(2))
