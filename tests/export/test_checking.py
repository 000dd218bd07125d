"""Parts of JSON data are of the right kind, or named by their place."""

import pytest

from stator.export.checking import (
    Damage,
    check_depth,
    checked,
    field,
    one_key,
    one_of,
    optional,
    texts,
)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda: checked(True, int, "here"), "here must be an integer, not true or false"),
        (lambda: checked(1, float, "here"), "here must be a fraction, not an integer"),
        (lambda: field({}, "key", str, "here"), "here has no 'key'"),
        (lambda: field([], "key", str, "here"), "here must be an object, not a list"),
        (lambda: field({"key": None}, "key", str, "here"), "here.key must be a string, not null"),
        (lambda: one_of("c", "ab", "here"), "here must be one of a, b, not 'c'"),
        (lambda: one_key({}, "here"), "here must be an object with one key"),
        (lambda: texts(["a", 1], "here"), "here[1] must be a string, not an integer"),
        (lambda: check_depth(101, "here"), "here is nested more than 100 deep"),
    ],
)
def test_what_is_wrong_is_named(read, text):
    with pytest.raises(Damage) as caught:
        read()
    assert str(caught.value) == text


def test_what_is_right_is_given():
    assert checked(1, int, "here") == 1
    assert optional({}, "key", list, "here") == []
    assert optional({"key": [1]}, "key", list, "here") == [1]
    assert one_key({"a": 1}, "here") == ("a", 1)
