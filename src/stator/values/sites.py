"""Sites: the places that create containers, and those whose containers live in a pool.

A runtime list holds copies. Where code changes what it has put into one, by whatever name, the
containers in question have to be known by reference: they live in a *pool* (`values/pooled.py`).
Their sites tell which ones: the capture raises `Shared` and starts again with these sites.
"""

from __future__ import annotations

from stator.location import Location

Site = tuple[Location | None, str]  # a place, and what is done there
Sites = frozenset[Site]


# all of them, where their keys are data
ORDERED_DICTS: Site = (None, "collections.OrderedDict")
GENERATORS: Site = (None, "random.Random")
COUNTERS: Site = (None, "collections.Counter")


class Shared(BaseException):
    """Containers created at `sites` are changed while a runtime list holds them: pool them.

    `refusal` is the error to raise where that has been done already.
    """

    def __init__(self, sites: Sites, refusal: Exception) -> None:
        self.sites, self.refusal = sites, refusal


def class_site(cls: type) -> Site:
    """The site of all objects of a user's class, wherever they are created."""
    return (None, f"{cls.__module__}.{cls.__qualname__}")


def outside_site(obj: object) -> Site:
    """The site of an object from outside that the program changes."""
    return (None, f"outside {id(obj)}")


class SiteGroups:
    """The sites whose containers are pooled, in groups that share a pool."""

    def __init__(self) -> None:
        self._groups: list[Sites] = []

    def add(self, sites: Sites) -> bool:
        """Give `sites` one pool; False if they have one already."""
        touched = [group for group in self._groups if group & sites]
        if any(sites <= group for group in touched):
            return False
        self._groups = [group for group in self._groups if not group & sites]
        self._groups.append(sites.union(*touched))
        return True

    def group_of(self, site: Site) -> Sites | None:
        """The sites that share a pool with `site`; None if its containers are not pooled."""
        return next((group for group in self._groups if site in group), None)
