"""Stories about attributes that user code computes where an object itself has none."""

from __future__ import annotations

import functools
import types

from tests.stories.book import DOWN, UP, Book, X

story = Book()


@story
def cached_property_of_a_branch():
    class Tables:
        made = 0

        @functools.cached_property
        def size(self):
            self.made += 1
            return 10 + self.made

    tables = Tables()

    def without(x):
        def call(f):
            vars(tables).pop("size", None)
            return f(x)

        return call

    def f(x):
        y = x
        if x.sum() > 0:
            y = y * tables.size
        return y + tables.size

    return f, [DOWN, without(UP), UP, without(DOWN), without(UP), UP], lambda: vars(tables)


@story
def fallback_for_an_attribute_of_a_branch():
    class Lazy:
        missing = 0

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            self.__dict__["missing"] = self.missing + 1
            return 3

    lazy = Lazy()

    def without(f):
        vars(lazy).pop("size", None)
        return f(DOWN)

    def f(x):
        if x.sum() > 0:
            lazy.size = 8
        return x * lazy.size

    return f, [DOWN, UP, DOWN, without, UP, without, DOWN], lambda: vars(lazy)


@story
def descriptor_behind_an_attribute_of_a_branch():
    class Counted:
        count = 0

        def __get__(self, obj, cls):
            Counted.count += 1
            return Counted.count

    class Holder:
        field = Counted()

    holder = Holder()

    def without(f):
        vars(holder).clear()
        return f(DOWN)

    def f(x):
        y = x * holder.field
        if x.sum() > 0 and "field" not in vars(holder):
            holder.__dict__["field"] = 50
        return y + holder.field

    return f, [DOWN, UP, UP, without, UP, DOWN], lambda: (Counted.count, vars(holder))


@story
def attributes_of_a_module_that_computes_them():
    module = types.ModuleType("computing")
    module.asked = 0

    def compute(name):
        module.asked += 1
        return len(name)

    module.__getattr__ = compute

    def given(f):
        module.hello = 2
        return f(UP)

    def gone(f):
        del module.hello
        return f(UP)

    return (lambda x: x * module.hello), [UP, UP, given, UP, gone, UP], lambda: module.asked


@story
def deleted_on_some_paths():
    class Holder:
        size = 1

    holder = Holder()
    holder.size = 5

    def given(f):
        holder.size = 6
        return f(UP)

    def f(x):
        if x.sum() > 0 and "size" in vars(holder):
            del holder.size
        return x * holder.size

    return f, [*X, given, DOWN], lambda: vars(holder)


@story.right()
def test_a_story_goes_as_eager_code_does(name):
    story.check(name)
