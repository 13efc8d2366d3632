//! Lines that two processors write in turn.

use loom::sync::Arc;
use loom::sync::atomic::Ordering;
use loom::thread;

use super::lines::{Alone, have, write};

#[test]
fn whoever_sees_the_last_line_sees_the_others() {
    loom::model(|| {
        let words: Arc<Vec<Alone>> = Arc::new((0..3).map(|_| Alone::default()).collect());
        let other = {
            let words = Arc::clone(&words);
            thread::spawn(move || {
                while words[2].0.load(Ordering::Acquire) != 1 {
                    thread::yield_now();
                }
                assert!(have(&words, 1));
                write(&words, 2);
            })
        };
        write(&words, 1);
        while !have(&words, 2) {
            thread::yield_now();
        }
        other.join().expect("no panic");
    });
}
