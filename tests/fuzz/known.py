"""Seeds of random programs that are known to fail today, and why; the suite leaves them out."""

from __future__ import annotations

from collections.abc import Mapping

KNOWN: Mapping[int, str] = {}
