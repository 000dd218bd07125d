"""docs/models.md lists what the tests show to work, and nothing else."""

from tests.docs.documents import ROOT, made_tables
from tests.docs.features import features
from tests.docs.regenerate import MODELS, TABLES


def test_the_table_is_made_from_the_marks_of_the_tests():
    assert made_tables(MODELS.read_text()) == {"features": TABLES["features"]()}, (
        "if the change is meant: python -m tests.docs.regenerate"
    )


def test_no_feature_is_listed_twice():
    names = [(one.group, one.name) for one in features()]
    assert len(names) == len(set(names))


def test_a_mark_stands_on_a_test_that_is_collected():
    for one in features():
        file, _, test = one.test.partition("::")
        assert test.startswith("test_")
        assert (ROOT / file).exists()


def test_every_part_of_a_model_that_was_asked_for_is_listed():
    groups = {one.group for one in features()}
    asked = {"modules", "hooks", "layers", "autograd", "autocast", "custom ops"}
    assert groups >= asked | {"models", "training", "distributed"}
