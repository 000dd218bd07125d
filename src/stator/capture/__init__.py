"""Capture: a run of the rewritten function on symbolic tensors -> a Program."""
