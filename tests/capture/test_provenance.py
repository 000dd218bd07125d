"""Provenance: external objects, local ones, and since when."""

import types

import torch

import stator
from stator.capture.branches import apply_to_all, apply_variant
from stator.capture.recorder import Recorder
from stator.values.staged import StagedList


def test_an_object_is_external_once_it_is_added():
    provenance = Recorder(apply_variant, apply_to_all).provenance
    obj = types.SimpleNamespace()
    assert not provenance.is_external(obj)
    provenance.add_external(obj)
    assert provenance.is_external(obj)


def test_constants_are_never_external():
    provenance = Recorder(apply_variant, apply_to_all).provenance
    provenance.add_external(1)
    assert not provenance.is_external(1)


def test_a_block_knows_what_it_has_created():
    recorder = Recorder(apply_variant, apply_to_all)
    obj, before = types.SimpleNamespace(), StagedList()
    recorder.provenance.add_created(obj)
    with recorder.open() as scope:
        is_new = recorder.provenance.created_since(scope)
        assert not is_new(obj)
        assert not is_new(before)
        assert is_new(StagedList())
    assert recorder.provenance.is_local(obj, recorder.scope)


def test_a_stand_in_is_as_old_as_what_it_stands_for():
    recorder = Recorder(apply_variant, apply_to_all)
    stand_in = StagedList()
    assert recorder.provenance.is_local(stand_in, recorder.scope)
    recorder.provenance.add_stand_in(stand_in)
    assert not recorder.provenance.is_local(stand_in, recorder.scope)


def test_what_an_external_tuple_holds_is_external():
    inner = ([1], ([2],))
    provenance = Recorder(apply_variant, apply_to_all).provenance
    provenance.add_external(inner)
    assert provenance.is_external(inner[0])
    assert provenance.is_external(inner[1][0])


def test_a_list_unpacked_from_a_tuple_of_the_callers_is_returned_itself():
    pair = ([1], [2])

    def function(x):
        first, _ = pair
        return {"first": first}

    assert stator.to_static(function)(torch.ones(1))["first"] is pair[0]
