"""JSON is parsed only if it cannot take much memory, and says one thing."""

import tracemalloc

import pytest

from stator.export import json_text
from stator.export.json_text import NotJson, memory_needed, parse

HOSTILE = {
    "lists": b"[" + b"[]," * 50_000 + b"1]",
    "objects": b"[" + b"{}," * 50_000 + b"1]",
    "named": b"[" + b'{"a":0},' * 50_000 + b"1]",
    "lists in objects": b"[" + b'{"a":[]},' * 50_000 + b"1]",
    "keys": b"{" + b",".join(b'"%x":0' % k for k in range(50_000)) + b"}",
    "texts": b"[" + b'"ab",' * 50_000 + b"1]",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_data_takes_more_memory_than_is_estimated(text):
    tracemalloc.start()
    data = parse(text, size=0)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert data
    assert taken <= memory_needed(text)


def test_a_text_that_would_take_more_memory_than_allowed_is_not_parsed(monkeypatch):
    monkeypatch.setattr(json_text, "MEMORY_FLOOR", 1000)
    text = b"[" + b"[]," * 10 + b"1]"
    assert len(parse(text, size=2000)) == 11
    with pytest.raises(NotJson) as caught:
        parse(text, size=100)
    assert str(caught.value) == "its data would take 1392 bytes of memory, more than 1000"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"a":1,"a":1}', "an object has the key 'a' twice"),
        (b"NaN", "NaN is not JSON"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"[", "Expecting value: line 1 column 2 (char 1)"),
    ],
)
def test_what_is_wrong_is_said(text, problem):
    with pytest.raises(NotJson) as caught:
        parse(text, size=0)
    assert str(caught.value) == problem
