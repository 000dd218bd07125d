"""ProgressBar: what a program has in place of a bar of tqdm; each run shows one of its own.

    for x in tqdm(items): BODY     %bar: object = host::call(%total)      # tqdm(total=len(items))
                                   for x in items: BODY; host::call(%bar)   # bar.update(1)
                                   host::call(%bar)                         # bar.close()

Its methods are converted. `shown` is the bar that the run makes; None where it is disabled.
"""

from __future__ import annotations

from stator.values.annotations import Staged


class ProgressBar:
    """A bar of tqdm over `iterable`, or one that `update` moves."""

    def __init__(self, shown: Staged, iterable: Staged, total: Staged, initial: Staged) -> None:
        self.shown, self.iterable, self.total = shown, iterable, total
        self.n = initial

    def __iter__(self) -> Staged:
        for item in self.iterable:
            yield item
            self.update(1)
        self.close()

    def __len__(self) -> Staged:
        return self.total if self.iterable is None else len(self.iterable)

    def __enter__(self) -> Staged:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(self, n: Staged = 1) -> None:
        """`n` steps more are done."""
        if self.shown is not None:
            self.n = self.n + n
            self.shown.update(n)

    def close(self) -> None:
        """It moves no more."""
        if self.shown is not None:
            self.shown.close()

    def set_description(self, desc: Staged = None, refresh: Staged = True) -> None:
        """The text before the bar."""
        if self.shown is not None:
            self.shown.set_description(desc, refresh)

    def set_description_str(self, desc: Staged = None, refresh: Staged = True) -> None:
        """The same without a colon."""
        if self.shown is not None:
            self.shown.set_description_str(desc, refresh)

    def set_postfix(
        self, ordered_dict: Staged = None, refresh: Staged = True, **values: Staged
    ) -> None:
        """The values after the bar."""
        if self.shown is not None:
            self.shown.set_postfix(ordered_dict, refresh, **values)

    def set_postfix_str(self, s: Staged = "", refresh: Staged = True) -> None:
        """The text after the bar."""
        if self.shown is not None:
            self.shown.set_postfix_str(s, refresh)

    def refresh(self) -> None:
        """It is drawn now."""
        if self.shown is not None:
            self.shown.refresh()

    def clear(self) -> None:
        """It is not to be seen."""
        if self.shown is not None:
            self.shown.clear()

    def reset(self, total: Staged = None) -> None:
        """It begins again."""
        if self.shown is not None:
            self.n = 0
            if total is not None:
                self.total = total
            self.shown.reset(total)

    def write(self, s: Staged, **options: Staged) -> None:
        """A line above the bar."""
        if self.shown is not None:
            self.shown.write(s, **options)
