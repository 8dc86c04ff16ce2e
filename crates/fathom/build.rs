//! Is there an explorer for pages to carry? The one that `cargo xtask explorer` built, if its sources are those of this build; else none, and pages say so.

#[path = "../../web/stamp.rs"]
mod stamp;

use std::path::Path;
use std::{env, fs};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in stamp::CRATES {
        println!("cargo::rerun-if-changed={}", root.join("crates").join(name).join("src").display());
    }
    println!("cargo::rerun-if-changed={}", root.join(stamp::STAMP).display());
    println!("cargo::rerun-if-changed={}", root.join("web/stamp.rs").display());
    let module = root.join(stamp::MODULE);
    let fresh = fs::read_to_string(root.join(stamp::STAMP))
        .is_ok_and(|built| stamp::stamp(&root).is_ok_and(|now| now == built.trim()));
    let value = match fresh && module.is_file() {
        true => format!("Some(include_str!({:?}))", module.display().to_string()),
        false => "None".to_owned(),
    };
    let folder = env::var("OUT_DIR").expect("cargo says where to write");
    fs::write(Path::new(&folder).join("explorer.rs"), value).expect("a build writes its own folder");
}
