"""Every error has a page, made of the text of its class; the examples on it are run."""

import pytest

import stator
from stator import errors
from stator.errors import UnknownOption, all_errors
from tests.docs.error_pages import FOLDER, explanation, page, run_example

ALL = list(all_errors().values())
NAMES = [cls.code for cls in ALL]


@pytest.mark.parametrize("cls", ALL, ids=NAMES)
def test_the_page_is_what_the_class_and_its_example_make(cls):
    text = (FOLDER / f"{cls.code}.md").read_text()
    assert text == page(cls), "if the change is meant: python -m tests.docs.regenerate"


def test_there_is_a_page_for_each_code_and_no_other():
    assert sorted(file.stem for file in FOLDER.glob("*.md")) == NAMES


@pytest.mark.parametrize("cls", ALL, ids=NAMES)
def test_the_example_fails_with_the_error_of_its_page_and_its_place_and_the_way_out_does_not(cls):
    one = explanation(cls)
    with pytest.raises(cls) as caught:
        run_example(one.fails)
    assert caught.value.code == cls.code or cls is errors.StatorError
    assert caught.value.at is not None
    assert caught.value.at.file == "example.py"
    assert caught.value.fix
    run_example(one.instead)


def test_explain_prints_the_page(capsys):
    stator.errors.explain("ST204")
    printed = capsys.readouterr().out
    assert printed.startswith("ST204 UnsupportedCall\n\nA call whose effect a program cannot expr")
    one = explanation(errors.UnsupportedCall)
    assert one.why in printed
    assert "Fails::" in printed
    assert "x + secrets.randbelow(6)" in printed


def test_explain_takes_an_error_a_class_and_a_code_in_small_letters(capsys):
    errors.explain("st301")
    by_code = capsys.readouterr().out
    errors.explain(errors.SpecMismatch)
    by_class = capsys.readouterr().out
    errors.explain(errors.SpecMismatch("no"))
    assert by_code == by_class == capsys.readouterr().out


def test_a_code_that_does_not_exist_is_told_which_do():
    with pytest.raises(UnknownOption) as caught:
        errors.explain("ST999")
    assert caught.value.problem == "there is no error ST999"
    assert caught.value.fix == f"give one of {', '.join(NAMES)}"
