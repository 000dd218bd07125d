// libstator.so consists of the whole runtime: all that this file adds is a file, which a target
// needs.
