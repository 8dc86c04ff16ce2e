//! fathom, a model checker for systems whose state space is larger than memory: the library facade.
