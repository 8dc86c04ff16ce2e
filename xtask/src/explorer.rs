//! `cargo xtask explorer`: the part of the checker that a page carries, as WebAssembly.
//!
//! It lies beside the sources of the page and outside the history. A build of the program takes it up if it has the stamp of its sources.

#[path = "../../web/stamp.rs"]
mod stamp;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

const TARGET: &str = "wasm32-unknown-unknown";

/// Compile the part of the checker that pages carry (wants `rustup target add wasm32-unknown-unknown`).
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Compile it even if the one that is there has the stamp of these sources
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let root = &Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let stamp = stamp::stamp(root).context("cannot read the sources")?;
    let built = fs::read_to_string(root.join(stamp::STAMP)).unwrap_or_default();
    if built == stamp && root.join(stamp::MODULE).is_file() && !arguments.force {
        println!("the explorer is that of these sources");
        return Ok(ExitCode::SUCCESS);
    }
    let folder = root.join("target/explorer");
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["rustc", "--quiet", "--locked", "--profile", "explorer", "--package", "fathom-explorer"])
        .args(["--crate-type", "cdylib", "--target", TARGET, "--target-dir"])
        .arg(&folder)
        // What a caller wants of its own builds is not for this one.
        .env_remove("CARGO_PROFILE_RELEASE_INCREMENTAL")
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "cannot compile for {TARGET}: `rustup target add {TARGET}` gives the target");
    let module = fs::read(folder.join(TARGET).join("explorer/fathom_explorer.wasm"))?;
    fs::create_dir_all(root.join("web/built"))?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&module)?;
    let packed = packed.finish()?;
    fs::write(root.join(stamp::MODULE), BASE64_STANDARD.encode(&packed))?;
    fs::write(root.join(stamp::STAMP), &stamp)?;
    println!("{} bytes, {} compressed, of sources {stamp}", module.len(), packed.len());
    Ok(ExitCode::SUCCESS)
}
