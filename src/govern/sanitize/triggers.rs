//! Keywords that no rule file has, and what is looked for where they stand.

use super::words::Class;

/// What is looked for where a keyword stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Rule(usize),
    Named(Class),
    Block,
    Address,
    Bearer,
    Basic,
    Authorization,
    UserFlag,
    Pair,
    Login,
    Purpose,
    Code,
    /// A code after a colon: only where the word before says what it opens.
    ToldCode,
    Pin,
}

/// Keywords of no rule file.
pub(super) const TRIGGERS: &[(&str, Action)] = &[
    ("begin ", Action::Block),
    ("://", Action::Address),
    ("bearer", Action::Bearer),
    ("basic", Action::Basic),
    ("authorization", Action::Authorization),
    ("-u", Action::UserFlag),
    ("--user", Action::UserFlag),
    ("log in with", Action::Pair),
    ("login with", Action::Pair),
    ("sign in with", Action::Pair),
    ("login as", Action::Pair),
    ("credentials", Action::Pair),
    ("creds", Action::Pair),
    ("username and password", Action::Pair),
    ("login:", Action::Pair),
    ("log in", Action::Login),
    ("login", Action::Login),
    ("sign in", Action::Login),
    ("authenticate", Action::Login),
    ("ssh", Action::Login),
    ("to log in", Action::Purpose),
    ("to login", Action::Purpose),
    ("to sign in", Action::Purpose),
    ("to authenticate", Action::Purpose),
    ("to unlock", Action::Purpose),
    ("when prompted", Action::Purpose),
    ("code is", Action::Code),
    ("passkey is", Action::Code),
    ("code:", Action::ToldCode),
    ("clave es", Action::Code),
    ("clave:", Action::Code),
    ("zugangsdaten", Action::Pair),
    ("anmeldedaten", Action::Pair),
    ("identifiants", Action::Pair),
    ("credenciales", Action::Pair),
    ("credenziali", Action::Pair),
    ("inloggegevens", Action::Pair),
    ("pin is", Action::Pin),
];
