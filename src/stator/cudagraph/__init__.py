"""The backend `cudagraph`: runs of ops as CUDA graphs, with their branches and loops in them.

rules         optimize/graph_rules.py: which ops may be in a graph
target        what a recording is made with: `cuda` is CUDA's
numbers       numbers of a program that stay on the device
fusing        compiled code for runs of ops inside a graph
recorder      walks the ops of a region once, and so records them
region        a region with its recordings; what a call of it does
backend       puts them together
"""
