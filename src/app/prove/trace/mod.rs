//! Traces for those who may not see the texts: showing, exporting and checking them, and the key that
//! signs them.

pub mod export;
pub mod key;
mod own;
pub mod select;
pub mod show;
pub mod verify;

/// Fewer than this are not worth a thread.
const FEW: usize = 64;

/// What becomes of each, in their order, with as many threads as there are cores.
fn on_all_cores<T: Sync, R: Send>(items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(cores).max(FEW);
    std::thread::scope(|scope| {
        let threads: Vec<_> = items
            .chunks(share)
            .map(|chunk| scope.spawn(|| chunk.iter().map(&each).collect::<Vec<R>>()))
            .collect();
        let done = threads.into_iter().map(|thread| thread.join());
        let done = done.map(|one| one.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        done.flatten().collect()
    })
}
