//! The writer's thread: requests become batches, batches one transaction each, and another thread applies them.

pub(in crate::recorder) mod apply_thread;
pub(in crate::recorder) mod failpoint;
pub(in crate::recorder) mod queue;
pub(in crate::recorder) mod request;
pub(in crate::recorder) mod transaction;
pub(in crate::recorder) mod writer;
