"""Libraries beside a saved model: its regions compiled ahead of time, in `NAME.compiled/`.

conditions  what compiled code has assumed of sizes -> data that the native runtime checks
calls       which calls of its regions a program makes on examples
libraries   a region for one layout -> a library, compared with the ops
folder      the libraries and the list of them -> `NAME.compiled/`
programs    a program -> its libraries, and the program that calls them
using       the folder -> programs in the native runtime, if the caller trusts it
"""
