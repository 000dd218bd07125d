"""Programs whose regions are run by something else than the backend that runs the rest.

region      what such a region is: `inductor` compiles them, `cudagraph` records them
operators   the op of torch by which a program calls its regions
calls       a program with such calls, and a region as a program
running     runs of such programs; a region that fails is left out
"""
