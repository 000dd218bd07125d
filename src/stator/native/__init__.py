"""The native runtime (`runtime/`) from Python: where it was built, and the backend `native`."""
