//! How does the program become a package? `cargo xtask package` builds it small (profile `dist`) and puts it with its manual, completions, grammars and models into a Debian package.
//!
//! The package is made by `dpkg-deb` from a folder that lies as it will be installed; there are no scripts in it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};

/// Arguments of `package`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A program to package, in place of one that is built now
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Link everything into the program, so that it runs on any Linux of this processor
    #[arg(long)]
    r#static: bool,
    /// Where the package goes
    #[arg(long, default_value = "target/package")]
    out: PathBuf,
}

/// Completions: the shell, and where it looks for them.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "usr/share/bash-completion/completions/fathom"),
    ("zsh", "usr/share/zsh/vendor-completions/_fathom"),
    ("fish", "usr/share/fish/vendor_completions.d/fathom.fish"),
];

/// Builds, packages, and says where the package is.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => build(arguments.r#static)?,
    };
    let package = package(&binary, Path::new("."), &arguments.out, !arguments.r#static)?;
    let bytes = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    println!("{}: {} bytes", binary.display(), bytes(&binary));
    println!("{}: {} bytes", package.display(), bytes(&package));
    Ok(ExitCode::SUCCESS)
}

/// Builds the program as it is given away; says where it is.
fn build(linked_whole: bool) -> anyhow::Result<PathBuf> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--profile", "dist", "--package", "fathom"]);
    // Where cargo was told to build.
    let mut folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    if linked_whole {
        let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        cargo.args(["--target", &target]);
        folder.push(target);
    }
    ensure!(cargo.status().context("cannot run cargo")?.success(), "the program cannot be built");
    Ok(folder.join("dist/fathom"))
}

/// Makes a package of a program and what belongs to it; gives its path.
fn package(binary: &Path, root: &Path, out: &Path, needs_libraries: bool) -> anyhow::Result<PathBuf> {
    let scratch = tempfile::tempdir().context("no room for a package")?;
    // A folder of its own, which others may read: its rights are part of the package.
    let stage = scratch.path().join("fathom");
    let place = |path: &str| -> anyhow::Result<PathBuf> {
        let path = stage.join(path);
        std::fs::create_dir_all(path.parent().context("a file has a folder")?)?;
        Ok(path)
    };
    std::fs::copy(binary, place("usr/bin/fathom")?)
        .with_context(|| format!("there is no {}", binary.display()))?;
    for (shell, path) in COMPLETIONS {
        std::fs::write(place(path)?, output(Command::new(binary).args(["completions", shell]))?)?;
    }
    let manual = place("usr/share/man/man1/fathom.1")?;
    let folder = manual.parent().context("a file has a folder")?;
    output(Command::new(binary).arg("man").arg(folder))?;
    output(Command::new("sh").arg("-c").arg("gzip -9n *.1").current_dir(folder))?;
    let copies = [
        ("README.md", "usr/share/doc/fathom/README.md"),
        ("CHANGELOG.md", "usr/share/doc/fathom/changelog"),
        ("LICENSE-MIT", "usr/share/doc/fathom/copyright"),
    ];
    for (from, to) in copies {
        std::fs::copy(root.join(from), place(to)?).with_context(|| format!("cannot copy {from}"))?;
    }
    for (from, to) in
        [("models", "usr/share/fathom/models"), ("editors/vscode/syntaxes", "usr/share/fathom/syntaxes")]
    {
        for entry in root.join(from).read_dir().with_context(|| format!("there is no {from}"))? {
            let path = entry?.path();
            if path.is_file() {
                let name = path.file_name().context("a file has a name")?.to_string_lossy().into_owned();
                std::fs::copy(&path, place(&format!("{to}/{name}"))?)?;
            }
        }
    }
    let architecture = output(Command::new("dpkg").arg("--print-architecture"))?;
    let architecture = String::from_utf8(architecture)?.trim().to_owned();
    let control = control(&architecture, size(&stage)?, needs_libraries)?;
    std::fs::write(place("DEBIAN/control")?, control)?;
    std::fs::create_dir_all(out)?;
    let package = out.join(format!("fathom_{}_{architecture}.deb", env!("CARGO_PKG_VERSION")));
    output(
        Command::new("dpkg-deb").args(["-Zgzip", "--root-owner-group", "--build"]).arg(&stage).arg(&package),
    )?;
    Ok(package)
}

/// What `dpkg` wants to know.
fn control(architecture: &str, bytes: u64, needs_libraries: bool) -> anyhow::Result<String> {
    let mut text = String::new();
    writeln!(text, "Package: fathom\nVersion: {}\nArchitecture: {architecture}", env!("CARGO_PKG_VERSION"))?;
    writeln!(text, "Maintainer: The fathom developers <fathom@example.invalid>")?;
    writeln!(text, "Installed-Size: {}\nSection: devel\nPriority: optional", bytes.div_ceil(1024))?;
    if needs_libraries {
        writeln!(text, "Depends: libc6, libgcc-s1")?;
    }
    writeln!(text, "Description: model checker for systems whose state space does not fit in memory")?;
    writeln!(
        text,
        " Reads DVE and Murphi models, explores every reachable state in memory and on disk, and"
    )?;
    writeln!(
        text,
        " decides invariants, deadlocks and linear temporal logic, with replayed counterexamples"
    )?;
    writeln!(text, " and certificates that can be checked again.")?;
    Ok(text)
}

/// The bytes of all files under a folder.
fn size(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in folder.read_dir()? {
        let path = entry?.path();
        bytes += if path.is_dir() { size(&path)? } else { path.metadata()?.len() };
    }
    Ok(bytes)
}

/// What a command prints; it must succeed.
fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    /// The package has what it should, `dpkg-deb` reads it, and what it installs runs. The program is the one that the suites were run with.
    #[test]
    fn a_package_can_be_made_and_unpacked() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let name = "a_package_can_be_made_and_unpacked";
        let binary = root.join("target/release/fathom");
        if !binary.is_file() || Command::new("dpkg-deb").arg("--version").output().is_err() {
            return oracle::skip::skipped(name, "there is no target/release/fathom, or no dpkg-deb");
        }
        let scratch = tempfile::tempdir().unwrap();
        // Stripped, as it is given away: what is packed is small, and the test is short.
        let small = scratch.path().join("fathom");
        if output(Command::new("strip").arg("-o").arg(&small).arg(&binary)).is_err() {
            return oracle::skip::skipped(name, "there is no strip");
        }
        let package = package(&small, &root, scratch.path(), true).unwrap();
        let list =
            String::from_utf8(output(Command::new("dpkg-deb").arg("-c").arg(&package)).unwrap()).unwrap();
        let wanted = ["usr/bin/fathom", "man1/fathom.1.gz", "man1/fathom-check.1.gz", "models/peterson.dve"];
        let completions = COMPLETIONS.iter().map(|(_, path)| *path);
        for file in wanted.into_iter().chain(completions) {
            assert!(list.contains(file), "{file}: {list}");
        }
        assert!(list.lines().all(|line| line.contains("root/root")), "{list}");
        let unpacked = scratch.path().join("unpacked");
        output(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&unpacked)).unwrap();
        let model = unpacked.join("usr/share/fathom/models/peterson.dve");
        output(Command::new(unpacked.join("usr/bin/fathom")).arg("explore").arg(model)).unwrap();
        let about =
            String::from_utf8(output(Command::new("dpkg-deb").arg("-I").arg(&package)).unwrap()).unwrap();
        assert!(about.contains("Package: fathom") && about.contains("Depends: libc6"), "{about}");
    }
}
