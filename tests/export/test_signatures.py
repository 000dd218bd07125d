"""The signature of a method: what Python gives of it comes back from a file."""

import inspect
import math

import pytest

from stator.export.checking import Damage
from stator.export.signatures import UNSAVED_DEFAULT, decode_signature, encode_signature


def everything(a, /, b, c=1, *rest, d, e=2.5, f=None, g="text", **options):
    pass


def test_every_kind_of_parameter_and_default_comes_back():
    signature = inspect.signature(everything)
    assert decode_signature(encode_signature(signature), "here") == signature


@pytest.mark.parametrize("default", [math.inf, True, 3j, -(2**63)])
def test_a_default_keeps_its_type(default):
    signature = inspect.Signature(
        [inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY, default=default)]
    )
    again = decode_signature(encode_signature(signature), "here").parameters["x"].default
    assert (type(again), again) == (type(default), default)


@pytest.mark.parametrize("default", [[1], object(), 2**63])
def test_a_default_that_a_file_cannot_hold_is_left_out(default):
    signature = inspect.Signature(
        [inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY, default=default)]
    )
    data = encode_signature(signature)
    assert data == [{"name": "x", "kind": "keyword", "optional": True}]
    again = decode_signature(data, "here")
    assert again.parameters["x"].default is UNSAVED_DEFAULT
    assert str(again) == "(*, x=...)"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({}, "here must be a list, not an object"),
        ([{"name": "x"}], "here[0] has no 'kind'"),
        ([{"name": "x", "kind": "some"}], "here[0] must be one of positional, any, args, keyword"),
        ([{"name": "1x", "kind": "any"}], "here[0] is no parameter: '1x' is not a valid"),
        (
            [{"name": "", "kind": "any"}],
            "here[0] is no parameter: '' is not a valid parameter name",
        ),
        ([{"name": "if", "kind": "any"}], "here[0] is no parameter: 'if' is not a valid"),
        ([{"name": "x", "kind": "any"}] * 2, "here is no signature: duplicate parameter name"),
        ([{"name": "x", "kind": "args", "optional": True}], "here[0] is no parameter"),
        ([{"name": "x", "kind": "any", "optional": True, "default": []}], "here[0] is no constant"),
    ],
)
def test_what_is_no_signature_is_damage(data, problem):
    with pytest.raises(Damage) as caught:
        decode_signature(data, "here")
    assert str(caught.value).startswith(problem)
