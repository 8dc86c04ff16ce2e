//! How does a browser ask? It writes a question into memory of ours, calls, and reads the answer where it lies.

// Functions that a browser is to find have names that no compiler chooses: that is all that is unsafe here.
#![allow(unsafe_code)]

use std::cell::RefCell;

use crate::explorer::{Explorer, answer};

#[derive(Default)]
struct Desk {
    explorer: Option<Explorer>,
    question: Vec<u8>,
    answer: String,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
}

/// Where a question of so many bytes is to be written.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn question(bytes: usize) -> *mut u8 {
    DESK.with_borrow_mut(|desk| {
        desk.question = vec![0; bytes];
        desk.question.as_mut_ptr()
    })
}

/// Answers the question that was written, and says how long the answer is.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ask() -> usize {
    DESK.with_borrow_mut(|desk| {
        let question = std::mem::take(&mut desk.question);
        desk.answer = answer(&mut desk.explorer, &String::from_utf8_lossy(&question));
        desk.answer.len()
    })
}

/// Where the answer lies, until the next question.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer_place() -> *const u8 {
    DESK.with_borrow(|desk| desk.answer.as_ptr())
}
