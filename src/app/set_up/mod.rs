//! Setting up: the home, its keys, kernel, models, settings and hooks.

pub mod hook;
pub mod init;
pub mod kernel;
pub mod keys;
pub mod model_list;
pub mod provider_key;
pub mod rules_in_force;
pub mod settings;
pub mod specialist;
