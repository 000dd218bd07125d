"""Measurements, each against another tool in the same run: `make bench`."""
