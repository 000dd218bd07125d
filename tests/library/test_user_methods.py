"""Methods behind syntax: those that a user wrote, and no others."""

import dataclasses

from stator.library.user_methods import user_method, user_property


class Box:
    def __len__(self):
        return 1

    @property
    def k(self):
        return 1


@dataclasses.dataclass
class Point:
    x: int


class Big(list):
    pass


def test_a_users_method_is_found_also_when_inherited():
    class Child(Box):
        pass

    assert user_method(Child(), "__len__") is Box.__len__


def test_methods_of_c_and_generated_ones_are_not_the_users():
    assert user_method([], "__len__") is None
    assert user_method(Big(), "__len__") is None
    assert user_method(Point(1), "__eq__") is None
    assert user_method(Box(), "__iter__") is None


def test_a_property_is_found_by_its_function():
    assert user_property(Box(), "k") is Box.k.fget
    assert user_property(Box(), "missing") is None
    assert user_property(Point(1), "x") is None
