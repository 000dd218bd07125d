"""The public API: the pipeline, stage by stage, behind a few names."""
