"""Books: stories by name, those that are right and those that are refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import stator
from stator.errors import StatorError
from tests.stories.story import Story, check

UP, DOWN = torch.tensor([3.0, -1.0]), torch.tensor([1.0, -2.0])
X = (DOWN, UP, UP, DOWN, UP, DOWN)
K = (torch.tensor(2), torch.tensor(0), torch.tensor(3), torch.tensor(1))
Make = Callable[[], tuple[Any, ...]]


class Book:
    """Functions that make a subject, its calls, and a function that looks at the world."""

    def __init__(self, **refused: str) -> None:
        self.refused = refused  # by name: what the message says
        self.stories: dict[str, Make] = {}

    def __call__(self, make: Make) -> Make:
        self.stories[make.__name__] = make
        return make

    def right(self) -> pytest.MarkDecorator:
        """The stories that go as eager code does."""
        names = [name for name in self.stories if name not in self.refused]
        return pytest.mark.parametrize("name", names)

    def check(self, name: str) -> None:
        """Does the static form of the story go as the eager one?"""
        check(lambda: Story(*self.stories[name]()))

    def check_refused(self, name: str) -> None:
        """Is one of its calls refused, for the reason that is given?"""
        story = Story(*self.stories[name]())
        static = stator.to_static(story.subject)
        with pytest.raises(StatorError, match=self.refused[name]):
            for call in story.calls:
                call(static) if callable(call) else static(call)
