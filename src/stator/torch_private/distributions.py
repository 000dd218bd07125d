"""Checks that `torch.distributions` makes on values."""

from __future__ import annotations

from torch.distributions import Distribution

validate_sample = Distribution._validate_sample
