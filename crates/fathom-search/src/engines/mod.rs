//! The engines: each adds a policy to a body and says its paper at the top.

pub mod astar;
pub mod auto;
pub mod bitstate;
pub mod ddfs;
pub mod engine;
pub mod ioemc;
pub mod l2s;
pub mod layered;
pub mod map;
pub mod map_ram;
pub mod ndfs;
pub mod owcty;
pub mod partition;
pub mod positions;
pub mod ram;
pub mod registry;
pub mod retrace;
pub mod semi_owcty;
pub mod stern_dill;
pub mod sweep;
pub mod sweep_ltl;
pub mod sweep_ram;
pub mod tier;
