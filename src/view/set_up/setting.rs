//! `gently.toml`: its keys and their values.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::app::set_up::settings::{ChangedSetting, SettingState};
use crate::config::FILE;
use crate::config::table::Value;

/// A key, and what is in force for it.
#[derive(Clone, Debug, Serialize)]
pub struct SettingView {
    /// Section and name.
    pub key: &'static str,
    /// Value of the key; null when it has none.
    pub value: Option<Value>,
    /// What it is when nothing else says so.
    pub default: Option<Value>,
    /// Where the value is from.
    pub source: &'static str,
    /// What it may hold, in words.
    pub takes: String,
}

impl SettingView {
    /// Of one key.
    pub fn of(state: &SettingState) -> Self {
        SettingView {
            key: state.key.name,
            value: state.value.clone(),
            default: state.key.default_value(),
            source: state.source.name(),
            takes: state.key.kind.describe(),
        }
    }

    /// Of all of them, by key.
    pub fn all(states: &[SettingState]) -> BTreeMap<&'static str, Self> {
        let views = states.iter().map(|state| (state.key.name, Self::of(state)));
        views.collect()
    }
}

/// What stands under a name that a person gave: an alias, a price, a part of a witness.
#[derive(Clone, Debug, Serialize)]
pub struct NamedSettingView {
    /// Section and name.
    pub key: String,
    /// What stands there.
    pub value: Option<String>,
}

impl NamedSettingView {
    /// Of a name and what stands under it.
    pub fn of(key: &str, value: Option<&str>) -> Self {
        NamedSettingView {
            key: key.to_owned(),
            value: value.map(str::to_owned),
        }
    }
}

/// A value that was written, or taken out.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedSettingView {
    /// Section and name.
    pub key: String,
    /// What is in force now, but for the environment.
    pub value: Option<Value>,
    /// Of a key: the variable of the environment that wins over it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overridden_by: Option<Option<String>>,
    /// What is worth a look in it, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

impl ChangedSettingView {
    /// Of a change.
    pub fn of(changed: &ChangedSetting) -> Self {
        ChangedSettingView {
            key: changed.name.clone(),
            value: changed.value.clone(),
            overridden_by: changed.is_key.then(|| changed.overridden_by.clone()),
            notice: changed.notice.clone(),
        }
    }
}

/// Where `gently.toml` is.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigPathView {
    /// Path of `gently.toml`.
    pub path: String,
}

impl ConfigPathView {
    /// Of a home.
    pub fn of(home: &Path) -> Self {
        ConfigPathView {
            path: home.join(FILE).display().to_string(),
        }
    }
}
