"""AROUND: the module text that is before each random program, what it may call."""

from __future__ import annotations

AROUND = """
import functools
import math

import torch


class Box:
    def __init__(self):
        self.count = 0
        self.value = None


box = Box()
TOTAL = 0


def bump(by):
    global TOTAL
    TOTAL = TOTAL + by


def halved(r, count=1):
    if count <= 0 or r.abs().sum() < 0.5:
        return r
    return halved(r / 2, count - 1)


def countdown(n):
    if n <= 0:
        return 0
    if n > 4:
        return countdown(4)
    return 1 + countdown(n - 1)


def first_above(items, limit):
    for item in items:
        if item.sum() > limit:
            return item
    return None


def steps(r, count):
    done = 0
    while done < count and done < 3:
        yield r * done
        if r.sum() > 5:
            return
        done += 1
"""
