"""The backend `inductor`: torch's Inductor compiles the regions of a program, without Dynamo.

layouts      what compiled code relies on in the tensors of a call, and which sizes stay open
checking     whether results agree with those of the ops, within stated tolerances
definitions  ops in terms of others that a compiler can fuse
compiling    a region for one layout -> compiled code, forward and backward
autograd     a run of compiled code as one step of torch's autograd
region       a region with its compiled code: what a call of it does
queue        compiles in the background, one region at a time
progress     a bar while regions are compiled
backend      regions outlined and called; everything else in another backend
status       `stator.compiled()`
"""
