"""Sites: which of them share a pool."""

from stator.values.sites import SiteGroups

A, B, C = (None, "a"), (None, "b"), (None, "c")


def test_sites_that_were_added_together_share_a_pool():
    groups = SiteGroups()
    assert groups.group_of(A) is None
    assert groups.add(frozenset({A, B}))
    assert groups.group_of(A) == groups.group_of(B) == {A, B}
    assert not groups.add(frozenset({A}))


def test_a_site_of_two_groups_joins_them():
    groups = SiteGroups()
    groups.add(frozenset({A}))
    groups.add(frozenset({C}))
    assert groups.group_of(C) == {C}
    assert groups.add(frozenset({A, C}))
    assert groups.group_of(A) == groups.group_of(C) == {A, C}
