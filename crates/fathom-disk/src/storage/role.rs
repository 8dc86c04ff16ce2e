//! What does a file hold, and how is it used?
//!
//! Whoever creates a file says both. What it holds is for the counters; how it is used, its role, decides on which of several devices it lies ([`super::spread`]). Nothing is concluded from a file's name.

/// How a file is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Much is written and read, in order: layers, candidates, queues.
    Bulk,
    /// It is asked at random places: runs, perfect hashes.
    Index,
    /// It grows and shrinks at its end: the path of a depth-first search.
    Stack,
    /// It says what is committed, and is where the lock is.
    Log,
}

/// What a file holds, and its role. A structure names its own: `FileKind::new("queue", Role::Bulk)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileKind {
    name: &'static str,
    role: Role,
}

impl FileKind {
    /// Sorted runs.
    pub const RUN: Self = Self::new("run", Role::Index);
    /// The list of what is committed.
    pub const MANIFEST: Self = Self::new("manifest", Role::Log);
    /// Room kept for the last commit on a full device: the device of the manifest.
    pub const BALLAST: Self = Self::new("ballast", Role::Log);
    /// The directory itself (syncs only).
    pub const DIRECTORY: Self = Self::new("directory", Role::Log);

    /// A kind of that name and role.
    pub const fn new(name: &'static str, role: Role) -> Self {
        Self { name, role }
    }

    /// What it is called in counters.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// How such files are used.
    pub fn role(self) -> Role {
        self.role
    }
}
