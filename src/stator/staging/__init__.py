"""Staging: what rewritten code calls. Run now, or record?

`Staging` (in `operators.py`) is the object that rewritten code knows as `stator__`. It decides by
the values it is given: a Python value runs as Python, a captured one is recorded.
"""
