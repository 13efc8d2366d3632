//! Threads that meet, leave and are abandoned.

use loom::sync::Arc;
use loom::thread;

use super::super::clock::Clock;
use super::meeting::{Ending, Shared};
use super::signs::Signs;
use super::slot::{Held, Slot, held};

#[derive(Clone, Debug, PartialEq)]
enum Why {
    Unwanted,
    Silent,
}

impl Ending for Why {
    type Call = ();

    fn unwanted() -> Self {
        Self::Unwanted
    }

    fn silent(_: Option<()>, _: u64) -> Self {
        Self::Silent
    }
}

#[test]
fn threads_that_meet_twice_pass_the_same_two_borders() {
    loom::model(|| {
        let shared = Arc::new(Shared::<Why>::new(Clock, 2));
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.meet() && shared.meet())
        };
        assert!(shared.meet() && shared.meet());
        assert!(other.join().expect("no panic"));
        assert_eq!(shared.marks(1), [(1, 1); 2]);
    });
}

#[test]
fn a_run_that_is_over_leaves_no_thread_waiting() {
    loom::model(|| {
        let shared = Arc::new(Shared::<Why>::new(Clock, 2));
        let waiting = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let is_wanted = shared.meet();
                shared.leave();
                is_wanted
            })
        };
        shared.end(Why::Unwanted);
        shared.end(Why::Silent);
        assert!(!waiting.join().expect("no panic"));
        assert_eq!(shared.ending(), Some(Why::Unwanted));
        assert_eq!(shared.marks(2), [(1, 1); 3]);
    });
}

#[test]
fn a_part_that_was_taken_is_not_touched_again() {
    loom::model(|| {
        let slot: Arc<Slot<u32>> = Arc::new(Slot::new(Some(0)));
        let worker = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || {
                let Some(mut part) = Held::new(&slot) else {
                    return 0;
                };
                *part += 1;
                if part.released(thread::yield_now).is_err() {
                    return 1;
                }
                *part += 1;
                2
            })
        };
        let taken = held(&slot).take();
        let done = worker.join().expect("no panic");
        assert_eq!(
            taken,
            Some(done),
            "work done is all in the part that was taken"
        );
    });
}

#[test]
fn an_abandoned_thread_hears_of_it_and_its_answers_are_counted_once() {
    loom::model(|| {
        let signs = Arc::new(Signs::default());
        let worker = {
            let signs = Arc::clone(&signs);
            thread::spawn(move || {
                let first = signs.answered().is_ok();
                (first, signs.answered().is_ok())
            })
        };
        let before = signs.answer_count();
        signs.leave();
        assert!(before <= signs.answer_count());
        let told = worker.join().expect("no panic");
        assert!(
            told.0 || !told.1,
            "a thread that was left is not called back"
        );
        assert!(signs.answered().is_err());
        assert_eq!(signs.answer_count(), 3);
        signs.has_done_one();
        assert_eq!(signs.done_count(), 1);
    });
}
