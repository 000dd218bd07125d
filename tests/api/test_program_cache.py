"""ProgramCache: the latest program that holds for a call."""

import dataclasses

import torch

import stator
from stator.api.program_cache import ProgramCache
from stator.api.signature import signature_of


def test_a_program_is_found_by_the_signature_it_was_made_for():
    static = stator.to_static(lambda x: x + 1)
    static(torch.ones(2))
    static(torch.ones(2, 2))
    cache = ProgramCache(static.concrete_programs)
    assert cache.find(signature_of((torch.ones(2),), {})) is static.concrete_programs[0]
    assert cache.find(signature_of((torch.ones(2, 2),), {})) is static.concrete_programs[1]
    assert cache.find(signature_of((torch.ones(2, 2, 2),), {})) is None
    assert cache.latest is static.concrete_programs[1]
    assert len(cache) == 2


def test_of_two_that_hold_the_latest_is_found():
    static = stator.to_static(lambda x: x + 1)
    static(torch.ones(2))
    static(torch.ones(3))
    cache = ProgramCache(static.concrete_programs)
    assert cache.find(signature_of((torch.ones(2),), {})) is static.concrete_programs[1]


def test_an_empty_cache_has_no_latest_program():
    assert ProgramCache().latest is None


def test_after_a_violation_a_program_for_other_sizes_comes_first():
    static = stator.to_static(lambda x: x + 1)
    static(torch.ones(2))
    static(torch.ones(3))
    first, second = static.concrete_programs
    cache = ProgramCache((dataclasses.replace(first, is_size_fallback=True), second))
    signature = signature_of((torch.ones(2),), {})
    assert cache.find(signature) is second
    assert cache.find(signature, after_violation=True).is_size_fallback


def test_a_function_with_another_cache_leaves_its_own_as_it_is():
    static = stator.to_static(lambda x: x + 1)
    static(torch.ones(2))
    cache = ProgramCache(static.concrete_programs)
    other = static.with_cache(cache)
    assert other(torch.ones(2)).tolist() == [2, 2]
    assert len(cache) == 1
    other.concrete_program(torch.ones(2, 2))
    assert other.cache is cache
    assert (len(cache), len(static.cache)) == (2, 1)
