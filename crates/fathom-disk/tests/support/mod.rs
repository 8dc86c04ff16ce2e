//! What do the contract suites share? Every kind of storage, and a small generator of random numbers.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)] // Each suite uses a part of it; it is test code.

use fathom_disk::storage::{
    FaultyStorage, FileStorage, MemoryStorage, Role, SpreadStorage, Storage, Transport, Volume,
};

/// What lies on a second device, and what on a third.
const SECOND: &[Role] = &[Role::Index];
const THIRD: &[Role] = &[Role::Bulk, Role::Stack];

/// A volume on `storage` that hardly waits for a lock: none here is held by a child that is just being started.
fn impatient(storage: impl Storage + 'static) -> Volume {
    Volume::with_lock_patience(storage, std::time::Duration::from_millis(20))
}

/// One volume of each kind, with its name; `directory` holds those of files.
pub fn volumes(directory: &std::path::Path) -> Vec<(String, Volume)> {
    let mut volumes = vec![
        ("memory 64".to_owned(), impatient(MemoryStorage::new(64))),
        ("memory 4096".to_owned(), impatient(MemoryStorage::new(4096))),
        ("slow memory 64".to_owned(), impatient(MemoryStorage::slow(64))),
        ("faulty without faults".to_owned(), impatient(FaultyStorage::new(64, 1))),
        (
            "spread over three".to_owned(),
            impatient(
                SpreadStorage::new(MemoryStorage::new(64))
                    .with(SECOND, MemoryStorage::new(64))
                    .with(THIRD, MemoryStorage::new(64)),
            ),
        ),
    ];
    let auto = FileStorage::auto(&directory.join("auto")).unwrap();
    let mut transports = vec![Transport::Buffered];
    if auto.transport() != Transport::Buffered {
        transports.push(Transport::Threads);
    }
    volumes.push((format!("auto: {:?}", auto.transport()), impatient(auto)));
    for transport in transports {
        let storage =
            FileStorage::with_transport(&directory.join(format!("{transport:?}")), transport).unwrap();
        volumes.push((format!("{transport:?}"), impatient(storage)));
    }
    volumes
}

/// A generator with a seed (xorshift64*), independent of the one in the crate.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A key of `width` bits, its high bits often zero.
    pub fn key(&mut self, width: u32) -> Vec<u64> {
        let words = (width as usize).div_ceil(64);
        let live_bits = 1 + self.below(u64::from(width)) as usize;
        let mut key: Vec<u64> = (0..words).map(|_| self.next()).collect();
        for (index, word) in key.iter_mut().enumerate() {
            let position = (words - 1 - index) * 64;
            let bits = live_bits.saturating_sub(position).min(64);
            *word &= if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        }
        key
    }
}

/// Whether the long sweeps are asked for.
pub fn long() -> bool {
    std::env::var_os("FATHOM_LONG").is_some()
}

/// A set of keys of one width, as the plain model.
pub type Model = std::collections::BTreeSet<Vec<u64>>;

/// Random keys, some close to each other, as state sets are.
pub fn random_set(dice: &mut Dice, width: u32, count: usize) -> Model {
    let mut set = Model::new();
    let mut key = dice.key(width);
    for _ in 0..count {
        if dice.below(4) == 0 {
            key = dice.key(width);
        } else {
            let last = key.len() - 1;
            key[last] ^= dice.next() & dice.next() & 0xff;
            let spare = key.len() * 64 - width as usize;
            key[0] &= u64::MAX >> spare;
        }
        set.insert(key.clone());
    }
    set
}

/// The keys of a model one after the other, in order.
pub fn flat(set: &Model) -> Vec<u64> {
    set.iter().flatten().copied().collect()
}

/// Runs tests one after the other on the only thread there is; takes the words of the usual harness that choose among them.
pub fn without_harness(tests: &[(&str, fn())]) {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let given = |option: &str| words.iter().any(|word| word == option);
    let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let chosen = |name: &str| {
        let matches =
            |filter: &&String| if given("--exact") { name == **filter } else { name.contains(&***filter) };
        !given("--ignored") && (filters.is_empty() || filters.iter().any(matches))
    };
    let mut failed = false;
    for (name, test) in tests.iter().filter(|(name, _)| chosen(name)) {
        if given("--list") {
            println!("{name}: test");
            continue;
        }
        let passed = std::panic::catch_unwind(test).is_ok();
        failed |= !passed;
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
    }
    println!("\ntest result: {}", if failed { "FAILED" } else { "ok" });
    if failed {
        std::process::exit(101);
    }
}
