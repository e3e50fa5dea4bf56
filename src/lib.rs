//! gently: every exchange with a model is governed, and leaves evidence that outsiders verify.
//!
//! The floors, in order; a module imports only from floors below it (`docs/architecture.md`): 0
//! [`record`], [`os`], [`net`] · 1 [`govern`], [`continuity`] · 2 [`anchor`], [`sight`], [`keys`],
//! [`log`], [`ledger`], [`store`], [`config`], [`import`] · 3 [`recorder`], [`verify`] · 4 [`models`], [`audit`] ·
//! 5 [`home`], [`session`], [`ask`], [`backup`], [`stamp`], [`witness`] · 6 [`app`] · 7 [`view`] ·
//! 8 [`cli`].

pub mod net;
pub mod os;
pub mod record;

pub mod continuity;
pub mod govern;

pub mod anchor;
pub mod config;
pub mod import;
pub mod keys;
pub mod ledger;
pub mod log;
pub mod sight;
pub mod store;

pub mod recorder;
pub mod verify;

pub mod audit;
pub mod models;

pub mod ask;
pub mod backup;
pub mod home;
pub mod session;
pub mod stamp;
pub mod witness;

pub mod app;
pub mod view;

pub mod cli;
