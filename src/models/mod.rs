//! Who answers.

pub mod observer;
pub mod openai;
