//! How fast do bytes come and go, against a plain loop of `pread` and plain writes?

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use fathom_disk::budget::Budget;
use fathom_disk::storage::{
    AlignedBuffer, FileKind, FileStorage, ReadRequest, Role, Storage, Transport, Volume,
};

use super::Random;

const KIND: FileKind = FileKind::new("bench", Role::Bulk);
const CHUNK: usize = 1 << 20;

/// Sequential writes and reads, then random reads by depth, on a file of `mebibytes`.
pub(crate) fn measure(folder: &Path, mebibytes: usize) -> anyhow::Result<()> {
    let storage = FileStorage::auto(folder)?;
    println!("\n### Device: {} ({} MiB)\n", storage.describe(), mebibytes);
    println!("| | MB/s |\n|---|---|");
    let budget = Budget::unlimited();
    let transport = storage.transport();
    let volume = Volume::new(storage);
    let mut buffer = AlignedBuffer::new(&budget, "bench", CHUNK)?;
    let mut random = Random(9);
    buffer.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&random.next().to_le_bytes()));
    let file = volume.create("sequential", KIND)?;
    let rate =
        rate_of(mebibytes, |index| Ok(file.write((index * CHUNK) as u64, &buffer)?), || Ok(file.sync()?))?;
    println!("| write 1 MiB pieces, then sync | {rate:.0} |");
    let plain_path = folder.join("plain");
    let mut plain = std::fs::File::create(&plain_path)?;
    let handle = plain.try_clone()?;
    let rate = rate_of(mebibytes, |_| Ok(plain.write_all(&buffer)?), || Ok(handle.sync_all()?))?;
    println!("| plain write, as dd does, then sync | {rate:.0} |");
    let rate =
        rate_of(mebibytes, |index| Ok(file.read_exact((index * CHUNK) as u64, &mut buffer)?), || Ok(()))?;
    println!("| read 1 MiB pieces | {rate:.0} |");
    let plain = std::fs::File::open(&plain_path)?;
    rustix::fs::fadvise(&plain, 0, None, rustix::fs::Advice::DontNeed)?;
    let rate =
        rate_of(mebibytes, |index| Ok(plain.read_exact_at(&mut buffer, (index * CHUNK) as u64)?), || Ok(()))?;
    println!("| plain read, cold | {rate:.0} |");
    drop(file);
    random_reads(folder, transport, mebibytes, &plain)?;
    volume.remove("sequential")?;
    volume.remove("plain")?;
    Ok(())
}

fn rate_of(
    mebibytes: usize,
    mut step: impl FnMut(usize) -> anyhow::Result<()>,
    end: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    let start = Instant::now();
    for index in 0..mebibytes {
        step(index)?;
    }
    end()?;
    Ok((mebibytes * CHUNK) as f64 / 1e6 / start.elapsed().as_secs_f64())
}

fn random_reads(
    folder: &Path,
    best: Transport,
    mebibytes: usize,
    plain: &std::fs::File,
) -> anyhow::Result<()> {
    println!(
        "\n| random reads of 4 KiB | operations per second at depth 1 | 4 | 16 | 64 |\n|---|---|---|---|---|"
    );
    let mut transports = vec![best];
    if best == Transport::Ring {
        transports.push(Transport::Threads);
    }
    for transport in transports {
        let volume = Volume::new(FileStorage::with_transport(folder, transport)?);
        let file = volume.open("sequential", KIND)?;
        let mut cells = Vec::new();
        for depth in [1, 4, 16, 64] {
            let budget = Budget::unlimited();
            let mut buffer = AlignedBuffer::new(&budget, "bench", depth * 4096)?;
            let mut random = Random(depth as u64);
            let start = Instant::now();
            let mut done = 0u64;
            while start.elapsed().as_secs_f64() < 1.0 {
                let mut requests: Vec<_> = buffer
                    .chunks_exact_mut(4096)
                    .map(|into| {
                        let offset = random.next() % (mebibytes as u64 * 256) * 4096;
                        ReadRequest { file: &file, offset, into, filled: 0 }
                    })
                    .collect();
                volume.read(&mut requests)?;
                done += depth as u64;
            }
            cells.push(format!("{:.0}", done as f64 / start.elapsed().as_secs_f64()));
        }
        println!("| {transport:?} | {} |", cells.join(" | "));
    }
    rustix::fs::fadvise(plain, 0, None, rustix::fs::Advice::DontNeed)?;
    let mut random = Random(77);
    let mut block = [0; 4096];
    let start = Instant::now();
    let mut done = 0u64;
    while start.elapsed().as_secs_f64() < 1.0 {
        plain.read_exact_at(&mut block, random.next() % (mebibytes as u64 * 256) * 4096)?;
        done += 1;
    }
    println!(
        "| a plain pread loop through the page cache, cold at first | {:.0} | | | |",
        done as f64 / start.elapsed().as_secs_f64()
    );
    Ok(())
}
