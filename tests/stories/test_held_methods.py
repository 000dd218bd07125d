"""Stories about bound methods that the caller holds: the object of each is the caller's, too."""

from __future__ import annotations

import functools

import torch

from tests.stories.book import UP, Book, X

story = Book()


class Counter:
    def __init__(self):
        self.count, self.seen = 0, []

    def up(self, by=1):
        self.count += by
        self.seen.append(self.count)
        return self.count

    def order(self, value):
        return value * (-1) ** self.count

    def counted(self, function):
        def call(*args):
            self.up()
            return function(*args)

        return call


@story
def variable():
    counter = Counter()
    up = counter.up
    return (lambda x: x + up()), X, lambda: (counter.count, counter.seen)


@story
def item_of_a_list_and_of_a_dict():
    counter = Counter()
    one, table = [counter.up], {"up": Counter().up}
    return (lambda x: x + one[0]() + table["up"](2)), X, lambda: counter.seen


@story
def attribute():
    class Holder:
        up = None

    holder = Holder()
    holder.up = Counter().up
    return (lambda x: x + holder.up()), X, lambda: holder.up.__self__.seen


@story
def default_and_argument():
    counter = Counter()

    def f(x, first=counter.up, second=None):
        return x + first() + (second or first)()

    return f, [UP, lambda static: static(UP, counter.up, Counter().up)] * 2, lambda: counter.seen


@story
def partial():
    counter = Counter()
    up = functools.partial(counter.up, by=2)
    return (lambda x: x + up()), X, lambda: counter.seen


@story
def decorator():
    counter = Counter()

    @counter.counted
    def double(x):
        return x * 2

    return (lambda x: double(x) + counter.count), X, lambda: counter.seen


@story
def key_of_a_sort():
    counter = Counter()
    order = counter.order

    def turned(static):
        counter.count += 1
        return static(UP)

    return (lambda x: sorted([1, 3, 2], key=order)), [UP, turned, turned]


@story
def methods_of_containers():
    items, table, seen = [], {"a": 1}, set()
    push, get, update, add = items.append, table.get, table.update, seen.add

    def f(x):
        push(x.sum().item())
        update(a=get("a") + 1)
        if x.sum() > 0:
            push(0)
            add(get("a") > 2)
        return len(items), get("a")

    return f, X, lambda: (items, table, seen)


@story
def method_that_the_class_has_no_more():
    class Old(Counter):
        def step(self):
            return self.up()

    counter = Old()
    step = counter.step

    def replaced(static):
        Old.step = lambda self: 100
        return static(UP)

    return (lambda x: x + step()), [UP, replaced, UP], lambda: counter.seen


@story
def method_of_a_module():
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.calls = torch.nn.Parameter(torch.ones(2)), 0

        def scale(self, x):
            self.calls += 1
            return (x * self.weight).detach() * self.calls

    model = Scaled()
    scale = model.scale
    return (lambda x: scale(x)), X, lambda: model.calls


@story
def method_is_exchanged():
    class Machine:
        def __init__(self):
            self.handler, self.count = self.start, 0

        def start(self, x):
            self.count += 1
            if x.sum() > 0:
                self.handler = self.go
            return x + 1

        def go(self, x):
            self.count += 10
            self.handler = self.start if x.sum() > 0 else self.stop
            return x * 2

        def stop(self, x):
            self.handler = self.start
            return x * 7

    machine = Machine()

    def f(x):
        return machine.handler(machine.handler(x))

    def look():
        return machine.count, machine.handler.__name__, machine.handler.__self__ is machine

    return f, X, look


@story
def method_is_put_into_a_list():
    class Counter:
        count = 0

        def times(self, x):
            self.count += 1
            return x * self.count

    counter, todo = Counter(), []

    def f(x):
        if not todo:
            todo.append(counter.times)
        for one in todo:
            x = one(x)
        return x, counter.times

    return f, [lambda f: f(UP)[1](f(UP)[0])] * 3, lambda: (counter.count, len(todo))


@story.right()
def test_a_story_goes_as_eager_code_does(name):
    story.check(name)
