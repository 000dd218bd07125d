"""An old torch is refused with what is wrong and what helps."""

import pytest

from stator.requirements import check_torch


@pytest.mark.parametrize("version", ["2.11.0", "2.13.0+cpu", "2.12.0a0+git123", "3.0.0"])
def test_a_supported_torch_is_taken(version):
    check_torch(version)


@pytest.mark.parametrize("version", ["2.10.1", "2.9.0+cu128", "1.13.1"])
def test_an_older_torch_is_refused(version):
    with pytest.raises(ImportError) as caught:
        check_torch(version)
    assert str(caught.value) == (
        f"Stator needs torch 2.11 or later, and torch {version} is installed\n"
        "  fix: pip install 'torch>=2.11'"
    )
