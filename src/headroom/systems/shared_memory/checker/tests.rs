use std::cell::Cell;

use super::mutant::{Fault, Mutant};
use super::{Found, Limits, chart, check};
use crate::systems::shared_memory::protocol::Protocol;
use crate::systems::shared_memory::protocol::directory::{self, Directory};
use crate::systems::shared_memory::protocol::sci::{self, Sci};
use crate::systems::shared_memory::protocol::uncached::Uncached;

const MOST_STATES: usize = 3_000_000;

fn limits(caches: usize, has_local: bool) -> Limits {
    Limits {
        caches,
        lines: 1,
        entries: None,
        has_local,
        most_states: MOST_STATES,
    }
}

/// Two lines that compete for one entry.
const FILTERED: Limits = Limits {
    caches: 2,
    lines: 2,
    entries: Some(1),
    has_local: false,
    most_states: MOST_STATES,
};

fn assert_sound<P: Protocol>(protocol: &P, limits: &Limits) -> Found<P::Body> {
    let found = check(protocol, limits);
    if let Some(violation) = &found.violation {
        panic!("{}", chart::draw(protocol, limits, violation));
    }
    assert!(found.is_complete, "{} states", found.state_count);
    found
}

fn unused<P: Protocol>(_: &P, found: &Found<P::Body>) -> Vec<&'static str> {
    let pairs = P::RULES.iter().zip(&found.used);
    let never = pairs.filter(|(_, count)| **count == 0);
    never.map(|(rule, _)| *rule).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn sci_is_coherent_with_three_caches_and_the_home_and_uses_each_rule() {
    let found = assert_sound(&Sci::default(), &limits(3, true));
    assert_eq!(unused(&Sci::default(), &found), NONE);
}

#[test]
fn a_directory_is_coherent_with_three_caches_and_the_home_and_uses_each_rule() {
    let found = assert_sound(&Directory::default(), &limits(3, true));
    assert_eq!(unused(&Directory::default(), &found), NONE);
}

#[test]
fn a_directory_is_coherent_with_four_caches() {
    assert_sound(&Directory::default(), &limits(4, false));
}

#[test]
fn a_snoop_filter_with_one_entry_keeps_two_lines_coherent() {
    let found = assert_sound(&Directory::default(), &FILTERED);
    let wide = Limits {
        entries: None,
        ..FILTERED
    };
    assert_ne!(
        found.state_count,
        assert_sound(&Directory::default(), &wide).state_count
    );
}

#[test]
fn memory_without_caches_is_coherent_and_uses_each_rule() {
    let found = assert_sound(&Uncached, &limits(3, true));
    assert_eq!(unused(&Uncached, &found), NONE);
}

#[test]
fn a_single_processor_without_a_cache_has_five_states() {
    let found = assert_sound(&Uncached, &limits(1, false));
    // Idle; read asked, answered; write asked, answered. A write finds or leaves the newest value.
    assert_eq!(found.state_count, 5);
}

/// Returns the conditions that can be left out without a violation.
fn needless<P: Protocol, G: Copy>(
    all: &[(G, &'static str)],
    without: impl Fn(G) -> P,
) -> Vec<&'static str> {
    let is_sound = |guard: G| {
        let protocol = without(guard);
        // The smaller searches find nearly all.
        let sizes = [limits(3, false), limits(3, true), limits(4, false)];
        sizes
            .iter()
            .all(|size| check(&protocol, size).violation.is_none())
    };
    let sound = all.iter().filter(|(guard, _)| is_sound(*guard));
    sound.map(|(_, sentence)| *sentence).collect()
}

#[test]
fn each_condition_of_sci_is_needed() {
    let needless = needless(sci::Guard::ALL, |guard| Sci {
        without: Some(guard),
    });
    assert_eq!(needless, NONE);
}

#[test]
fn each_condition_of_the_directory_is_needed() {
    let needless = needless(directory::Guard::ALL, |guard| Directory {
        without: Some(guard),
    });
    assert_eq!(needless, NONE);
}

/// Returns the rules whose fault makes a difference that is not found, and how many are found.
fn missed<P: Protocol + Clone>(inner: &P, fault: Fault) -> (Vec<&'static str>, usize) {
    let mut missed = Vec::new();
    let mut found = 0;
    for (rule, sentence) in P::RULES.iter().enumerate() {
        let mutant = Mutant {
            inner: inner.clone(),
            rule: u8::try_from(rule).expect("fewer than 255 rules"),
            fault,
            differs: Cell::new(false),
        };
        let is_found = check(&mutant, &limits(2, true)).violation.is_some()
            || check(&mutant, &limits(3, false)).violation.is_some();
        if is_found {
            found += 1;
        } else if mutant.differs.get() {
            missed.push(*sentence);
        }
    }
    (missed, found)
}

#[test]
fn a_message_that_is_not_sent_is_found_in_each_rule() {
    let (missed_of_sci, found) = missed(&Sci::default(), Fault::Silent);
    assert_eq!(missed_of_sci, NONE);
    assert!(found >= 20, "{found}");
    let (missed_of_directory, found) = missed(&Directory::default(), Fault::Silent);
    assert_eq!(missed_of_directory, NONE);
    assert!(found >= 20, "{found}");
}

#[test]
fn a_state_that_is_not_changed_is_found_in_each_rule() {
    let (missed_of_sci, found) = missed(&Sci::default(), Fault::Forgetful);
    assert_eq!(missed_of_sci, NONE);
    assert!(found >= 20, "{found}");
    let (missed_of_directory, found) = missed(&Directory::default(), Fault::Forgetful);
    // A cache may keep a clean copy.
    assert_eq!(missed_of_directory, ["a clean copy is dropped"]);
    assert!(found >= 20, "{found}");
}

#[test]
fn a_violation_is_drawn_with_its_shortest_path() {
    let protocol = Directory {
        without: Some(directory::Guard::InvalidateSharers),
    };
    let limits = limits(2, false);
    let violation = check(&protocol, &limits).violation.expect("a fault");
    let text = chart::draw(&protocol, &limits, &violation);
    assert!(
        text.lines()
            .next()
            .is_some_and(|head| head.contains("cache 1"))
    );
    assert!(text.trim_end().ends_with(&violation.sentence));
    assert_eq!(
        text.matches('▶').count() + text.matches('◀').count(),
        violation
            .path
            .iter()
            .filter(|event| matches!(event, super::Event::Deliver { .. }))
            .count()
    );
}
