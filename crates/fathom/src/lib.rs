//! fathom, a model checker for systems whose state space is larger than memory: the library facade.
//!
//! What the commands do, a Rust user can do: read a [`assemble::Model`], [`explore::explore`] or [`check::check`] it, and report.
//!
//! | file | question |
//! |---|---|
//! | [`arguments`] | what did the user type? |
//! | [`user_file`] | what is in a file that a user names? |
//! | `path_text` | how is a path written into JSON so that it can be read back? |
//! | [`settings`] | what is a command asked to do? |
//! | [`resources`] | what may a search use, and when does it give up? |
//! | [`disk_settings`] | where do the files of a search go, and what becomes of them? |
//! | [`limit`] | why does a search end before it is complete? |
//! | [`error`] | why could a search not be made? |
//! | [`numbers`] | how is a number of things written? |
//! | [`command`] | what does each command do? |
//! | [`assemble`] | where is a source turned into a program, and a program into a system? |
//! | [`system`] | which forms does the system of a model have? |
//! | `reading` | does reading a model keep within the memory of the run? |
//! | [`execution`] | how does a model make its steps, and how much memory may it take to get there? |
//! | [`layer_engine`] | which engine searches breadth-first, and what is left of its search? |
//! | [`identity`] | what is a run on disk about? |
//! | [`home`] | where does a run live on disk, and what becomes of it? |
//! | `card` | what does a search folder say of itself? |
//! | [`search_folder`] | what lies in a search folder, how much of it is ours, and how does that go? |
//! | `leftovers` | what have searches that were killed left behind, and what of it goes? |
//! | [`figures`] | what did the files of a search take, and where did its time go? |
//! | [`exploration`] | what does a search find out, in numbers? |
//! | [`explore`] | what does one exploration find out? |
//! | [`property`] | what is a property of a model? |
//! | [`plan`] | what is asked about a model, and how does a search ask it? |
//! | [`liveness_property`] | what is asked about infinite runs? |
//! | [`behaviour_audit`] | does a certificate prove that a property of infinite runs holds? |
//! | [`check`] | does a model do what it should? |
//! | [`liveness`] | do the infinite runs of a model do what they should? |
//! | [`liveness_task`] | what is a search for an accepting run asked, and what does it find out? |
//! | [`liveness_search`] | which engine looks for an accepting run, and how? |
//! | `counted` | how does an engine that knows accepting states alone search a product with several marks? |
//! | `nested` | how is an accepting run looked for on the fly, depth-first? |
//! | [`possibility`] | can a model always still reach what it should? |
//! | [`hunt`] | can a violation be found without looking everywhere? |
//! | [`scratch`] | where do files live that a run needs only while it lasts? |
//! | [`simulate`] | where can a model go from here? |
//! | [`trace`] | what are the words for a run? |
//! | [`coverage`] | what does the model say that never happens? |
//! | [`monitor`] | who watches a search from outside? |
//! | [`observer`] | who watches the search of a command? |
//! | [`progress`] | how is a user told how far a run is? |
//! | [`interrupt`] | has somebody asked the run to stop? |
//! | [`session`] | who ends a command that does not end by itself? |
//! | [`assumption`] | what does a verdict take for granted? |
//! | [`machine`] | how much memory is there, and how much was taken? |
//! | [`export`] | how is a state space written for other programs? |
//! | [`report`] | how is the result of a run told? |

pub mod arguments;
pub mod assemble;
pub mod assumption;
pub mod behaviour_audit;
mod card;
pub mod check;
pub mod command;
mod counted;
pub mod coverage;
pub mod disk_settings;
pub mod error;
pub mod execution;
pub mod exploration;
pub mod explore;
pub mod export;
pub mod figures;
pub mod home;
pub mod hunt;
pub mod identity;
pub mod interrupt;
pub mod layer_engine;
mod leftovers;
pub mod limit;
pub mod liveness;
pub mod liveness_property;
pub mod liveness_search;
pub mod liveness_task;
pub mod machine;
pub mod monitor;
mod nested;
pub mod numbers;
pub mod observer;
mod path_text;
pub mod plan;
pub mod possibility;
pub mod progress;
pub mod property;
mod reading;
pub mod report;
pub mod resources;
pub mod scratch;
pub mod search_folder;
mod semi_external;
pub mod session;
pub mod settings;
pub mod simulate;
pub mod system;
pub mod trace;
pub mod user_file;
mod while_generating;
pub mod widths;
