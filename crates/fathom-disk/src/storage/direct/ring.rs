//! How are many reads outstanding at once? A submission ring of the kernel, borrowed for one batch at a time.
//!
//! Invariant: when [`Ring::read`] returns, no entry it submitted is outstanding, so the kernel holds no pointer into
//! the caller's buffers any more.

use std::io;
use std::os::fd::RawFd;

use io_uring::{IoUring, opcode, types};

/// Entries of a ring: how many reads are outstanding at most.
pub(in crate::storage) const RING_DEPTH: u32 = 64;

/// One read of a batch: descriptor, offset, destination, and what the kernel said (bytes, or a negated error number).
#[derive(Debug)]
pub(in crate::storage) struct RingRead<'a> {
    pub(in crate::storage) descriptor: RawFd,
    pub(in crate::storage) offset: u64,
    pub(in crate::storage) into: &'a mut [u8],
    pub(in crate::storage) result: i32,
}

/// A ring of the kernel.
pub(in crate::storage) struct Ring {
    ring: IoUring,
}

impl Ring {
    /// A ring, if the kernel and the container allow it.
    pub(in crate::storage) fn new() -> io::Result<Self> {
        Ok(Self { ring: IoUring::new(RING_DEPTH)? })
    }

    /// Does all reads, at most [`RING_DEPTH`] outstanding; the result of each is in it. Descriptors must stay open.
    pub(in crate::storage) fn read(&mut self, reads: &mut [RingRead<'_>]) -> io::Result<()> {
        let (mut submitted, mut finished) = (0, 0);
        while finished < reads.len() {
            while submitted < reads.len() && submitted - finished < RING_DEPTH as usize {
                self.push(&mut reads[submitted], submitted as u64);
                submitted += 1;
            }
            if let Err(error) = self.ring.submit_and_wait(1) {
                let passing = [rustix::io::Errno::INTR, rustix::io::Errno::AGAIN, rustix::io::Errno::BUSY];
                if !passing.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error())) {
                    // Entries may be outstanding and can never be waited for: returning would leave the kernel
                    // writing into memory that the caller reuses.
                    std::process::abort();
                }
            }
            for entry in self.ring.completion() {
                reads[entry.user_data() as usize].result = entry.result();
                finished += 1;
            }
        }
        Ok(())
    }

    fn push(&mut self, read: &mut RingRead<'_>, index: u64) {
        let length = u32::try_from(read.into.len()).expect("a read is shorter than 4 GiB");
        let entry = opcode::Read::new(types::Fd(read.descriptor), read.into.as_mut_ptr(), length)
            .offset(read.offset)
            .build()
            .user_data(index);
        // SAFETY: the buffer is borrowed mutably for the whole of `read`, which does not return before the entry is
        // finished (or the process is gone), and at most `RING_DEPTH` entries are in the queue, so there is room.
        unsafe { self.ring.submission().push(&entry) }.expect("the ring has room for its depth");
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Ring")
    }
}
