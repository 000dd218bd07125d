"""The program: types, values, ops, blocks; a printer and a verifier. Nothing here runs it."""
