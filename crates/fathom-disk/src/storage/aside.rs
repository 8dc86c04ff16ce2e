//! How does a thread go on while the device works for it?
//!
//! [`File::read_aside`] and [`File::write_aside`] hand a buffer over to a small crew of threads and return at once; [`Pending::wait`] gives it back when the
//! operation is done. Where a device answers at once ([`Storage::delays`](super::Storage::delays) says no: memory, and devices that lie on purpose, whose operations stay in
//! order) the operation is done before the call returns, by the caller.
//!
//! Operations are counted when they are waited for, with the time that was really waited.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use super::counters::{Access, Direction};
use super::{AlignedBuffer, Extent, File, FileId, FileKind, Shared, StorageError, access_class, failed};

/// An operation under way. Dropped, it waits: the buffer's memory is free when it is gone.
#[derive(Debug)]
pub struct Pending {
    operation: Arc<Operation>,
    kind: FileKind,
    name: String,
    access: Access,
    /// Taken by [`Pending::wait`].
    open: bool,
}

/// Threads that do operations for others, as long as somebody can ask them.
#[derive(Debug)]
pub(super) struct Crew {
    work: Sender<Arc<Operation>>,
}

/// What is to be done, and what came of it.
#[derive(Debug)]
struct Operation {
    shared: Arc<Shared>,
    file: FileId,
    direction: Direction,
    offset: u64,
    /// How much of the buffer it is about.
    length: usize,
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Debug)]
enum State {
    Waiting(AlignedBuffer),
    UnderWay,
    Done(AlignedBuffer, io::Result<usize>),
    Taken,
}

/// Threads of a crew: enough that reads of several streams overlap.
const CREW_THREADS: usize = 4;

impl File {
    /// Begins to fill `buffer`.
    pub fn read_aside(&self, offset: u64, buffer: AlignedBuffer) -> Pending {
        let length = buffer.len();
        let access = access_class(&self.read_end, offset, length as u64);
        self.aside(Direction::Read, offset, buffer, length, access)
    }

    /// Begins to write the first `length` bytes of `buffer`.
    pub fn write_aside(&self, offset: u64, buffer: AlignedBuffer, length: usize) -> Pending {
        let access = access_class(&self.write_end, offset, length as u64);
        self.aside(Direction::Write, offset, buffer, length, access)
    }

    fn aside(
        &self,
        direction: Direction,
        offset: u64,
        buffer: AlignedBuffer,
        length: usize,
        access: Access,
    ) -> Pending {
        let shared = &self.volume.shared;
        let operation = Arc::new(Operation {
            shared: Arc::clone(shared),
            file: self.id,
            direction,
            offset,
            length,
            state: Mutex::new(State::Waiting(buffer)),
            done: Condvar::new(),
        });
        if shared.storage.delays() {
            shared.crew.get_or_init(Crew::new).ask(Arc::clone(&operation));
        } else {
            operation.perform();
        }
        Pending { operation, kind: self.kind, name: self.name.to_string(), access, open: true }
    }
}

impl Pending {
    /// Waits until it is done. Gives the buffer back, and how many bytes were read or written: fewer than asked for only where a file ends.
    pub fn wait(mut self) -> (AlignedBuffer, Result<usize, StorageError>) {
        self.finish().expect("nobody waited before")
    }

    fn finish(&mut self) -> Option<(AlignedBuffer, Result<usize, StorageError>)> {
        if !std::mem::take(&mut self.open) {
            return None;
        }
        let began = Instant::now();
        let Operation { shared, direction, offset, .. } = &*self.operation;
        let (buffer, outcome) = self.operation.outcome();
        let nanos = began.elapsed().as_nanos() as u64;
        let bytes = *outcome.as_ref().unwrap_or(&0) as u64;
        shared.counters.add(self.kind, *direction, self.access, bytes, nanos);
        let verb = if *direction == Direction::Read { "read" } else { "write" };
        Some((buffer, outcome.map_err(failed(verb, &self.name, *offset))))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

impl Operation {
    fn perform(&self) {
        let State::Waiting(mut buffer) = std::mem::replace(
            &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner),
            State::UnderWay,
        ) else {
            return;
        };
        let bytes = &mut buffer[..self.length];
        let outcome = match self.direction {
            Direction::Read => {
                let mut extents = [Extent { file: self.file, offset: self.offset, into: bytes, filled: 0 }];
                self.shared.storage.read(&mut extents).map(|()| extents[0].filled)
            }
            _ => self.shared.storage.write(self.file, self.offset, bytes).map(|()| self.length),
        };
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Done(buffer, outcome);
        self.done.notify_one();
    }

    fn outcome(&self) -> (AlignedBuffer, io::Result<usize>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match std::mem::replace(&mut *state, State::Taken) {
                State::Done(buffer, outcome) => return (buffer, outcome),
                earlier => *state = earlier,
            }
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Crew {
    fn new() -> Crew {
        let (work, asked) = channel();
        let asked = Arc::new(Mutex::new(asked));
        for _ in 0..CREW_THREADS {
            let asked = Arc::clone(&asked);
            // A machine that gives no thread loses nothing: who asks nobody does it himself.
            let _ = thread::Builder::new().spawn(move || serve(&asked));
        }
        Crew { work }
    }

    fn ask(&self, operation: Arc<Operation>) {
        if let Err(unsent) = self.work.send(operation) {
            unsent.0.perform();
        }
    }
}

/// Performs operations until nobody can ask for one any more.
fn serve(asked: &Mutex<Receiver<Arc<Operation>>>) {
    loop {
        let operation = asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(operation) = operation else { return };
        operation.perform();
    }
}
