"""What every op is: one row for each, and the questions that the other packages ask of it.

row          `OpRow`: operands, blocks, and what an op does beside computing its results
stator_ops   the rows of Stator's own ops
torch_ops    the rows of torch's ops: derived from their schemas, and one table of exceptions
raising      rules that tell from an op's arguments whether it can raise
in_files     which ops of torch a saved model may call
conditions   what torch leaves to the callers of some ops, and every run checks
queries      `row_of`, `may_raise`, `is_removable`, `is_pure`, `written_by`, `aliased_by`
"""
