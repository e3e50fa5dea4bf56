//! Traces for those who may not see the texts: showing, exporting and checking them, and the key that
//! signs them.

pub mod consent_cover;
pub mod export;
mod home_record;
pub mod key;
mod proof;
pub mod select;
pub mod show;
pub mod verify;

/// Fewer than this are not worth a thread.
const FEW: usize = 64;

/// What becomes of each share of them, in their order, with a thread for each core.
fn shared_out<T: Sync, R: Send>(items: &[T], run: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(cores).max(FEW);
    std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = items
            .chunks(share)
            .map(|share| scope.spawn(move || run(share)))
            .collect();
        let done = threads.into_iter().map(|thread| thread.join());
        done.map(|one| one.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// What becomes of each, in their order.
fn on_all_cores<T: Sync, R: Send>(items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let shares = shared_out(items, |share| share.iter().map(&each).collect::<Vec<R>>());
    shares.into_iter().flatten().collect()
}
