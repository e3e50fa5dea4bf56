//! Keywords that no rule file has, and what is looked for where they stand.

use crate::govern::sanitize::cue_words::CueClass;
use crate::govern::sanitize::phrases::sentences::SentenceTopic;
use crate::govern::sanitize::vocabulary::vocabulary;

/// What is looked for where a keyword stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTask {
    Rule(usize),
    Named(CueClass),
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
    /// What was made up, behind a word about logging in.
    Behind,
    /// What a sign joins to the name of a user.
    Joined,
    /// What a colon joins to an address of mail.
    Mail,
    /// A password in a sentence of any language, where its words say what it is.
    Sentence(SentenceTopic),
    /// A code that opens something.
    Opens,
}

impl TriggerTask {
    /// What is looked for where words of no rule file stand, with those words.
    pub fn all() -> [(TriggerTask, &'static [String]); 19] {
        let words = &vocabulary().triggers;
        [
            (TriggerTask::Block, &words.blocks),
            (TriggerTask::Address, &words.addresses),
            (TriggerTask::Bearer, &words.bearer),
            (TriggerTask::Basic, &words.basic),
            (TriggerTask::Authorization, &words.authorization),
            (TriggerTask::UserFlag, &words.user_flags),
            (TriggerTask::Pair, &words.pairs),
            (TriggerTask::Login, &words.logins),
            (TriggerTask::Purpose, &words.purposes),
            (TriggerTask::Code, &words.codes),
            (TriggerTask::ToldCode, &words.told_codes),
            (TriggerTask::Pin, &words.pins),
            (TriggerTask::Behind, &words.accounts),
            (TriggerTask::Joined, &words.joined),
            (TriggerTask::Mail, &words.mail),
            (
                TriggerTask::Sentence(SentenceTopic::Password),
                &words.password_sentences,
            ),
            (
                TriggerTask::Sentence(SentenceTopic::Network),
                &words.network_sentences,
            ),
            (
                TriggerTask::Sentence(SentenceTopic::Login),
                &words.login_sentences,
            ),
            (TriggerTask::Opens, &words.opens),
        ]
    }
}
