"""What an error during a capture means to the user, and what its message shows.

boundary            marks the capture's own code: what fails inside is a bug of Stator's
capture_artifacts   errors that exist only because values are symbolic
eager_errors        what an op that cannot be recorded would raise on real tensors
line_variables      the variables on the line of an error
variable_names      what the user calls a value, a number or an object
tensor_repr         how a captured tensor is printed
"""
