//! Independent jobs on as many threads as processors.

use std::sync::Mutex;
use std::thread;

/// As many lanes as this machine has processors.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Does the jobs, so many at a time; each lane takes the next one, so that none waits for a long
/// one. The results are in the order of the jobs.
pub fn each<T: Send, R: Send>(
    lanes: usize,
    jobs: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let jobs: Vec<T> = jobs.into_iter().collect();
    let lanes = lanes.clamp(1, jobs.len().max(1));
    let jobs = Mutex::new(jobs.into_iter().enumerate());
    // A lane that panics does so within its work, not here.
    let take = || jobs.lock().ok().and_then(|mut jobs| jobs.next());
    let lane = || {
        let mut done = Vec::new();
        while let Some((number, job)) = take() {
            done.push((number, work(job)));
        }
        done
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let started: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        let ended = started.into_iter().map(thread::ScopedJoinHandle::join);
        ended
            .flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        for lanes in [0, 1, 3, 100] {
            let doubled = each(lanes, 0..50, |number| number * 2);
            assert!(doubled.into_iter().eq((0..100).step_by(2)), "{lanes}");
        }
        assert!(each(2, Vec::<u8>::new(), |job| job).is_empty());
    }

    #[test]
    fn a_long_job_holds_no_other_up() {
        // The first ends only when the last has begun.
        let both = Barrier::new(2);
        each(2, 0..10, |number| {
            if number == 0 || number == 9 {
                both.wait();
            }
        });
    }
}
