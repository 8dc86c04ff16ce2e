//! Which engines are there? The one list: command line, help, the table of engines, the validation of options and the suites read it.

use super::engine::Engine;
use super::{
    astar, auto, bitstate, ddfs, ioemc, l2s, layered, map, map_ram, ndfs, owcty, partition, positions, ram,
    semi_owcty, stern_dill, sweep, sweep_ltl, sweep_ram, tier,
};

/// All engines, in the order in which users read of them.
pub static ENGINES: [&Engine; 20] = [
    &auto::ENGINE,
    &ram::ENGINE,
    &positions::ENGINE,
    &tier::ENGINE,
    &stern_dill::ENGINE,
    &layered::ENGINE,
    &partition::ENGINE,
    &sweep_ram::ENGINE,
    &sweep::ENGINE,
    &astar::ENGINE,
    &bitstate::ENGINE,
    &ndfs::ENGINE,
    &semi_owcty::ENGINE,
    &owcty::ENGINE,
    &map::ENGINE,
    &ddfs::ENGINE,
    &sweep_ltl::ENGINE,
    &l2s::ENGINE,
    &ioemc::ENGINE,
    &map_ram::ENGINE,
];

/// The engine of that name.
pub fn named(name: &str) -> Option<&'static Engine> {
    ENGINES.into_iter().find(|engine| engine.name == name)
}

/// Those that answer questions about infinite runs, miss nothing, and are for proofs, too.
pub fn for_runs() -> impl Iterator<Item = &'static Engine> {
    ENGINES.into_iter().filter(|engine| engine.answers_runs() && engine.is_exact() && engine.is_for_proofs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::engine::Chosen;

    #[test]
    fn names_are_the_users_and_differ() {
        for (number, engine) in ENGINES.iter().enumerate() {
            assert_eq!(named(engine.name), Some(*engine));
            assert!(ENGINES[..number].iter().all(|other| other.name != engine.name), "{} twice", engine.name);
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            assert!(engine.name.bytes().all(is_plain));
        }
    }

    #[test]
    fn options_are_checked_against_the_entry() {
        let refused = |engine: &'static Engine, option: &str| {
            Chosen::with(engine, [option]).expect_err("it is refused").to_string()
        };
        assert_eq!(refused(&ram::ENGINE, "plan=scan"), "the engine ram has no options, so no \"plan\"");
        assert_eq!(
            refused(&tier::ENGINE, "plan"),
            "an option of an engine is KEY=VALUE, and \"plan\" is not"
        );
        assert_eq!(
            refused(&tier::ENGINE, "paln=scan"),
            "the engine tier has no option \"paln\"; it has plan=look-up|scan"
        );
        assert_eq!(
            refused(&tier::ENGINE, "plan=guess"),
            "the option plan of the engine tier is one of look-up, scan, not \"guess\""
        );
        let twice = Chosen::with(&tier::ENGINE, ["plan=scan", "plan=scan"]);
        assert_eq!(
            twice.expect_err("it is refused").to_string(),
            "the option plan of the engine tier is given twice"
        );
        let chosen = Chosen::with(&tier::ENGINE, ["plan=scan"]).expect("there is such an option");
        assert_eq!(chosen.option("plan"), Some("scan"));
    }
}
