"""Program -> results: the reference interpreter, and the structures of arguments and results."""
