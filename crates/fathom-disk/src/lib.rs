//! Bytes on disk within a memory budget: runs, sets, filters, tables, queues; it knows no model.

pub mod budget;
pub mod chunks;
pub mod codec;
pub mod error;
pub mod filter;
pub mod hash;
pub mod intrinsics;
pub mod key;
pub mod log;
pub mod manifest;
pub mod mix;
pub mod perfect_hash;
pub mod priority_queue;
pub mod run;
pub mod sabotage;
pub mod set;
pub mod sketch;
pub mod storage;
pub mod stream;
pub mod table;
pub mod value;
pub mod window;
