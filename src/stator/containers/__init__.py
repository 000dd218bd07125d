"""Containers: lists, dicts, sets and iterators whose contents depend on the data."""
