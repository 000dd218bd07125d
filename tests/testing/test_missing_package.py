"""Without hypothesis, `stator.verify` says what to install; the rest of Stator works."""

import sys

import pytest
import torch

import stator
from stator.extras import install_command


def test_the_error_says_what_to_install(monkeypatch):
    for name in [one for one in sys.modules if one.startswith("stator_verify")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ImportError) as raised:
        stator.verify(torch.sin, (torch.ones(2),))
    assert str(raised.value) == f"stator.verify needs hypothesis: {install_command('verify')}"
