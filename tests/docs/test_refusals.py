"""docs/refusals.md has every refusal, as the source and the examples have it now."""

import ast
import functools

import pytest

from stator import StatorError
from tests.docs import refusals
from tests.docs.refusals import (
    OF_THE_STATIC_SIDE,
    WITHOUT_EXAMPLE,
    Refusal,
    error_of,
    met_by,
    page,
    tried,
)
from tests.docs.regenerate import REFUSALS


@functools.cache
def every():
    """Every refusal: reading the source takes seconds, so not while tests are collected."""
    return refusals.refusals()


def of_programs():
    return [one for one in every() if one.code < "ST300"]  # later codes are of calls and files


@pytest.mark.slow
def test_the_page_is_what_the_source_and_the_examples_make():
    assert REFUSALS.read_text() == page(), "if the change is meant: python -m tests.docs.regenerate"


@pytest.mark.slow
def test_every_example_has_its_text_on_the_page():
    assert [one.shown.__name__ for one, error in tried() if met_by(error) is None] == []


@pytest.mark.slow
def test_every_refusal_of_a_program_has_an_example_or_is_listed_as_having_none():
    met = {met_by(error) for _, error in tried()}
    without = {one.problem for one in of_programs() if one not in met}
    assert without == WITHOUT_EXAMPLE | OF_THE_STATIC_SIDE


def test_every_refusal_of_a_program_names_a_way_out():
    assert [one.problem for one in of_programs() if not one.fix] == []


def test_every_code_is_on_the_page():
    codes = {one.code for one in refusals.CLASSES.values()}
    assert codes - {one.code for one in every()} == {
        "ST000"
    }  # the base of the tree is never raised


def test_an_example_that_is_not_refused_is_an_error():
    def fine(x, y):
        return x

    with pytest.raises(AssertionError, match="fine is not refused"):
        error_of(refusals.Example(fine, lambda: None))


def test_a_hole_stands_for_any_text():
    one = Refusal("ST000", "a … is put into … here", "")
    assert one.meets(StatorError("a list is put into two\nlines here"))
    assert not one.meets(StatorError("a list is put into a dict"))


@pytest.mark.parametrize(
    ("source", "text"),
    [("'a'", "a"), ("f'a {b} c'", "a … c"), ("f'a {b}' + c", "a ……"), ("found[0]", None)],
)
def test_a_text_is_read_with_holes(source, text):
    assert refusals.text_of(ast.parse(source, mode="eval").body) == text
