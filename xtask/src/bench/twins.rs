//! Which systems are written in two languages, DVE and Promela, as large as is wanted?
//!
//! They are those of `models/` and `models/promela/` of the same names, whose sizes are for tests. For comparison they are larger, so that a run is about searching and not
//! about starting. That both texts mean the same system is checked by whoever runs them: they must have the same number of states.

/// A system in both languages.
pub(super) struct Twin {
    pub(super) name: String,
    pub(super) dve: String,
    pub(super) promela: String,
}

/// The torus in three dimensions: `side`^3 states, six steps from each.
pub(super) fn torus_3d(side: u32) -> Twin {
    let steps: Vec<String> = ["x", "y", "z"]
        .iter()
        .flat_map(|axis| [1, side - 1].map(|step| format!("{axis} = ({axis} + {step}) % {side}")))
        .collect();
    let actions: Vec<String> =
        steps.iter().map(|step| format!("walks -> walks {{ effect {step}; }}")).collect();
    Twin {
        name: format!("torus_3d, side {side}"),
        dve: format!(
            "byte x, y, z;\nprocess Walker {{ state walks; init walks; trans\n{};\n}}\nsystem async;\n",
            actions.join(",\n")
        ),
        promela: format!(
            "byte x, y, z;\nactive proctype Walker() {{\ndo\n:: {}\nod\n}}\n",
            steps.join("\n:: ")
        ),
    }
}

/// Switches that do not know of each other: 2^`switches` states.
pub(super) fn hypercube(switches: u32) -> Twin {
    let processes: String = (0..switches)
        .map(|switch| {
            format!(
                "process P_{switch} {{ state off, on; init off; trans off -> on {{}}, on -> off {{}}; }}\n"
            )
        })
        .collect();
    Twin {
        name: format!("hypercube, {switches} switches"),
        dve: format!("{processes}system async;\n"),
        promela: format!("active [{switches}] proctype Switch() {{\nbit on;\ndo\n:: on = 1 - on\nod\n}}\n"),
    }
}

/// Two-phase commit, whose members may fail and come back.
pub(super) fn two_phase_commit(members: u32) -> Twin {
    let processes: String =
        (0..members).map(|member| format!("process P_{member} {{\n{MEMBER_DVE}}}\n")).collect();
    Twin {
        name: format!("two_phase_commit, {members} members"),
        dve: format!("const byte MEMBERS = {members};\n{COORDINATOR_DVE}{processes}system async;\n"),
        promela: format!("#define MEMBERS {members}\n{COMMIT_PROMELA}"),
    }
}

const COORDINATOR_DVE: &str = "byte yes, no;
process Coordinator {
    state collects, commits, aborts, crashed;
    init collects;
    trans
        collects -> commits { guard yes == MEMBERS; },
        collects -> aborts { guard no > 0; },
        collects -> crashed {};
}
";

const MEMBER_DVE: &str = "    state working, ready, down, committed, aborted;
    init working;
    trans
        working -> ready { guard Coordinator.collects; effect yes = yes + 1; },
        working -> aborted { effect no = no + 1; },
        ready -> down {},
        down -> ready {},
        ready -> committed { guard Coordinator.commits; },
        ready -> aborted { guard Coordinator.aborts; };
";

/// Locations are variables, since one process asks for the location of another.
const COMMIT_PROMELA: &str = "#define collects 0
#define commits 1
#define aborts 2
#define crashed 3
#define working 0
#define ready 1
#define down 2
#define committed 3
#define aborted 4
byte yes, no, coordinator;
active proctype Coordinator() {
    do
    :: d_step { coordinator == collects && yes == MEMBERS -> coordinator = commits }
    :: d_step { coordinator == collects && no > 0 -> coordinator = aborts }
    :: d_step { coordinator == collects -> coordinator = crashed }
    od
}
active [MEMBERS] proctype Member() {
    byte at;
    do
    :: d_step { at == working && coordinator == collects -> at = ready; yes = yes + 1 }
    :: d_step { at == working -> at = aborted; no = no + 1 }
    :: d_step { at == ready -> at = down }
    :: d_step { at == down -> at = ready }
    :: d_step { at == ready && coordinator == commits -> at = committed }
    :: d_step { at == ready && coordinator == aborts -> at = aborted }
    od
}
";
