"""Library: what a call does, by whose code it is: converted, recorded, or left to Python."""
