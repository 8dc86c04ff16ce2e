//! Where does a search live on disk, and what makes the folder ours?
//!
//! | file | question |
//! |---|---|
//! | [`disk_settings`] | where do the files of a search go, and what becomes of them? |
//! | [`identity`] | what is a run on disk about? |
//! | `path_text` | how is a path written into JSON so that it can be read back? |
//! | `card` | what does a search folder say of itself? |
//! | [`search_folder`] | what lies in a search folder, how much of it is ours, and how does that go? |
//! | `leftovers` | what have searches that were killed left behind, and what of it goes? |
//! | [`scratch`] | where do files live that a run needs only while it lasts? |
//! | [`gauge`] | what do the files of a search take now, and when was the last checkpoint? |
//! | [`status`] | what does a search folder tell whoever looks at it from outside? |
//! | [`home`] | where does a run live on disk, and what becomes of it? |

mod card;
pub mod disk_settings;
pub mod gauge;
pub mod home;
pub mod identity;
mod leftovers;
mod path_text;
pub mod scratch;
pub mod search_folder;
pub mod status;
