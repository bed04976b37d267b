//! Work on several threads whose results are taken in order, so that what becomes of them does not
//! depend on how many threads there were, nor on which was faster.
//!
//! Invariants:
//! - `take` gets the results in order, up to the first error, which is the one that is returned.
//! - At most [`AHEAD`] results wait to be taken, and few more than [`WEIGHT`] bytes of them.
//! - If a thread cannot be made, there are fewer; without any, all is done here.

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The most results that wait for one before them.
const AHEAD: usize = 512;
/// When so many bytes of results wait, only the one that is wanted next is made.
const WEIGHT: usize = 64 << 20;
/// Bytes of a thread's stack: that of a main thread on Linux.
const STACK: usize = 8 << 20;

/// What the threads share.
struct Queue<T> {
    state: Mutex<State<T>>,
    /// Something was made, or a thread has ended.
    made: Condvar,
    /// Something was taken.
    taken: Condvar,
}

struct State<T> {
    /// The next one to be made.
    next: usize,
    /// The next one to be taken.
    wanted: usize,
    waiting: BTreeMap<usize, Result<T>>,
    /// The bytes of those that wait.
    weight: usize,
    /// Threads that make more.
    threads: usize,
    /// Nothing more is wanted.
    over: bool,
}

impl<T> State<T> {
    /// Whether the next one is to be made only when others have been taken.
    fn is_full(&self) -> bool {
        let ahead = self.next - self.wanted;
        ahead >= AHEAD || (ahead > 0 && self.weight > WEIGHT)
    }
}

impl<T> Queue<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of what a thread is to make.
    fn next(&self, count: usize) -> Option<usize> {
        let mut state = self.lock();
        while !state.over && state.next < count && state.is_full() {
            state = self.wait(&self.taken, state);
        }
        if state.over || state.next >= count {
            return None;
        }
        state.next += 1;
        Some(state.next - 1)
    }

    fn put(&self, number: usize, result: Result<T>, weight: usize) {
        let mut state = self.lock();
        state.weight += weight;
        state.waiting.insert(number, result);
        if number == state.wanted {
            self.made.notify_one();
        }
    }

    /// The next one in order; `None` if every thread has ended without it.
    fn take(&self, weigh: impl Fn(&Result<T>) -> usize) -> Option<Result<T>> {
        let mut state = self.lock();
        loop {
            let wanted = state.wanted;
            if let Some(result) = state.waiting.remove(&wanted) {
                state.wanted += 1;
                state.weight -= weigh(&result);
                self.taken.notify_all();
                return Some(result);
            }
            if state.threads == 0 {
                return None;
            }
            state = self.wait(&self.made, state);
        }
    }

    fn wait<'g>(
        &self,
        until: &Condvar,
        state: MutexGuard<'g, State<T>>,
    ) -> MutexGuard<'g, State<T>> {
        until.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a thread while it is there, also if it panics.
struct Present<'q, T>(&'q Queue<T>);

impl<T> Drop for Present<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.threads -= 1;
        // What it was to make never comes: the others need not go on.
        state.over |= thread::panicking();
        drop(state);
        self.0.taken.notify_all();
        self.0.made.notify_one();
    }
}

/// Lets the threads end, also if what takes the results panics.
struct Stopping<'q, T>(&'q Queue<T>);

impl<T> Drop for Stopping<'_, T> {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.taken.notify_all();
    }
}

/// Makes `count` things, each by `make` with a state of its thread, and gives them to `take`; `weigh`
/// tells how many bytes one has, about.
pub(crate) fn in_order<S, T: Send>(
    threads: usize,
    count: usize,
    state: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, usize) -> Result<T> + Sync,
    weigh: impl Fn(&T) -> usize + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let queue = Queue {
        state: Mutex::new(State {
            next: 0,
            wanted: 0,
            waiting: BTreeMap::new(),
            weight: 0,
            threads: 0,
            over: false,
        }),
        made: Condvar::new(),
        taken: Condvar::new(),
    };
    let weigh = |result: &Result<T>| result.as_ref().map_or(0, &weigh);
    let work = || {
        let _present = Present(&queue);
        let mut state = state();
        while let Some(number) = queue.next(count) {
            let made = make(&mut state, number);
            let weight = weigh(&made);
            queue.put(number, made, weight);
        }
    };
    thread::scope(|scope| {
        let _stopping = Stopping(&queue);
        let mut made = 0;
        while threads > 1 && made < threads.min(count) {
            queue.lock().threads += 1;
            let thread = thread::Builder::new().stack_size(STACK);
            if thread.spawn_scoped(scope, work).is_err() {
                queue.lock().threads -= 1;
                break;
            }
            made += 1;
        }
        let mut here = (made == 0).then(&state);
        (0..count).try_for_each(|number| {
            let result = match &mut here {
                Some(state) => Some(make(state, number)),
                None => queue.take(weigh),
            };
            take(result.ok_or_else(|| Error::internal("a thread has ended"))??)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// The results of `count` things, of which those in `wrong` are errors.
    fn results(threads: usize, count: usize, wrong: &[usize]) -> (Vec<usize>, Option<String>) {
        let mut taken = Vec::new();
        let made = AtomicUsize::new(0);
        let make = |state: &mut usize, number| {
            *state += 1;
            made.fetch_add(1, Ordering::Relaxed);
            // The first ones take longest.
            if number % 100 == 0 {
                thread::sleep(Duration::from_millis(2));
            }
            match wrong.contains(&number) {
                true => Err(Error::internal(format!("number {number}"))),
                false => Ok(number * 3),
            }
        };
        let done = in_order(
            threads,
            count,
            || 0,
            make,
            |_| 1,
            |result| {
                taken.push(result);
                // None is made so far ahead that results pile up.
                let ahead = made.load(Ordering::Relaxed).saturating_sub(taken.len());
                assert!(ahead <= AHEAD + threads, "{ahead} ahead");
                Ok(())
            },
        );
        (taken, done.err().map(|e| e.to_string()))
    }

    #[test]
    fn results_come_in_order_whatever_the_number_of_threads() {
        for threads in [0, 1, 2, 3, 8] {
            for count in [0, 1, 2, 5, 3000] {
                let (taken, error) = results(threads, count, &[]);
                let expected: Vec<usize> = (0..count).map(|n| n * 3).collect();
                assert!(taken == expected && error.is_none(), "{threads}, {count}");
            }
        }
    }

    #[test]
    fn the_first_error_in_order_is_the_one() {
        for threads in [1, 2, 4] {
            let (taken, error) = results(threads, 2000, &[1500, 700, 701, 1999]);
            assert_eq!(taken.len(), 700);
            assert!(error.unwrap().contains("number 700"));
        }
    }

    #[test]
    fn what_takes_results_may_refuse_them() {
        let mut taken = 0;
        let done = in_order(
            3,
            100_000,
            || (),
            |(), number| Ok(number),
            |_| 1,
            |_| {
                taken += 1;
                match taken {
                    10 => Err(Error::internal("enough")),
                    _ => Ok(()),
                }
            },
        );
        assert!(done.is_err() && taken == 10);
    }

    /// A panic is a fault of the compiler's, and nobody waits for ever because of one: neither those
    /// that are far ahead of what never comes, nor those whose results nobody takes any more.
    #[test]
    fn a_panic_ends_it() {
        for (made, taken) in [(50, usize::MAX), (usize::MAX, 50)] {
            let ended = std::panic::catch_unwind(|| {
                in_order(
                    3,
                    5000,
                    || (),
                    |(), number| match number == made {
                        true => panic!("a test's panic"),
                        false => Ok(number),
                    },
                    |_| 1,
                    |number| match number == taken {
                        true => panic!("another of a test"),
                        false => Ok(()),
                    },
                )
            });
            assert!(ended.is_err());
        }
    }

    #[test]
    fn few_large_results_wait() {
        let waiting = AtomicUsize::new(0);
        let done = in_order(
            4,
            200,
            || (),
            |(), number| {
                // All others come while the first one is made.
                if number == 0 {
                    thread::sleep(Duration::from_millis(50));
                }
                waiting.fetch_add(1, Ordering::Relaxed);
                Ok(number)
            },
            |_| WEIGHT / 4,
            |_| {
                let before = waiting.fetch_sub(1, Ordering::Relaxed);
                // Those of the weight, one more, and what each thread was making.
                assert!(before <= 4 + 1 + 4 + 1, "{before} wait");
                Ok(())
            },
        );
        assert!(done.is_ok());
    }
}
