//! What is the answer to a question about a model?
//!
//! | file | question |
//! |---|---|
//! | [`exploration`] | what does a search find out, in numbers? |
//! | [`coverage`] | what does the model say that never happens? |
//! | [`explore`] | what does one exploration find out? |
//! | [`check`] | does a model do what it should? |
//! | [`liveness`] | do the infinite runs of a model do what they should? |
//! | [`possibility`] | can a model always still reach what it should? |
//! | [`hunt`] | can a violation be found without looking everywhere? |
//! | [`audit`] | does a certificate prove what a search said about states? |
//! | [`behaviour_audit`] | does a certificate prove that a property of infinite runs holds? |
//! | [`progress_report`] | what would a search in the order of progress meet? |
//! | [`capacity`] | how large a state space could be searched here? |
//! | [`widths`] | how many bits does each variable take, and how many does it need? |

pub mod audit;
pub mod behaviour_audit;
pub mod capacity;
pub mod check;
pub mod coverage;
pub mod exploration;
pub mod explore;
pub mod hunt;
pub mod liveness;
pub mod possibility;
pub mod progress_report;
pub mod widths;
