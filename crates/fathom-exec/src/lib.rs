//! Program to successors: the interpreter, which is the reference.
