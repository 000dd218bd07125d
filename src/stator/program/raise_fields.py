"""The fields of a `stator::raise` that are not attributes which user code has set.

Those that only the process that captured it can read:

    form__    the number of the structure of the whole exception
    leaf_0__  the leaves of that structure, in order
    text__    `str(error)`, where it is not what the builtin class makes of the arguments

Those that say the same as far as plain data can, for a saved model (no name of an attribute has
these characters). What comes after `cause:` or `context:` says it of that exception:

    =name                  what the builtin class keeps beside its arguments: `NameError.name`
    =suppressed            whether `__context__` is hidden: `raise ... from None`
    cause:=class, cause:0  the builtin class of the `__cause__`, its first argument, and so on
    context:=class         the same of the `__context__`
    context:=is_cause      True: it is the cause itself
"""

from __future__ import annotations

FORM, LEAF, TEXT = "form__", "leaf_", "text__"
MEMBER, CHAIN = "=", ":"
CLASS, SUPPRESSED, IS_CAUSE = "=class", "=suppressed", "=is_cause"
CAUGHT = "=caught"  # the class of what a handler of the program has caught


def is_attribute(name: str) -> bool:
    """Is `name` an attribute that user code has set, and none of these?"""
    return not (
        name in (FORM, TEXT)
        or (name.startswith(LEAF) and name.endswith("__"))
        or name.startswith(MEMBER)
        or CHAIN in name
    )
