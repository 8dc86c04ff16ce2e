//! The command line of fathom.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}
