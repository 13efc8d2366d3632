//! Tests of simulated traces: conservation, agreement with the programs, and what is refused.

use proptest::prelude::*;

use super::{Failure, Opened, Outcome, Source, simulate_trace};
use crate::systems::shared_memory::hook::{Access, Event, Events, Kind, Report, TraceError};
use crate::systems::shared_memory::machine::account::Spent;
use crate::systems::shared_memory::machine::pages::{MovesPrivate, PlacementName};
use crate::systems::shared_memory::machine::processor::{Keeps, ProcessorSpec};
use crate::systems::shared_memory::machine::server::{picoseconds, seconds};
use crate::systems::shared_memory::machine::simulation::{Setup, simulate};
use crate::systems::shared_memory::machine::spec::{
    CacheSpec, MachineSpec, ProtocolName, TimesSpec,
};
use crate::systems::shared_memory::programs::layout::Layout;
use crate::systems::shared_memory::programs::shared::Shared;
use crate::systems::shared_memory::programs::watch::Watch;
use crate::systems::shared_memory::programs::{Check, Program};

const PAGE: u64 = 4096;

fn setup(protocol: ProtocolName, keeps: Keeps, placement: PlacementName) -> Setup {
    let has_cache = protocol != ProtocolName::Uncached;
    Setup {
        machine: MachineSpec {
            nodes: 2,
            cpus: 1,
            line_bytes: 64,
            protocol,
            is_on_card: false,
            cache: has_cache.then_some(CacheSpec {
                bytes: 16_384,
                ways: 2,
                index_has_home: true,
            }),
            posted_writes: 4,
            incoming_queue: 0,
            outgoing_queue: 0,
            times: TimesSpec {
                instruction_s: 1e-9,
                near_s: 5e-9,
                last_s: 0.0,
                private_s: 90e-9,
                local_read_s: 90e-9,
                local_write_s: 90e-9,
                hit_read_s: 95e-9,
                hit_write_s: 95e-9,
                request_s: 50e-9,
                reply_s: 50e-9,
                posted_write_s: 10e-9,
                controller_s: 20e-9,
                memory_s: 60e-9,
                crossing_s: 0.0,
                hop_s: 10e-9,
                link_bytes_per_s: 1e10,
                bus_bytes_per_s: 1e10,
                barrier_s: 1e-6,
                lock_s: 2e-7,
            },
        },
        processor: ProcessorSpec {
            line_bytes: 64,
            l1_bytes: 1024,
            l1_ways: 2,
            l2_bytes: 4096,
            l2_ways: 4,
            l3_bytes: 0,
            l3_ways: 1,
            keeps,
        },
        placement,
        moves_private: MovesPrivate::Nothing,
    }
}

type Row = (u32, Result<Access, Event>);

/// Events in the order in which they are handed out.
#[derive(Clone, Debug, Default)]
struct Trace(Vec<Row>);

impl Source for Trace {
    fn feed(&self, sink: &mut impl Events) -> Result<Report, Failure> {
        for &(thread, what) in &self.0 {
            match what {
                Ok(access) => sink.access(thread, access),
                Err(event) => sink.event(thread, event),
            }
        }
        Ok(Report::default())
    }
}

impl Trace {
    fn access(&mut self, thread: u32, kind: Kind, address: u64, bytes: u64) {
        let site = 0x40_0000 + kind as u64;
        let access = Access {
            address,
            bytes,
            kind,
            site,
        };
        self.0.push((thread, Ok(access)));
    }

    fn event(&mut self, thread: u32, event: Event) {
        self.0.push((thread, Err(event)));
    }

    fn meet(&mut self, threads: u32) {
        for thread in 0..threads {
            self.event(thread, Event::Entered { barrier: 1 });
        }
        for thread in 0..threads {
            self.event(thread, Event::Left { barrier: 1 });
        }
    }

    fn begin(threads: u32) -> Self {
        let mut trace = Self::default();
        trace.event(0, Event::Begun);
        for child in 1..threads {
            trace.event(0, Event::Started { child });
            trace.event(child, Event::Begun);
        }
        trace
    }
}

fn outcome(trace: &Trace, setup: &Setup, instructions: u32) -> Outcome {
    simulate_trace(trace, setup, instructions).expect("a run")
}

const MACHINES: [(ProtocolName, Keeps); 5] = [
    (ProtocolName::Sci, Keeps::UntilBarrier),
    (ProtocolName::Sci, Keeps::Nothing),
    (ProtocolName::Directory, Keeps::Coherent),
    (ProtocolName::Uncached, Keeps::Coherent),
    (ProtocolName::Uncached, Keeps::UntilBarrier),
];

/// One step of a thread: an access, a section with a lock, or a barrier of all.
#[derive(Clone, Copy, Debug)]
enum Step {
    Access(u32, bool, u64, u64),
    Locked(u32, u64),
    Meet,
    Allocate(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let thread = 0..3_u32;
    let step = prop_oneof![
        20 => (thread.clone(), any::<bool>(), 0..4 * PAGE, 1..200_u64)
            .prop_map(|(thread, is_write, address, bytes)| {
                Step::Access(thread, is_write, address, bytes)
            }),
        3 => (thread, 0..2_u64).prop_map(|(thread, lock)| Step::Locked(thread, lock)),
        1 => Just(Step::Meet),
        1 => (0..4 * PAGE).prop_map(Step::Allocate),
    ];
    prop::collection::vec(step, 1..200)
}

fn trace_of(steps: &[Step]) -> Trace {
    let mut trace = Trace::begin(3);
    trace.access(0, Kind::Read, 0, 8);
    for &step in steps {
        match step {
            Step::Access(thread, is_write, address, bytes) => {
                let kind = if is_write { Kind::Write } else { Kind::Read };
                trace.access(thread, kind, address, bytes);
            }
            Step::Locked(thread, lock) => {
                trace.event(thread, Event::Acquired { lock });
                trace.access(thread, Kind::AtomicModify, lock * 8, 8);
                trace.event(thread, Event::Released { lock });
            }
            Step::Meet => trace.meet(3),
            Step::Allocate(address) => trace.event(
                0,
                Event::Allocated {
                    address,
                    bytes: 100,
                    site: 0x50_0000,
                },
            ),
        }
    }
    trace
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_accesses_and_all_time_are_accounted_for(steps in steps()) {
        let trace = trace_of(&steps);
        let accesses = trace.0.iter().filter(|(_, what)| what.is_ok()).count() as u64;
        for (protocol, keeps) in MACHINES {
            let setup = setup(protocol, keeps, PlacementName::Interleave);
            let found = outcome(&trace, &setup, 3);
            prop_assert_eq!(found.accesses, accesses);
            for account in &found.accounts {
                prop_assert_eq!(account.total(), picoseconds(found.run_s));
            }
            let remote = Spent::Remote as usize;
            let count: u64 = found.accounts.iter().map(|one| one.counts[remote]).sum();
            let time: u64 = found.accounts.iter().map(|one| one.times[remote]).sum();
            let of_code = found.code.iter().map(|one| one.remote);
            prop_assert_eq!(of_code.clone().map(|one| one.count).sum::<u64>(), count);
            prop_assert_eq!(of_code.map(|one| one.time).sum::<u64>(), time);
            let pieces: u64 = found.sharing.iter().flatten().sum();
            prop_assert_eq!(pieces, found.shared.iter().sum::<u64>());
            prop_assert_eq!(found.threads, 3);
            let again = outcome(&trace, &setup, 3);
            prop_assert_eq!(again.accounts, found.accounts, "the same trace, the same run");
        }
    }
}

const WORDS: usize = 4096;

/// Each of two threads fills its own array, and then reads that of the other one.
struct Walk {
    layout: Layout,
    arrays: [Shared; 2],
}

impl Walk {
    fn new() -> Self {
        let mut layout = Layout::default();
        let mut array = |name| layout.shared(name, WORDS).expect("memory");
        let arrays = [array("first"), array("second")];
        Self { layout, arrays }
    }

    /// The same accesses as a trace, far away from those of the program.
    fn trace(&self) -> Trace {
        let mut trace = Trace::begin(2);
        for word in 0..WORDS {
            for thread in [0, 1_u32] {
                let address = self.arrays[thread as usize].address(word);
                trace.access(thread, Kind::Write, address + (1 << 40), 8);
            }
        }
        trace.meet(2);
        for word in 0..WORDS {
            for thread in [0, 1_u32] {
                let address = self.arrays[1 - thread as usize].address(word);
                trace.access(thread, Kind::Read, address + (1 << 40), 8);
            }
        }
        trace.meet(2);
        trace
    }
}

impl Program for Walk {
    fn name(&self) -> &'static str {
        "walk"
    }
    fn threads(&self) -> usize {
        2
    }
    fn has_phase(&self, phase: usize) -> bool {
        phase < 2
    }
    fn is_start_up(&self, _: usize) -> bool {
        false
    }
    fn run_phase<W: Watch>(&self, phase: usize, thread: usize, watch: &mut W) {
        for word in 0..WORDS {
            watch.compute(2);
            if phase == 0 {
                self.arrays[thread].set(word, 1_u64, watch);
            } else {
                let _: u64 = self.arrays[1 - thread].get(word, watch);
            }
        }
    }
    fn layout(&self) -> &Layout {
        &self.layout
    }
    fn result(&self) -> Vec<f64> {
        Vec::new()
    }
    fn verify(&self) -> Result<Check, String> {
        Ok(Check {
            deviations: Vec::new(),
        })
    }
}

#[test]
fn a_trace_takes_the_time_of_the_program_with_the_same_accesses() {
    let walk = Walk::new();
    for (protocol, keeps) in MACHINES {
        let setup = setup(protocol, keeps, PlacementName::FirstTouch);
        let expected = simulate(&setup, &walk).expect("a run");
        let found = outcome(&walk.trace(), &setup, 3);
        let case = format!("{protocol:?} {keeps:?}");
        for (one, other) in found.accounts.iter().zip(&expected.accounts) {
            let kinds = Spent::Waiting as usize;
            assert_eq!(one.counts[..kinds], other.counts[..kinds], "{case}");
        }
        assert_eq!(found.messages, expected.messages, "{case}");
        let start = seconds(0);
        assert!(
            (found.run_s - expected.run_s - start).abs() < 1e-9 * expected.run_s,
            "{case}: {} and {}",
            found.run_s,
            expected.run_s
        );
    }
}

/// A thread sets up what another one uses: the usual mistake with first touch.
#[test]
fn the_best_placement_is_faster_than_the_first_touch_of_another_thread() {
    let mut trace = Trace::begin(2);
    for line in 0..512 {
        trace.access(0, Kind::Write, 64 * line, 8);
    }
    trace.meet(2);
    for _ in 0..4 {
        for line in 0..512 {
            trace.access(1, Kind::Read, 64 * line, 8);
        }
    }
    for (protocol, keeps) in MACHINES {
        let time = |placement| outcome(&trace, &setup(protocol, keeps, placement), 3).run_s;
        let (first, best) = (time(PlacementName::FirstTouch), time(PlacementName::Most));
        assert!(
            best < 0.95 * first,
            "{protocol:?} {keeps:?}: {best} and {first}"
        );
    }
}

#[test]
fn a_line_that_two_threads_write_in_turn_is_hot_and_named() {
    let mut trace = Trace::begin(2);
    let (address, site) = (0x7f00_0000_1000, 0x50_0000);
    trace.event(
        0,
        Event::Allocated {
            address,
            bytes: 200,
            site,
        },
    );
    for _ in 0..100 {
        for thread in [0, 1] {
            trace.access(
                thread,
                Kind::Write,
                address + 128 + 8 * u64::from(thread),
                8,
            );
        }
    }
    trace.event(0, Event::Freed { address });
    let setup = setup(
        ProtocolName::Directory,
        Keeps::Coherent,
        PlacementName::FirstTouch,
    );
    let found = outcome(&trace, &setup, 1);
    let hot = found.hot[0];
    assert_eq!((hot.address, hot.offset), (address + 128, 128));
    assert_eq!(found.groups[hot.group as usize], (site, 1, 200));
    assert_eq!(
        hot.of_processors, 199,
        "each write but the first takes the line away"
    );
    assert!(hot.of_nodes > 90, "{hot:?}");
}

/// Threads that share a processor, and a lock that one has when the other is to come first.
#[test]
fn locks_change_hands_in_the_order_of_the_trace() {
    let mut trace = Trace::begin(3);
    let lock = 8;
    for turn in 0..50 {
        let thread = turn % 3;
        trace.event(thread, Event::Acquired { lock });
        trace.access(thread, Kind::Write, 64, 8);
        trace.event(thread, Event::Released { lock });
    }
    let setup = setup(
        ProtocolName::Sci,
        Keeps::UntilBarrier,
        PlacementName::FirstTouch,
    );
    let found = outcome(&trace, &setup, 1000);
    assert!(
        found.run_s >= 50.0 * (1e-6 + 2e-7),
        "sections exclude each other: {}",
        found.run_s
    );
}

#[test]
fn what_cannot_be_simulated_is_refused_with_the_reason() {
    let good = setup(ProtocolName::Sci, Keeps::Nothing, PlacementName::Most);
    let refused = |trace: &Trace, setup: &Setup| match simulate_trace(trace, setup, 3) {
        Err(Failure::Impossible(reason)) => reason,
        other => panic!("{other:?}"),
    };
    assert!(refused(&Trace::begin(2), &good).contains("no accesses"));
    let mut huge = Trace::begin(1);
    huge.access(0, Kind::Write, 0, 1 << 47);
    assert!(refused(&huge, &good).contains("damaged"));
    let mut wide = Trace::begin(1);
    for copy in 0..17 {
        wide.access(0, Kind::Read, copy << 32, 1 << 30);
    }
    let mut nodes = good;
    nodes.machine.nodes = 64;
    assert!(refused(&wide, &nodes).contains("shorter region"));
    let mut impossible = good;
    impossible.machine.nodes = 65;
    assert!(refused(&wide, &impossible).contains("1 to 64"));

    let empty = Opened(|| Ok(std::io::empty()));
    let found = simulate_trace(&empty, &good, 3).expect_err("empty");
    assert_eq!(found, Failure::Trace(TraceError::Empty));
    let noise = Opened(|| Ok(&b"no trace, but text of more than 16 bytes"[..]));
    assert!(matches!(
        simulate_trace(&noise, &good, 3),
        Err(Failure::Trace(TraceError::Wrong { .. }))
    ));
    let missing = Opened(|| Err::<std::io::Empty, _>(std::io::Error::other("gone")));
    assert!(matches!(
        simulate_trace(&missing, &good, 3),
        Err(Failure::Trace(TraceError::Wrong { reason, .. })) if reason == "gone"
    ));
}
