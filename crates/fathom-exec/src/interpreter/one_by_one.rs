//! What does one action do in a state, where the caller decides which are tried?
//!
//! For compiled code that leaves some actions to the interpreter: it asks for several of the same state in a row, which is unpacked once.

use super::execute::Halt;
use super::{Interpreter, Scratch, Trouble, asynchronous};

/// Tries actions of an asynchronous program, one at a time.
pub(crate) struct OneByOne<'a> {
    system: &'a Interpreter,
    scratch: Scratch,
    /// The state whose values are unpacked; empty before the first.
    source: Vec<u64>,
}

/// What came of an action.
pub(crate) enum Attempt<'a> {
    /// It is not enabled, or the model says that there is no such step.
    Nothing,
    /// The record it leads to.
    Step(&'a [u64]),
    /// The model misbehaves.
    Fault(Trouble),
    /// Somebody asked for an end before this one.
    Interrupted,
}

impl<'a> OneByOne<'a> {
    pub(crate) fn new(system: &'a Interpreter) -> OneByOne<'a> {
        OneByOne { system, scratch: Scratch::default(), source: Vec::new() }
    }

    /// Tries an action in a state. Whether its movers are where they have to be is tested here, whether the rule of committed locations allows it is not.
    pub(crate) fn attempt(&mut self, source: &[u64], action: u32) -> Attempt<'_> {
        if self.source != source {
            self.source.clear();
            self.source.extend_from_slice(source);
            self.system.unpack(source, &mut self.scratch.values);
        }
        match asynchronous::attempt(self.system, action, source, &mut self.scratch) {
            Ok(false) | Err(Halt::Discard) => Attempt::Nothing,
            Ok(true) => Attempt::Step(&self.scratch.target),
            Err(Halt::Fault(trouble)) => Attempt::Fault(trouble),
            Err(Halt::Interrupted) => Attempt::Interrupted,
            Err(Halt::Leave(_)) => unreachable!("verified: blocks that are left are there"),
        }
    }
}
