"""A staging object that runs what would not be run, then puts the state back.

Recording a branch runs both of its sides; recording a loop runs its body before it is known
whether there is an iteration at all. Only the state is put back in between, so a name that is
missing from the state shows up as a wrong result. For functions without side effects.
"""

from __future__ import annotations

from tests.rewrite.plain_staging import PlainStaging, Undefined


class SpeculativeStaging(PlainStaging):
    """Runs both sides of every branch, and every loop body once too often."""

    depth = 0

    def if_stmt(self, test, body, orelse, read, write, names):
        before = read()
        self.attempt(orelse if test else body)
        write(before)
        assert len(before) == len(names)
        (body if test else orelse)()

    def while_stmt(self, test, body, read, write, _names, _steps=None):
        self.trial(lambda: (test(), body()), read, write)
        while test():
            body()
            self.trial(body, read, write)

    def for_stmt(self, iterable, body, test, read, write, _names):
        items = list(iterable)
        for item in items:
            self.trial(lambda item=item: body(item), read, write)
            if test is not None and not test():
                break
            body(item)
        if test is not None and test() and items:
            self.trial(lambda: body(items[-1]), read, write)

    def trial(self, action, read, write):
        before = read()
        self.attempt(action)
        write(tuple(Undefined("scrambled") for _ in before))
        write(before)

    def attempt(self, action):
        """Run what may fail in any way; past some depth leave it, since trials multiply."""
        if self.depth > 2:
            return
        self.depth += 1
        try:
            action()
        except Exception:  # noqa: BLE001  # a trial's failure is nobody's
            pass
        finally:
            self.depth -= 1
