use proptest::prelude::*;

use super::account::Spent;
use super::engine::Engine;
use super::network::{Packet, Ring};
use super::placement::Placement;
use super::spec::{CacheSpec, MachineSpec, ProtocolName, Times, TimesSpec};
use super::word::Recorder;
use crate::systems::shared_memory::protocol::Protocol;
use crate::systems::shared_memory::protocol::directory::Directory;
use crate::systems::shared_memory::protocol::sci::Sci;
use crate::systems::shared_memory::protocol::uncached::Uncached;

const PAGE: u64 = 4096;
/// Nanoseconds, in picoseconds.
const NS: u64 = 1000;

fn machine(nodes: u8, protocol: ProtocolName) -> MachineSpec {
    MachineSpec {
        nodes,
        cpus: 1,
        line_bytes: 64,
        protocol,
        is_on_card: protocol != ProtocolName::Uncached,
        cache: (protocol != ProtocolName::Uncached).then_some(CacheSpec {
            bytes: 1024,
            ways: 2,
            index_has_home: true,
        }),
        posted_writes: 0,
        incoming_queue: 0,
        outgoing_queue: 0,
        times: TimesSpec {
            instruction_s: 1e-9,
            near_s: 5e-9,
            last_s: 0.0,
            private_s: 10e-9,
            local_read_s: 900e-9,
            local_write_s: 800e-9,
            hit_read_s: 700e-9,
            hit_write_s: 600e-9,
            request_s: 100e-9,
            reply_s: 200e-9,
            posted_write_s: 50e-9,
            controller_s: 1000e-9,
            memory_s: 60e-9,
            crossing_s: 0.0,
            hop_s: 30e-9,
            link_bytes_per_s: 1e9,
            bus_bytes_per_s: 4e9,
            barrier_s: 0.0,
            lock_s: 5e-9,
        },
    }
}

/// Page p is at home p mod nodes, except for the last, which is private.
fn placed(nodes: u8, pages: u8) -> Placement {
    let shared = (0..pages).map(|page| Some(page % nodes));
    Placement::new(nodes, shared.chain([None]))
}

fn words(accesses: &[(u64, bool)]) -> Vec<u64> {
    let mut recorder = Recorder::default();
    for &(address, is_write) in accesses {
        recorder.access(address, 8, is_write);
    }
    recorder.finish()
}

fn engine<P: Protocol>(protocol: &P, name: ProtocolName, nodes: u8) -> Engine<'_, P> {
    Engine::new(protocol, machine(nodes, name), placed(nodes, 4)).expect("a machine")
}

/// Time (ns) of a message on its way, without and with a line: 24 or 88 bytes on bus, link and bus.
const WAY: [u64; 2] = [6 + 30 + 24 + 6, 22 + 30 + 88 + 22];

#[test]
fn a_read_of_a_line_without_copies_takes_the_sum_of_its_way() {
    let sci = Sci::default();
    let mut engine = engine(&sci, ProtocolName::Sci, 2);
    engine
        .run_phase(&[&words(&[(PAGE, false)]), &[]])
        .expect("a run");
    // To the controller, the request, the answer with the line, to the processor.
    let answered = 100 + 1000 + WAY[0] + 1000 + 1060 + WAY[1] + 1060 + 200;
    assert_eq!(
        engine.accounts()[0].times[Spent::Remote as usize],
        answered * NS
    );
    assert_eq!(engine.messages, 2);
}

#[test]
fn hits_local_and_private_accesses_take_their_fixed_times() {
    let sci = Sci::default();
    let mut engine = engine(&sci, ProtocolName::Sci, 2);
    let list = words(&[
        (0, false),
        (0, true),
        (4 * PAGE, false),
        (PAGE, true),
        (PAGE + 8, true),
        (PAGE, false),
    ]);
    engine.run_phase(&[&list, &[]]).expect("a run");
    let account = engine.accounts()[0];
    assert_eq!(account.times[Spent::Local as usize], (900 + 800) * NS);
    assert_eq!(account.times[Spent::Private as usize], 10 * NS);
    assert_eq!(account.times[Spent::Hit as usize], (600 + 700) * NS);
    assert_eq!(account.counts[Spent::Remote as usize], 1);
    assert_eq!(account.to_others, 3);
    assert_eq!(account.total(), engine.clock());
}

#[test]
fn a_write_of_the_home_waits_until_the_copies_are_gone() {
    let sci = Sci::default();
    let mut engine = engine(&sci, ProtocolName::Sci, 3);
    let read = words(&[(0, false)]);
    engine.run_phase(&[&[], &read, &read]).expect("a run");
    let before = engine.messages;
    engine
        .run_phase(&[&words(&[(0, true)]), &[], &[]])
        .expect("a run");
    // Two copies, one after the other: a request and an answer each.
    assert_eq!(engine.messages - before, 4);
    engine
        .run_phase(&[&words(&[(0, true)]), &[], &[]])
        .expect("a run");
    assert_eq!(engine.messages - before, 4);
    assert_eq!(engine.accounts()[0].counts[Spent::Local as usize], 1);
}

/// IEEE 1596 purges one by one, a directory all at once.
#[test]
fn a_serial_purge_takes_longer_with_each_sharer_than_parallel_invalidation() {
    fn extra<P: Protocol>(protocol: &P, name: ProtocolName) -> u64 {
        let time = |sharers: usize| {
            let nodes = 8;
            let mut engine = engine(protocol, name, nodes);
            let read = words(&[(0, false)]);
            let mut lists: Vec<&[u64]> = vec![&[]; usize::from(nodes)];
            lists[1..=sharers].fill(&read);
            engine.run_phase(&lists).expect("a run");
            let start = engine.clock();
            let write = words(&[(0, true)]);
            let mut lists: Vec<&[u64]> = vec![&[]; usize::from(nodes)];
            lists[0] = &write;
            engine.run_phase(&lists).expect("a run");
            engine.clock() - start
        };
        time(7) - time(2)
    }
    let serial = extra(&Sci::default(), ProtocolName::Sci);
    let parallel = extra(&Directory::default(), ProtocolName::Directory);
    assert!(serial > 2 * parallel, "{serial} and {parallel}");
}

#[test]
fn without_a_cache_each_access_goes_to_the_home_and_posted_writes_do_not_wait() {
    let mut spec = machine(2, ProtocolName::Uncached);
    let list = words(&[(PAGE, true), (PAGE, false), (PAGE, false)]);
    let run = |spec: MachineSpec| {
        let mut engine = Engine::new(&Uncached, spec, placed(2, 4)).expect("a machine");
        engine.run_phase(&[&list, &[]]).expect("a run");
        (engine.accounts()[0], engine.messages)
    };
    let (waiting, messages) = run(spec);
    assert_eq!((waiting.counts[Spent::Remote as usize], messages), (3, 6));
    let round = 100 + 4000 + 2 * WAY[0] + 200;
    assert_eq!(waiting.times[Spent::Remote as usize], 3 * round * NS);
    spec.posted_writes = 16;
    let (posted, _) = run(spec);
    let saved = waiting.total() - posted.total();
    assert!(saved > 0 && saved <= (round - 50) * NS, "{saved}");
}

#[test]
fn locks_exclude_and_a_missing_unlock_is_a_deadlock() {
    let mut engine = engine(&Uncached, ProtocolName::Uncached, 2);
    let section = |last: bool| {
        let mut recorder = Recorder::default();
        recorder.lock(7);
        recorder.compute(1000);
        if last {
            recorder.unlock(7);
        }
        recorder.finish()
    };
    engine
        .run_phase(&[&section(true), &section(true)])
        .expect("a run");
    assert_eq!(engine.clock(), (2 * 1000 + 2 * 5) * NS);
    let error = engine
        .run_phase(&[&section(false), &section(true)])
        .expect_err("a deadlock");
    assert!(error.contains("deadlock"), "{error}");
}

#[test]
fn impossible_machines_are_refused_with_the_reason() {
    let good = machine(2, ProtocolName::Sci);
    let refused = |spec: MachineSpec| spec.check().expect_err("impossible");
    assert!(refused(MachineSpec { nodes: 65, ..good }).contains("1 to 64"));
    assert!(
        refused(MachineSpec {
            line_bytes: 48,
            ..good
        })
        .contains("power of two")
    );
    assert!(
        refused(MachineSpec {
            cache: None,
            ..good
        })
        .contains("describe the cache")
    );
    let cache = Some(CacheSpec {
        bytes: 1000,
        ways: 2,
        index_has_home: true,
    });
    assert!(refused(MachineSpec { cache, ..good }).contains("whole sets"));
    let outgoing_queue = 1 << 20;
    assert!(
        refused(MachineSpec {
            outgoing_queue,
            ..good
        })
        .contains("at most 65536 places")
    );
    let protocol = ProtocolName::Uncached;
    assert!(refused(MachineSpec { protocol, ..good }).contains("without a protocol"));
}

/// Two nodes with queues; messages without data take 6 ns on a bus, 24 ns on a link, 30 ns of a hop.
fn ring(incoming: u32, outgoing: u32, controller_s: f64) -> (Ring, Times) {
    let mut spec = machine(2, ProtocolName::Sci);
    (spec.incoming_queue, spec.outgoing_queue) = (incoming, outgoing);
    spec.times.controller_s = controller_s;
    (Ring::new(&spec), spec.times())
}

/// With one place a packet is put out when the one before has left the link, whose end is 30 ns of
/// bus and link after that; without a limit packets follow each other on the link, each 24 ns.
#[test]
fn a_controller_is_blocked_while_the_outgoing_queue_is_full() {
    let arrivals = |places: u32| {
        let (mut ring, times) = ring(0, places, 10e-9);
        let ends = [0; 3].map(|now| ring.send(&times, now, 0, 1, false) / NS);
        (ends, ring.nodes[0].controller.busy / NS)
    };
    assert_eq!(arrivals(0), ([70, 94, 118], 30));
    assert_eq!(arrivals(16), arrivals(0));
    assert_eq!(arrivals(1), ([70, 100, 130], 10 + 30 + 30));
}

/// A busy echo takes the hop back, and the packet its link and hop again: 30 + 24 + 30 ns.
#[test]
fn a_packet_that_finds_the_incoming_queue_full_comes_again_and_again() {
    let (mut ring, times) = ring(1, 0, 1000e-9);
    let packet = Packet {
        from: 0,
        to: 1,
        has_data: false,
    };
    assert_eq!(ring.refuse(&times, 0, packet, None), None);
    assert_eq!(ring.take(&times, 0, 1, false), (6 + 1000) * NS);
    let (mut now, mut batch) = (24 * NS, None);
    while let Some((again, its)) = ring.refuse(&times, now, packet, batch) {
        assert_eq!(again - now, 84 * NS);
        (now, batch) = (again, Some(its));
    }
    assert_eq!((ring.retries, now), (12, (24 + 12 * 84) * NS));
    assert_eq!(ring.take(&times, now, 1, false), now + (6 + 1000) * NS);
    ring.start_accounts();
    assert_eq!(ring.retries, 0);
}

/// Seven nodes read a line of one home at once. A refused request lets answers go first, so the run
/// need not take longer.
#[test]
fn a_busy_home_refuses_packets_and_serves_all_in_the_end() {
    let run = |places: u32| {
        let mut spec = machine(8, ProtocolName::Uncached);
        spec.incoming_queue = places;
        let mut engine = Engine::new(&Uncached, spec, placed(8, 8)).expect("a machine");
        let read = words(&[(0, false); 4]);
        let mut lists: Vec<&[u64]> = vec![&read; 8];
        lists[0] = &[];
        engine.run_phase(&lists).expect("a run");
        (engine.clock(), engine.messages, engine.ring.retries)
    };
    assert_eq!(run(7), run(0), "a queue that is never full");
    let (some, any) = (run(4), run(0));
    assert_eq!((some.1, any.2), (any.1, 0));
    assert!(some.2 > 0 && some.0 != any.0, "{some:?} and {any:?}");
}

type List = Vec<(u64, bool)>;

/// Accesses of few lines of four shared pages, so that processors meet and caches are full.
fn lists(nodes: usize) -> impl Strategy<Value = Vec<List>> {
    let access = (0_u64..4, 0_u64..12, any::<bool>())
        .prop_map(|(page, line, is_write)| (page * PAGE + line * 64, is_write));
    prop::collection::vec(prop::collection::vec(access, 0..120), nodes)
}

fn check_run<P: Protocol>(
    protocol: &P,
    name: ProtocolName,
    lists: &[List],
    places: u32,
) -> Result<(), TestCaseError> {
    let spec = MachineSpec {
        posted_writes: 4 * places,
        incoming_queue: places,
        outgoing_queue: places,
        ..machine(3, name)
    };
    let mut engine = Engine::new(protocol, spec, placed(3, 4)).expect("a machine");
    let words: Vec<Vec<u64>> = lists.iter().map(|list| words(list)).collect();
    let slices: Vec<&[u64]> = words.iter().map(Vec::as_slice).collect();
    for _ in 0..2 {
        let ended = engine.run_phase(&slices);
        prop_assert!(ended.is_ok(), "{:?}", ended);
    }
    prop_assert_eq!(engine.check_quiet(), Ok(()));
    for (account, list) in engine.accounts().iter().zip(lists) {
        prop_assert_eq!(account.total(), engine.clock(), "all time is accounted for");
        let accesses: u64 = account.counts[1..5].iter().sum();
        prop_assert_eq!(accesses, 2 * list.len() as u64, "each access once");
    }
    let mut again = Engine::new(protocol, spec, placed(3, 4)).expect("a machine");
    for _ in 0..2 {
        again.run_phase(&slices).expect("as before");
    }
    prop_assert_eq!(
        again.accounts(),
        engine.accounts(),
        "the same words, the same run"
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_program_ends_with_sound_lists_and_all_time_accounted_for(
        lists in lists(3), places in 0_u32..3,
    ) {
        check_run(&Sci::default(), ProtocolName::Sci, &lists, places)?;
    }

    #[test]
    fn so_it_does_with_a_directory(lists in lists(3), places in 0_u32..3) {
        check_run(&Directory::default(), ProtocolName::Directory, &lists, places)?;
    }

    #[test]
    fn so_it_does_without_a_cache(lists in lists(3), places in 0_u32..3) {
        check_run(&Uncached, ProtocolName::Uncached, &lists, places)?;
    }
}
