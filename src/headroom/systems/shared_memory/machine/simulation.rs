//! Programs on a machine: each phase passes the processors' caches, then the machine.

use serde::Deserialize;

use super::account::{Account, KINDS};
use super::engine::{Engine, Remote};
use super::pages::{MovesPrivate, PlacementName, Users};
use super::placement::{PAGE_BITS, Placement};
use super::processor::{Keeps, Processor, ProcessorSpec};
use super::server::{Server, Time, seconds};
use super::spec::{MachineSpec, ProtocolName};
use crate::systems::shared_memory::programs::layout::index_of;
use crate::systems::shared_memory::programs::run::run_phases;
use crate::systems::shared_memory::programs::{Program, layout::Allocation};
use crate::systems::shared_memory::protocol::Protocol;
use crate::systems::shared_memory::protocol::directory::Directory;
use crate::systems::shared_memory::protocol::sci::Sci;
use crate::systems::shared_memory::protocol::uncached::Uncached;

/// A machine, and how a program's memory is placed on it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The machine.
    pub machine: MachineSpec,
    /// Caches of each processor.
    pub processor: ProcessorSpec,
    /// Homes of pages.
    pub placement: PlacementName,
    /// What of it is moved to private memory.
    pub moves_private: MovesPrivate,
}

/// A moment of a run: the end of a phase.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Time (s) since the start-up.
    pub end_s: f64,
    /// Time (s) of the processors of each node in this phase, by kind.
    pub spent_s: Vec<[f64; KINDS]>,
}

/// Accesses that left their node, by allocation.
#[derive(Clone, Debug)]
pub struct OfAllocation {
    /// Name.
    pub name: &'static str,
    /// Its size (B); allocations of one name are one.
    pub bytes: u64,
    /// What left its node.
    pub remote: Remote,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Time (s) after the start-up.
    pub run_s: f64,
    /// Each processor.
    pub accounts: Vec<Account>,
    /// The largest utilization of a station of each kind: I/O bus, controller, bus, link.
    pub utilizations: [f64; 4],
    /// Messages.
    pub messages: u64,
    /// Messages that were refused, and sent again.
    pub retries: u64,
    /// Accesses of the program after the start-up.
    pub accesses: u64,
    /// Accesses of all phases to shared memory: of other homes, and of the own one.
    pub shared: [u64; 2],
    /// Bytes (B) of shared and of private pages.
    pub page_bytes: [u64; 2],
    /// Bytes (B) of shared pages of each home.
    pub home_bytes: Vec<u64>,
    /// Ends of phases.
    pub moments: Vec<Moment>,
    /// What left its node.
    pub allocations: Vec<OfAllocation>,
    /// Accesses by node (rows) and home (columns), of all phases.
    pub sharing: Vec<Vec<u64>>,
}

/// Simulate a program.
///
/// # Errors
///
/// The machine is impossible, or the program does not fit it.
pub fn simulate<P: Program>(setup: &Setup, program: &P) -> Result<Outcome, String> {
    setup.processor.check()?;
    setup.machine.check()?;
    let MachineSpec { nodes, cpus, .. } = setup.machine;
    let processors = usize::from(nodes) * usize::from(cpus);
    if program.threads() != processors {
        let threads = program.threads();
        return Err(format!("{threads} threads on {processors} processors"));
    }
    let (rule, moves) = (setup.placement, setup.moves_private);
    let users = Users::needed_by(rule, moves, program, nodes, cpus);
    let placement = users.place(program, rule, nodes, cpus, moves);
    match setup.machine.protocol {
        ProtocolName::Sci => run(setup, program, &Sci::default(), &placement),
        ProtocolName::Directory => run(setup, program, &Directory::default(), &placement),
        ProtocolName::Uncached => run(setup, program, &Uncached, &placement),
    }
}

fn run<P: Program, C: Protocol>(
    setup: &Setup,
    program: &P,
    protocol: &C,
    placement: &Placement,
) -> Result<Outcome, String> {
    let mut engine = Engine::new(protocol, setup.machine, placement.clone())?;
    let MachineSpec {
        nodes,
        cpus,
        is_on_card,
        ..
    } = setup.machine;
    let nodes = (0..nodes).flat_map(|node| (0..cpus).map(move |_| node));
    let mut processors: Vec<Processor<'_>> = nodes
        .map(|node| Processor::new(&setup.processor, placement, node, is_on_card))
        .collect();
    let mut moments = Vec::new();
    let mut failure = None;
    run_phases(program, &mut processors, |phase, processors| {
        if failure.is_some() {
            return;
        }
        if let Err(error) = end_phase(&mut engine, processors, setup.processor.keeps) {
            failure = Some(error);
        } else if program.is_start_up(phase) {
            engine.start_accounts();
            for one in processors {
                one.start_account();
            }
        } else {
            moments.push((engine.elapsed(), totals(&engine.accounts(), cpus)));
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    let sharing = sharing(&processors, placement, setup.machine.nodes);
    Ok(Outcome {
        run_s: seconds(engine.elapsed()),
        accounts: engine.accounts(),
        utilizations: utilizations(&engine),
        messages: engine.messages,
        retries: engine.ring.retries,
        accesses: processors.iter().map(Processor::accesses).sum(),
        shared: split(&sharing),
        page_bytes: placement.bytes(),
        home_bytes: (0..setup.machine.nodes)
            .map(|home| u64::from(placement.count(home)) << PAGE_BITS)
            .collect(),
        moments: differences(&moments),
        allocations: by_allocation(program.allocations(), &engine.pages),
        sharing,
    })
}

fn end_phase<C: Protocol>(
    engine: &mut Engine<'_, C>,
    processors: &mut [Processor<'_>],
    keeps: Keeps,
) -> Result<(), String> {
    let (words, written): (Vec<_>, Vec<_>) =
        processors.iter_mut().map(Processor::end_phase).unzip();
    if keeps != Keeps::Nothing {
        for (writer, lines) in written.iter().enumerate() {
            for (index, one) in processors.iter_mut().enumerate() {
                if index != writer {
                    one.invalidate(lines);
                }
            }
        }
    }
    let words: Vec<&[u64]> = words.iter().map(Vec::as_slice).collect();
    engine.run_phase(&words)
}

/// Times of the processors of each node, by kind.
pub type NodeTimes = Vec<[Time; KINDS]>;

/// Return the times of each node, which has `cpus` processors.
pub fn totals(accounts: &[Account], cpus: u8) -> NodeTimes {
    let sum = |own: &[Account]| {
        let mut sums = [0; KINDS];
        for account in own {
            for (sum, time) in sums.iter_mut().zip(account.times) {
                *sum += time;
            }
        }
        sums
    };
    accounts.chunks(usize::from(cpus)).map(sum).collect()
}

/// Return what was spent between the moments of sums.
pub fn differences(moments: &[(Time, NodeTimes)]) -> Vec<Moment> {
    let nodes = moments.first().map_or(0, |(_, sums)| sums.len());
    let start = vec![[0; KINDS]; nodes];
    let before = std::iter::once(&start).chain(moments.iter().map(|(_, sums)| sums));
    let node = |(now, before): (&[Time; KINDS], &[Time; KINDS])| {
        std::array::from_fn(|kind| seconds(now[kind] - before[kind]))
    };
    moments
        .iter()
        .zip(before)
        .map(|((end, sums), before)| Moment {
            end_s: seconds(*end),
            spent_s: sums.iter().zip(before).map(node).collect(),
        })
        .collect()
}

/// Return the largest utilization of a station of each kind: I/O bus, controller, bus, link.
pub fn utilizations<C: Protocol>(engine: &Engine<'_, C>) -> [f64; 4] {
    let elapsed = engine.elapsed().max(1) as f64;
    let mut most = [0.0_f64; 4];
    for node in &engine.ring.nodes {
        let stations: [&Server; 4] = [&node.io_bus, &node.controller, &node.bus, &node.link];
        for (most, station) in most.iter_mut().zip(stations) {
            *most = most.max(station.busy as f64 / elapsed);
        }
    }
    most
}

fn by_allocation(allocations: &[Allocation], pages: &[Remote]) -> Vec<OfAllocation> {
    let mut found: Vec<OfAllocation> = Vec::new();
    for one in allocations {
        match found.iter_mut().find(|known| known.name == one.name) {
            Some(known) => known.bytes += one.bytes,
            None => found.push(OfAllocation {
                name: one.name,
                bytes: one.bytes,
                remote: Remote::default(),
            }),
        }
    }
    for (page, remote) in (0_u64..).zip(pages) {
        let Some(index) = index_of(allocations, page << PAGE_BITS) else {
            continue;
        };
        let name = allocations[index].name;
        if let Some(known) = found.iter_mut().find(|known| known.name == name) {
            known.remote.count += remote.count;
            known.remote.time += remote.time;
            known.remote.invalidations += remote.invalidations;
        }
    }
    found
}

/// Return accesses of shared memory by node and home.
fn sharing(processors: &[Processor<'_>], placement: &Placement, nodes: u8) -> Vec<Vec<u64>> {
    let wide = usize::from(nodes);
    let mut matrix = vec![vec![0; wide]; wide];
    for one in processors {
        let row = &mut matrix[usize::from(one.node)];
        for (page, count) in (0_u64..).zip(&one.uses) {
            let place = placement.of(page << PAGE_BITS);
            if !place.is_private {
                row[usize::from(place.home)] += count;
            }
        }
    }
    matrix
}

/// Return the accesses of other homes and of the own one.
pub fn split(sharing: &[Vec<u64>]) -> [u64; 2] {
    let mut sums = [0; 2];
    for (node, row) in sharing.iter().enumerate() {
        for (home, count) in row.iter().enumerate() {
            sums[usize::from(node == home)] += count;
        }
    }
    sums
}
