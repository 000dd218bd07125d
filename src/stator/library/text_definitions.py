"""Methods of strings, written out in Python with slices, `find` and `len`.

They are converted like user code where the string, or what the method is given, is captured.
"""

from __future__ import annotations

from stator.values.annotations import Staged

LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def exception_text(name: Staged, args: Staged) -> Staged:
    """`repr(error)` of an exception."""
    if len(args) == 1:
        return f"{name}({args[0]!r})"
    return f"{name}{args!r}"


def list_text(items: Staged) -> Staged:
    """`repr(items)` of a list."""
    return "[" + ", ".join([repr(item) for item in items]) + "]"


def tuple_text(items: Staged) -> Staged:
    """`repr(items)` of a tuple."""
    inner = ", ".join([repr(item) for item in items])
    return "(" + inner + (",)" if len(items) == 1 else ")")


def zfill(text: Staged, width: Staged, /) -> Staged:
    """`text.zfill(width)`."""
    zeros = "0" * (width - len(text))
    sign = text[:1]
    return sign + zeros + text[1:] if sign == "-" or sign == "+" else zeros + text


def rjust(text: Staged, width: Staged, fill: Staged = " ", /) -> Staged:
    """`text.rjust(width, fill)`."""
    return padding(fill, width - len(text)) + text


def ljust(text: Staged, width: Staged, fill: Staged = " ", /) -> Staged:
    """`text.ljust(width, fill)`."""
    return text + padding(fill, width - len(text))


def center(text: Staged, width: Staged, fill: Staged = " ", /) -> Staged:
    """`text.center(width, fill)`: where the two sides differ, CPython's way."""
    missing = max(width - len(text), 0)
    left = missing // 2 + missing % 2 * (width % 2)
    return padding(fill, left) + text + padding(fill, missing - left)


def padding(fill: Staged, width: Staged) -> Staged:
    """`fill * width`, of one character."""
    if len(fill) != 1:
        raise TypeError("The fill character must be exactly one character long")
    return fill * width


def index(text: Staged, part: Staged, start: Staged = None, stop: Staged = None, /) -> Staged:
    """`text.index(part, start, stop)`."""
    found = text.find(part, start, stop)
    if found < 0:
        raise ValueError("substring not found")
    return found


def rindex(text: Staged, part: Staged, start: Staged = None, stop: Staged = None, /) -> Staged:
    """`text.rindex(part, start, stop)`."""
    found = text.rfind(part, start, stop)
    if found < 0:
        raise ValueError("substring not found")
    return found


def count(text: Staged, part: Staged, start: Staged = None, stop: Staged = None, /) -> Staged:
    """`text.count(part, start, stop)`: an empty part is before and after each character."""
    step, total = max(len(part), 1), 0
    at = text.find(part, start, stop)
    while at >= 0:
        total = total + 1
        at = text.find(part, at + step, stop)
    return total


def startswith(text: Staged, part: Staged, start: Staged = None, stop: Staged = None, /) -> Staged:
    """`text.startswith(part, start, stop)`."""
    if isinstance(part, tuple):
        return starts_with_any(text, part, start, stop)
    first = position(0 if start is None else start, len(text))
    return text.find(part, start, shorter(first + len(part), stop, len(text))) == first


def starts_with_any(text: Staged, parts: Staged, start: Staged, stop: Staged) -> Staged:
    """`text.startswith(parts, start, stop)`."""
    return any(text.startswith(part, start, stop) for part in parts)


def endswith(text: Staged, part: Staged, start: Staged = None, stop: Staged = None, /) -> Staged:
    """`text.endswith(part, start, stop)`."""
    if isinstance(part, tuple):
        return ends_with_any(text, part, start, stop)
    last = shorter(len(text), stop, len(text)) - len(part)
    first = position(0 if start is None else start, len(text))
    return last >= first and text[last : last + len(part)] == part


def ends_with_any(text: Staged, parts: Staged, start: Staged, stop: Staged) -> Staged:
    """`text.endswith(parts, start, stop)`."""
    return any(text.endswith(part, start, stop) for part in parts)


def position(bound: Staged, length: Staged) -> Staged:
    """A bound from the start of a string: a negative one counts from its end."""
    return max(bound + length, 0) if bound < 0 else bound


def shorter(end: Staged, stop: Staged, length: Staged) -> Staged:
    """The lesser of `end` and the bound `stop`, if there is one."""
    return end if stop is None else min(end, position(stop, length))


def lstrip(text: Staged, characters: Staged = None, /) -> Staged:
    """`text.lstrip(characters)`."""
    start, length = 0, len(text)
    while start < length and is_stripped(text[start : start + 1], characters):
        start = start + 1
    return text[start:]


def rstrip(text: Staged, characters: Staged = None, /) -> Staged:
    """`text.rstrip(characters)`."""
    stop = len(text)
    while stop > 0 and is_stripped(text[stop - 1 : stop], characters):
        stop = stop - 1
    return text[:stop]


def strip(text: Staged, characters: Staged = None, /) -> Staged:
    """`text.strip(characters)`."""
    return text.lstrip(characters).rstrip(characters)


def is_stripped(character: Staged, characters: Staged) -> Staged:
    """Is this one of the characters that `strip` takes away?"""
    return character.isspace() if characters is None else character in characters


def split(text: Staged, sep: Staged = None, maxsplit: Staged = -1) -> Staged:
    """`text.split(sep, maxsplit)`."""
    if sep is None:
        return words_of(text, maxsplit)
    if len(sep) == 0:
        raise ValueError("empty separator")
    parts: Staged = []
    start = 0
    at = text.find(sep)
    while at >= 0 and (maxsplit < 0 or len(parts) < maxsplit):
        parts.append(text[start:at])
        start = at + len(sep)
        at = text.find(sep, start)
    parts.append(text[start:])
    return parts


def rsplit(text: Staged, sep: Staged = None, maxsplit: Staged = -1) -> Staged:
    """`text.rsplit(sep, maxsplit)`."""
    if sep is None:
        return last_words_of(text, maxsplit)
    if len(sep) == 0:
        raise ValueError("empty separator")
    parts: Staged = []
    stop = len(text)
    at = text.rfind(sep)
    while at >= 0 and (maxsplit < 0 or len(parts) < maxsplit):
        parts.append(text[at + len(sep) : stop])
        stop = at
        at = text.rfind(sep, 0, stop)
    parts.append(text[:stop])
    parts.reverse()
    return parts


def last_words_of(text: Staged, most: Staged) -> Staged:
    """`text.rsplit(None, most)`."""
    words: Staged = []
    rest = text.rstrip()
    while len(rest) > 0:
        start = 0 if len(words) == most else start_of_last_word(rest)
        word = rest[start:]
        words.append(word.lstrip() if start == 0 else word)
        rest = rest[:start].rstrip()
    words.reverse()
    return words


def start_of_last_word(text: Staged) -> Staged:
    """Where the characters after the last space begin."""
    start = len(text)
    while start > 0 and not text[start - 1 : start].isspace():
        start = start - 1
    return start


def splitlines(text: Staged, keepends: Staged = False) -> Staged:
    """`text.splitlines(keepends)`."""
    lines: Staged = []
    start, at, length = 0, 0, len(text)
    while at < length:
        stop = at + 1
        if text[at:stop] in LINE_ENDS:
            if text[at : at + 2] == "\r\n":
                stop = at + 2
            lines.append(text[start : stop if keepends else at])
            start = stop
        at = stop
    if start < length:
        lines.append(text[start:])
    return lines


def capitalize(text: Staged) -> Staged:
    """`text.capitalize()`, of ASCII."""
    return text[:1].upper() + text[1:].lower()


def casefold(text: Staged) -> Staged:
    """`text.casefold()`, of ASCII."""
    return text.lower()


def swapcase(text: Staged) -> Staged:
    """`text.swapcase()`, of ASCII."""
    result = text[:0]
    for at in range(len(text)):
        one = text[at : at + 1]
        result = result + (one.lower() if one.isupper() else one.upper())
    return result


def title(text: Staged) -> Staged:
    """`text.title()`, of ASCII."""
    result, inside = text[:0], False
    for at in range(len(text)):
        one = text[at : at + 1]
        result = result + (one.lower() if inside else one.upper())
        inside = one.isalpha()
    return result


def words_of(text: Staged, most: Staged) -> Staged:
    """`text.split(None, most)`."""
    words: Staged = []
    rest = text.lstrip()
    while len(rest) > 0:
        end = len(rest) if len(words) == most else length_of_word(rest)
        words.append(rest[:end])
        rest = rest[end:].lstrip()
    return words


def length_of_word(text: Staged) -> Staged:
    """How many characters there are before the first space."""
    end, length = 0, len(text)
    while end < length and not text[end : end + 1].isspace():
        end = end + 1
    return end


def replace(text: Staged, old: Staged, new: Staged, count: Staged = -1, /) -> Staged:
    """`text.replace(old, new, count)`."""
    result, start, done = text[:0], 0, 0
    at = text.find(old)
    while at >= 0 and (count < 0 or done < count):
        result = result + text[start:at] + new
        start = at + len(old)
        at = text.find(old, max(start, at + 1))
        done = done + 1
    return result + text[start:]


def removeprefix(text: Staged, prefix: Staged, /) -> Staged:
    """`text.removeprefix(prefix)`."""
    return text[len(prefix) :] if text.startswith(prefix) else text


def removesuffix(text: Staged, suffix: Staged, /) -> Staged:
    """`text.removesuffix(suffix)`."""
    return text[: len(text) - len(suffix)] if text.endswith(suffix) else text


def partition(text: Staged, sep: Staged, /) -> Staged:
    """`text.partition(sep)`."""
    if len(sep) == 0:
        raise ValueError("empty separator")
    at = text.find(sep)
    return (text[:at], sep, text[at + len(sep) :]) if at >= 0 else (text, "", "")


def rpartition(text: Staged, sep: Staged, /) -> Staged:
    """`text.rpartition(sep)`."""
    if len(sep) == 0:
        raise ValueError("empty separator")
    at = text.rfind(sep)
    return (text[:at], sep, text[at + len(sep) :]) if at >= 0 else ("", "", text)


def join(separator: Staged, parts: Staged, /) -> Staged:
    """`separator.join(parts)`."""
    text, place = separator[:0], 0
    for part in parts:
        if not isinstance(part, str):
            name = type(part).__name__
            raise TypeError(f"sequence item {place}: expected str instance, {name} found")
        text = text + (separator[:0] if place == 0 else separator) + part
        place = place + 1
    return text
