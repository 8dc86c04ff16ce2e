//! A certificate that a check of the bakery has left, and the text it is about.

use std::path::{Path, PathBuf};

use crate::command::{Ran, model, run};

/// A run with a certificate, in a folder that goes away.
pub(crate) struct Certificate {
    place: tempfile::TempDir,
}

impl Certificate {
    /// What a check with these words leaves.
    pub(crate) fn new(more: &[&str]) -> Certificate {
        let certificate = Certificate { place: tempfile::tempdir().expect("a folder") };
        std::fs::copy(model("bakery.dve"), certificate.model()).expect("a file");
        let (model, folder) = (certificate.model().display().to_string(), certificate.folder());
        let mut words = vec!["check", &model, "--dir", &folder, "--certify", "--quiet"];
        words.extend(more);
        let ran = run(&words);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        certificate
    }

    pub(crate) fn model(&self) -> PathBuf {
        self.place.path().join("model.dve")
    }

    pub(crate) fn folder(&self) -> String {
        self.place.path().join("run").display().to_string()
    }

    /// A file of the engine.
    #[allow(dead_code, reason = "not every suite forges files")]
    pub(crate) fn file(&self, prefix: &str) -> PathBuf {
        let states = Path::new(&self.folder()).join("states");
        let names = states.read_dir().expect("it is there").map(|entry| entry.expect("readable").path());
        let wanted =
            |path: &PathBuf| path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(prefix));
        names.filter(wanted).max().expect("there is one")
    }

    pub(crate) fn audit(&self) -> Ran {
        run(&["audit", &self.folder()])
    }

    pub(crate) fn assert_refused(&self, part: &str) {
        let ran = self.audit();
        assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("refused") && ran.stdout.contains(part), "{}", ran.stdout);
    }

    /// Replaces a part of what the run says of itself.
    pub(crate) fn edit_card(&self, old: &str, new: &str) {
        let path = Path::new(&self.folder()).join("run.json");
        let text = std::fs::read_to_string(&path).expect("it is there");
        assert!(text.contains(old), "{text}");
        std::fs::write(path, text.replace(old, new)).expect("it can be written");
    }
}
