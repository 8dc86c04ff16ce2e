//! Which engines are there? The one list: command line, help, the table of engines, the validation of options and the suites read it.

use super::engine::Engine;
use super::{
    auto, bitstate, ddfs, map_ram, ndfs, owcty, positions, ram, semi_owcty, stern_dill, sweep_ram, tier,
