//! Tests of the reader and the merge on traces that are written here.

use proptest::prelude::*;

use super::events::{Access, Event, Events, Kind};
use super::format::{
    ADDRESS_BITS, CHUNK_END, CHUNK_MAGIC, CHUNK_MAPS, CHUNK_WORDS, CODE_SHIFT, EVENT_ACQUIRED,
    EVENT_BEGUN, EVENT_BEGUN as ACQUIRE, EVENT_CODE, EVENT_ENDED, EVENT_READ_RANGE,
    EVENT_REGION_BEGUN as RELEASE, EVENT_RELEASED, EVENT_SITE, EVENT_STARTED, MOST_WORDS,
    SITE_BIAS, SIZES, TRACE_BYTE_ORDER, TRACE_MAGIC, TRACE_VERSION,
};
use super::totals::Totals;
use super::{Pace, Report, TraceError, merge, read};

/// Writes traces as the runtime does.
#[derive(Clone, Default)]
struct Writer {
    bytes: Vec<u8>,
    chunks: u64,
    sequences: std::collections::BTreeMap<u32, u64>,
}

impl Writer {
    fn new() -> Self {
        let mut writer = Self::default();
        writer.bytes.extend(TRACE_MAGIC);
        writer.bytes.extend(TRACE_VERSION.to_le_bytes());
        writer.bytes.extend(TRACE_BYTE_ORDER.to_le_bytes());
        writer
    }

    fn raw(&mut self, kind: u32, thread: u32, sequence: u64, words: &[u64]) {
        let count = u32::try_from(words.len()).expect("few");
        for half in [CHUNK_MAGIC, kind, thread, count] {
            self.bytes.extend(half.to_le_bytes());
        }
        for word in [sequence, 0].iter().chain(words) {
            self.bytes.extend(word.to_le_bytes());
        }
        self.chunks += 1;
    }

    fn chunk(&mut self, thread: u32, words: &[u64]) {
        let sequence = self.sequences.entry(thread).or_default();
        *sequence += 1;
        let sequence = *sequence - 1;
        self.raw(CHUNK_WORDS, thread, sequence, words);
    }

    fn end(mut self, stamps: u64) -> Vec<u8> {
        self.raw(CHUNK_MAPS, 0, 0, &[u64::from_le_bytes(*b"00400000")]);
        let chunks = self.chunks;
        self.raw(
            CHUNK_END,
            0,
            0,
            &[self.sequences.len() as u64, stamps, chunks, 0, 0, 0, 0, 0],
        );
        self.bytes
    }
}

fn access(kind: Kind, log2_bytes: u64, step: u64, address: u64) -> u64 {
    let step = SITE_BIAS.wrapping_add(step) << ADDRESS_BITS;
    (SIZES * kind as u64 + log2_bytes) << CODE_SHIFT | step | address
}

fn event(kind: u64, payload: u64) -> u64 {
    EVENT_CODE << CODE_SHIFT | kind << ADDRESS_BITS | payload
}

/// A read of 8 bytes with the site of the one before.
fn reads(address: u64) -> u64 {
    access(Kind::Read, 3, 0, address)
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Log(Vec<(u32, Result<Access, Event>)>);

impl Events for Log {
    fn access(&mut self, thread: u32, access: Access) {
        self.0.push((thread, Ok(access)));
    }

    fn event(&mut self, thread: u32, event: Event) {
        self.0.push((thread, Err(event)));
    }
}

impl Log {
    fn addresses(&self) -> Vec<(u32, u64)> {
        let accesses = self
            .0
            .iter()
            .filter_map(|(thread, what)| Some((*thread, what.as_ref().ok()?)));
        accesses
            .map(|(thread, access)| (thread, access.address))
            .collect()
    }
}

fn logged(trace: &[u8]) -> Result<(Log, Report), TraceError> {
    let mut log = Log::default();
    let report = read(trace, &mut log)?;
    Ok((log, report))
}

fn merged(trace: &[u8], pace: Pace) -> Result<(Log, Report), TraceError> {
    let mut log = Log::default();
    let report = merge(trace, pace, &mut log)?;
    Ok((log, report))
}

fn turns(turn_accesses: usize) -> Pace {
    Pace {
        turn_accesses,
        ..Pace::default()
    }
}

/// Two threads: the first makes the second, and both use a lock.
fn sample() -> Vec<u8> {
    let mut writer = Writer::new();
    writer.chunk(0, &[event(EVENT_BEGUN, 0), event(EVENT_STARTED, 0), 1]);
    writer.chunk(
        1,
        &[
            event(EVENT_BEGUN, 1),
            event(EVENT_ACQUIRED, 2),
            0x900,
            event(EVENT_SITE, 0x5000),
            access(Kind::Write, 2, 0, 0x1000),
            event(EVENT_RELEASED, 2),
            0x900,
            event(EVENT_ENDED, 3),
        ],
    ); // the lock is acquired after its release by thread 0
    writer.chunk(
        0,
        &[
            event(EVENT_ACQUIRED, 1),
            0x900,
            event(EVENT_SITE, 0x4000),
            reads(0x1000),
            event(EVENT_RELEASED, 1),
            0x900,
            event(EVENT_READ_RANGE, 100),
            0x2000,
            0x4010,
        ],
    );
    writer.end(4)
}

#[test]
fn events_of_a_chunk_come_in_its_order_and_those_of_a_merge_in_that_of_the_stamps() {
    let (log, report) = logged(&sample()).expect("sound");
    assert_eq!(log.addresses(), [(1, 0x1000), (0, 0x1000), (0, 0x2000)]);
    assert_eq!((report.threads, report.missing.as_str()), (2, ""));
    assert_eq!(report.maps, "00400000");
    let (log, report) = merged(&sample(), Pace::default()).expect("sound");
    assert_eq!(log.addresses(), [(0, 0x1000), (0, 0x2000), (1, 0x1000)]);
    assert_eq!((report.lost_stamps, report.missing.as_str()), (0, ""));
    let range = Access {
        address: 0x2000,
        bytes: 100,
        kind: Kind::Read,
        site: 0x4010,
    };
    assert!(log.0.contains(&(0, Ok(range))));
}

#[test]
fn threads_without_synchronisation_take_turns() {
    let mut writer = Writer::new();
    writer.chunk(0, &[event(EVENT_STARTED, 0), 1]);
    for thread in [0, 1] {
        let words: Vec<_> = (0..40).map(reads).collect();
        writer.chunk(thread, &words);
    }
    let (log, _) = merged(&writer.end(1), turns(10)).expect("sound");
    let threads: Vec<_> = log
        .addresses()
        .chunks(10)
        .map(|part| (part[0].0, part[9]))
        .collect();
    let expected = (0..8).map(|turn| (turn % 2, (turn % 2, u64::from(turn / 2 * 10 + 9))));
    assert_eq!(threads, expected.collect::<Vec<_>>());
}

#[test]
fn a_stamp_that_never_comes_stops_nothing_for_ever() {
    let mut writer = Writer::new();
    writer.chunk(0, &[event(ACQUIRE, 7), reads(1)]);
    writer.chunk(1, &[event(RELEASE, 6), reads(2)]);
    for _ in 0..100 {
        writer.chunk(2, &[event(ACQUIRE, 7), reads(3)]);
    }
    let trace = writer.end(7);
    let (log, report) = merged(
        &trace,
        Pace {
            turn_accesses: 1,
            most_words: 50,
            ..Pace::default()
        },
    )
    .expect("sound");
    assert_eq!(report.lost_stamps, 6);
    assert_eq!(log.addresses().len(), 102);
    assert_eq!(
        log.addresses()[0],
        (1, 2),
        "stamp 6 comes before what waits for it"
    );
}

#[test]
fn a_cut_trace_gives_what_needs_nothing_that_is_missing() {
    let mut writer = Writer::new();
    writer.chunk(0, &[event(EVENT_BEGUN, 0), reads(1)]);
    writer.chunk(
        1,
        &[event(EVENT_BEGUN, 0), reads(2), event(ACQUIRE, 1), reads(3)],
    );
    let (log, report) = merged(&writer.bytes, Pace::default()).expect("a cut is allowed");
    assert_eq!(log.addresses(), [(0, 1), (1, 2)]);
    assert!(
        report.missing.contains("threads 0, 1 are missing"),
        "{}",
        report.missing
    );
    assert!(
        report.missing.contains("2 words that need missing events"),
        "{}",
        report.missing
    );
}

#[test]
fn wherever_a_trace_is_cut_the_rest_is_read_and_the_loss_is_reported() {
    let trace = sample();
    let (whole, _) = logged(&trace).expect("sound");
    assert_eq!(logged(&[]), Err(TraceError::Empty));
    for length in 16..trace.len() {
        let (log, report) = logged(&trace[..length]).expect("a cut is allowed");
        assert_eq!(log.0, whole.0[..log.0.len()]);
        assert!(
            report.missing.contains(&format!("byte {length}")),
            "{}",
            report.missing
        );
        assert!(merged(&trace[..length], Pace::default()).is_ok());
    }
    let last_words = &logged(&trace[..trace.len() - 1]).expect("cut").1.missing;
    assert!(
        last_words.contains("events of thread 0 are missing"),
        "{last_words}"
    );
}

/// The offset and a word of each message.
#[test]
fn each_fault_is_named_with_its_place() {
    let sound = || {
        let mut writer = Writer::new();
        writer.chunk(0, &[reads(1)]);
        writer
    };
    let refused = |trace: &[u8], place: u64, reason: &str| {
        for error in [logged(trace).err(), merged(trace, Pace::default()).err()] {
            let text = error.expect("a fault").to_string();
            assert!(
                text.starts_with(&format!("byte {place} of the trace: ")),
                "{text}"
            );
            assert!(text.contains(reason), "{text}");
        }
    };
    refused(b"#!/bin/sh\nexit", 0, "not a trace");
    let mut trace = sound().end(0);
    trace[8] = 1;
    refused(
        &trace,
        8,
        "version 1, but this reads 2: link the program again",
    );
    trace[8..16].copy_from_slice(&[0, 0, 0, 1, 1, 2, 3, 4]);
    refused(&trace, 12, "big-endian");
    let mut trace = sound().end(0);
    trace[16] ^= 1;
    refused(&trace, 16, "instead of");
    let mut writer = sound();
    writer.raw(9, 0, 1, &[1]);
    refused(&writer.end(0), 16 + 40 + 4, "kind 9");
    let mut writer = sound();
    writer.raw(CHUNK_WORDS, 0, 2, &[reads(1)]);
    refused(
        &writer.end(0),
        16 + 40 + 16,
        "chunk 2 of thread 0 comes where chunk 1",
    );
    let mut writer = sound();
    writer.chunk(1, &vec![reads(1); MOST_WORDS as usize + 1]);
    refused(&writer.end(0), 16 + 40 + 12, "8193 words");
    let mut writer = sound();
    writer.chunk(1, &[reads(1), event(EVENT_ACQUIRED, 0)]);
    refused(&writer.end(0), 16 + 40 + 32 + 8, "its chunk ends");
    let mut writer = sound();
    writer.chunk(1, &[event(77, 0)]);
    refused(&writer.end(0), 16 + 40 + 32, "unknown kind 77");
    let mut writer = sound();
    writer.chunk(1, &[27 << CODE_SHIFT]);
    refused(
        &writer.end(0),
        16 + 40 + 32,
        "neither an access nor an event",
    );
    let mut writer = sound();
    writer.chunk(1, &[event(EVENT_ACQUIRED, 0), 1 << 50]);
    refused(&writer.end(0), 16 + 40 + 32, "more than 48 bits");
    let mut writer = sound();
    writer.chunk(1, &[event(RELEASE, 0), event(RELEASE, 0)]);
    refused(&writer.end(0), 16 + 40 + 32 + 8, "stamp 0");
    let mut writer = sound();
    writer.chunks += 1;
    refused(
        &writer.end(0),
        16 + 40 + 40 + 32 + 16,
        "should have 3 chunks",
    );
    let mut trace = sound().end(0);
    trace.push(0);
    refused(&trace, trace.len() as u64 - 1, "continues");
}

fn any_access() -> impl Strategy<Value = (usize, u64, u64, u64)> {
    // Sites both near the one before and far away.
    let site = prop_oneof![0x40_0000_u64..0x40_0100, 0_u64..1 << ADDRESS_BITS];
    (0..Kind::ALL.len(), 0..SIZES, 0_u64..1 << ADDRESS_BITS, site)
}

/// Return the words of accesses, coded as the runtime does.
fn coded(accesses: &[(usize, u64, u64, u64)]) -> Vec<u64> {
    let (mut words, mut last) = (Vec::new(), 0_u64);
    for &(kind, log2_bytes, address, site) in accesses {
        let mut step = site.wrapping_sub(last).wrapping_add(SITE_BIAS);
        if step >= 2 * SITE_BIAS {
            words.push(event(EVENT_SITE, site));
            step = SITE_BIAS;
        }
        last = site;
        words.push(access(
            Kind::ALL[kind],
            log2_bytes,
            step.wrapping_sub(SITE_BIAS),
            address,
        ));
    }
    words
}

/// A step of a program: a thread does an access, or gives or takes something.
#[derive(Clone, Copy, Debug)]
enum Act {
    Access,
    Release,
    Acquire,
}

/// Return the words of each thread; each access has an address that names it.
fn executed(acts: &[(u32, Act)]) -> (Vec<Vec<u64>>, u64) {
    let (mut words, mut stamps) = (vec![Vec::new(); 4], 0);
    for (number, &(thread, act)) in acts.iter().enumerate() {
        words[thread as usize].push(match act {
            Act::Access => reads(number as u64),
            Act::Release => {
                stamps += 1;
                event(RELEASE, stamps - 1)
            }
            Act::Acquire => event(ACQUIRE, stamps),
        });
    }
    (words, stamps)
}

/// Cut the words of each thread into chunks, and write these in any order of the threads.
fn written(words: &[Vec<u64>], stamps: u64, lengths: &[usize], order: &[usize]) -> Vec<u8> {
    let mut writer = Writer::new();
    let mut rest: Vec<&[u64]> = words.iter().map(Vec::as_slice).collect();
    let mut cuts = lengths.iter().cycle();
    for &thread in order.iter().cycle().take(4000) {
        let length = rest[thread].len().min(*cuts.next().expect("cycle"));
        if length > 0 {
            writer.chunk(u32::try_from(thread).expect("few"), &rest[thread][..length]);
            rest[thread] = &rest[thread][length..];
        }
    }
    assert!(rest.iter().all(|rest| rest.is_empty()));
    writer.end(stamps)
}

fn any_act() -> impl Strategy<Value = (u32, Act)> {
    let act = prop_oneof![Just(Act::Access), Just(Act::Release), Just(Act::Acquire)];
    (0_u32..4, act)
}

proptest! {
    #[test]
    fn an_access_keeps_its_address_size_kind_and_site(
        accesses in prop::collection::vec(any_access(), 1..200),
    ) {
        let mut writer = Writer::new();
        writer.chunk(0, &coded(&accesses));
        let (log, _) = logged(&writer.end(0)).expect("sound");
        let found: Vec<_> = log.0.iter().map(|(_, what)| {
            let access = what.as_ref().expect("accesses alone");
            (access.kind as usize, u64::from(access.bytes.trailing_zeros()), access.address, access.site)
        }).collect();
        prop_assert_eq!(found, accesses);
    }

    #[test]
    fn the_accesses_of_all_sites_are_those_of_the_trace(
        accesses in prop::collection::vec(any_access(), 1..200),
    ) {
        let mut writer = Writer::new();
        writer.chunk(0, &coded(&accesses));
        let mut totals = Totals::default();
        read(writer.end(0).as_slice(), &mut totals).expect("sound");
        for kind in 0..Kind::ALL.len() {
            let sum: u64 = totals.sites().iter().map(|(_, counts)| counts[kind]).sum();
            prop_assert_eq!(sum, totals.accesses[kind]);
        }
        prop_assert_eq!(totals.accesses.iter().sum::<u64>(), accesses.len() as u64);
    }

    /// Whatever a release came before in the program, it comes before in the merge, in whatever
    /// order the chunks were written.
    #[test]
    fn a_merge_agrees_with_every_release_and_acquisition(
        acts in prop::collection::vec(any_act(), 1..120),
        lengths in prop::collection::vec(1_usize..30, 1..8),
        order in Just(vec![0_usize, 1, 2, 3, 0, 1, 2, 3]).prop_shuffle(),
        turn in 1_usize..8,
    ) {
        let (words, stamps) = executed(&acts);
        let trace = written(&words, stamps, &lengths, &order);
        let (log, report) = merged(&trace, turns(turn)).expect("sound");
        prop_assert_eq!(report.lost_stamps, 0);
        let mut place = vec![usize::MAX; acts.len()];
        for (at, (thread, number)) in log.addresses().into_iter().enumerate() {
            let number = usize::try_from(number).expect("small");
            prop_assert_eq!(thread, acts[number].0);
            place[number] = at;
        }
        for (first, &(thread, act)) in acts.iter().enumerate() {
            if !matches!(act, Act::Access) { continue; }
            prop_assert!(place[first] < usize::MAX, "no access is lost");
            // Follow one chain: the next release of this thread, and the next acquisition of each.
            let released = (first..acts.len())
                .find(|&at| acts[at].0 == thread && matches!(acts[at].1, Act::Release));
            for other in 0..4_u32 {
                let is_next = |at: &usize| acts[*at].0 == other && matches!(acts[*at].1, Act::Acquire);
                let acquired = if other == thread { Some(first) } else {
                    released.and_then(|at| (at..acts.len()).find(is_next))
                };
                let Some(acquired) = acquired else { continue };
                for second in acquired + 1..acts.len() {
                    if acts[second].0 == other && matches!(acts[second].1, Act::Access) {
                        prop_assert!(place[first] < place[second], "{first} before {second}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_damaged_trace_never_makes_a_reader_panic(
        acts in prop::collection::vec(any_act(), 1..60),
        faults in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
        most_words in 1_usize..40,
    ) {
        let (words, stamps) = executed(&acts);
        let mut trace = written(&words, stamps, &[5], &[0, 1, 2, 3]);
        for (place, value) in faults {
            let at = place.index(trace.len());
            trace[at] = value;
        }
        if is_cut {
            trace.truncate(cut.index(trace.len()));
        }
        let (read, merged) = (logged(&trace), merged(&trace, Pace { turn_accesses: 3, most_words, ..Pace::default() }));
        if let (Ok((read, report)), Ok((merged, _))) = (read, merged)
            && report.missing.is_empty()
        {
            prop_assert_eq!(read.0.len(), merged.0.len());
        }
    }
}
