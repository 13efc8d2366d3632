//! Recorded programs on machines: a trace of the hooks, simulated.
//!
//! A first pass over the trace counts who uses each page, which decides the homes of pages; a
//! second one sends each access through its processor's caches and the machine.
//!
//! The hooks see neither time nor instructions, so each access stands for a given number of
//! instructions. Threads are dealt out to processors as they come, and stay there. Accesses between
//! two synchronisations have no order that the trace knows; they take turns, as `hook::merge` does.
//! Where software keeps caches coherent, it writes back and drops shared lines at starts, joins and
//! barriers, and trusts locks to guard what nobody caches.
//!
//! Invariant: each access of the trace is one access of a processor, or several pieces of 64 bytes,
//! and the time of each processor adds up to the time of the run.

#[cfg(feature = "python")]
pub mod bindings;
mod memory;
mod player;
mod survey;
#[cfg(test)]
mod tests;
mod threads;

use std::io::Read;

use self::memory::Pages;
use self::player::Player;
use self::survey::Survey;
use super::hook::{Events, Pace, Report, TraceError, merge};
use super::machine::account::Account;
use super::machine::engine::{Engine, Remote};
use super::machine::placement::{PAGE_BITS, Placement};
use super::machine::server::seconds;
use super::machine::simulation::{Moment, Setup, differences, split, utilizations};
use super::machine::spec::{MachineSpec, ProtocolName};
use super::protocol::Protocol;
use super::protocol::directory::Directory;
use super::protocol::sci::Sci;
use super::protocol::uncached::Uncached;

/// Lines that are listed.
const HOT_LINES: usize = 20;
/// Order of the events of a trace. A thread that the system did not let run for a while still takes
/// its turns: some millions of accesses of the others are kept for it.
const PACE: Pace = Pace {
    turn_accesses: 32,
    most_words: 1 << 25,
    patience: 512,
};

/// Why a trace was not simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The trace cannot be used.
    Trace(TraceError),
    /// It was cut.
    Cut(String),
    /// The program or the machine is impossible.
    Impossible(String),
}

/// Accesses that left their nodes, of a line of code and a group of allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfCode {
    /// Address of the code behind the access; 0 for what synchronisation writes back.
    pub site: u64,
    /// Number of the group of allocations.
    pub group: u32,
    /// What left its node.
    pub remote: Remote,
}

/// A line that others often took away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotLine {
    /// First byte.
    pub address: u64,
    /// Number of the group of allocations.
    pub group: u32,
    /// Its distance (B) from the start of the allocation; 0 without one.
    pub offset: u64,
    /// Copies that network caches lost to writes of other nodes.
    pub of_nodes: u64,
    /// Copies that processors lost to writes of others.
    pub of_processors: u64,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Time (s).
    pub run_s: f64,
    /// Each processor.
    pub accounts: Vec<Account>,
    /// The largest utilization of a station of each kind: I/O bus, controller, bus, link.
    pub utilizations: [f64; 4],
    /// Messages.
    pub messages: u64,
    /// Packets that found an incoming queue full and came again.
    pub retries: u64,
    /// Accesses of the trace.
    pub accesses: u64,
    /// Waits for what another thread did to an atomic object.
    pub atomic_waits: u64,
    /// Threads of the trace.
    pub threads: usize,
    /// Pieces of accesses to shared memory: of other homes, and of the own one.
    pub shared: [u64; 2],
    /// Bytes (B) of shared and of private pages.
    pub page_bytes: [u64; 2],
    /// Bytes (B) of shared pages of each home.
    pub home_bytes: Vec<u64>,
    /// Ends of batches.
    pub moments: Vec<Moment>,
    /// Site, allocations and bytes of each group, by number; the first is memory of no allocation.
    pub groups: Vec<(u64, u64, u64)>,
    /// What left its node.
    pub code: Vec<OfCode>,
    /// The lines that others took away most often.
    pub hot: Vec<HotLine>,
    /// Pieces of accesses by node (rows) and home (columns).
    pub sharing: Vec<Vec<u64>>,
    /// The program's `/proc/self/maps`.
    pub maps: String,
}

/// Hands out the events of a program, the same ones in the same order each time.
pub trait Source {
    /// Hand out all events.
    ///
    /// # Errors
    ///
    /// They cannot be read, or some are missing.
    fn feed(&self, sink: &mut impl Events) -> Result<Report, Failure>;
}

/// A trace that the function opens at its start.
#[derive(Debug)]
pub struct Opened<F>(pub F);

impl<R: Read, F: Fn() -> std::io::Result<R>> Source for Opened<F> {
    fn feed(&self, sink: &mut impl Events) -> Result<Report, Failure> {
        let input = (self.0)().map_err(|error| {
            Failure::Trace(TraceError::Wrong {
                offset: 0,
                reason: error.to_string(),
            })
        })?;
        let report = merge(input, PACE, sink).map_err(Failure::Trace)?;
        if !report.missing.is_empty() {
            return Err(Failure::Cut(report.missing));
        }
        if report.lost_stamps > 0 {
            let lost = report.lost_stamps;
            let reason = format!("{lost} events of synchronisation are missing");
            return Err(Failure::Cut(reason));
        }
        Ok(report)
    }
}

/// Simulate a recorded program.
///
/// # Errors
///
/// The trace is damaged, was cut, or has no accesses, or the machine is impossible.
pub fn simulate_trace(
    source: &impl Source,
    setup: &Setup,
    instructions_per_access: u32,
) -> Result<Outcome, Failure> {
    setup.processor.check().map_err(Failure::Impossible)?;
    setup.machine.check().map_err(Failure::Impossible)?;
    let MachineSpec { nodes, cpus, .. } = setup.machine;
    let mut survey = Survey::new(nodes, cpus);
    let report = source.feed(&mut survey)?;
    let threads = survey.threads.len();
    let (users, pages) = survey.finish().map_err(Failure::Impossible)?;
    let placement = users.place_pages(setup.placement, nodes, setup.moves_private);
    let more = instructions_per_access.saturating_sub(1);
    let play = Play {
        setup,
        placement: &placement,
        pages,
        more,
    };
    let mut outcome = match setup.machine.protocol {
        ProtocolName::Sci => play.run(source, &Sci::default()),
        ProtocolName::Directory => play.run(source, &Directory::default()),
        ProtocolName::Uncached => play.run(source, &Uncached),
    }?;
    outcome.sharing = users.sharing(&placement, nodes);
    outcome.shared = split(&outcome.sharing);
    outcome.threads = threads;
    outcome.maps = report.maps;
    Ok(outcome)
}

/// A simulation that is about to begin.
struct Play<'p> {
    setup: &'p Setup,
    placement: &'p Placement,
    pages: Pages,
    more: u32,
}

impl Play<'_> {
    fn run<P: Protocol>(self, source: &impl Source, protocol: &P) -> Result<Outcome, Failure> {
        let Self {
            setup,
            placement,
            pages,
            more,
        } = self;
        let mut player =
            Player::new(setup, protocol, placement, pages, more).map_err(Failure::Impossible)?;
        source.feed(&mut player)?;
        player.finish().map_err(Failure::Impossible)?;
        let engine = &player.engine;
        let code = player.tags().iter().zip(&engine.of_tags);
        let code = code.filter(|(_, remote)| remote.count > 0 || remote.time > 0);
        Ok(Outcome {
            run_s: seconds(engine.elapsed()),
            accounts: engine.accounts(),
            utilizations: utilizations(engine),
            messages: engine.messages,
            retries: engine.ring.retries,
            accesses: player.accesses,
            atomic_waits: player.signals.atomic_waits,
            threads: 0,
            shared: [0; 2],
            page_bytes: placement.bytes(),
            home_bytes: (0..setup.machine.nodes)
                .map(|home| u64::from(placement.count(home)) << PAGE_BITS)
                .collect(),
            moments: differences(&player.moments),
            groups: player
                .heap
                .groups
                .iter()
                .map(|group| (group.site, group.count, group.bytes))
                .collect(),
            code: code
                .map(|(tag, remote)| OfCode {
                    site: tag.site,
                    group: tag.group,
                    remote: *remote,
                })
                .collect(),
            hot: hot_lines(&player, placement, setup.machine.line_bytes),
            sharing: Vec::new(),
            maps: String::new(),
        })
    }
}

/// Return the lines that others took away most often.
fn hot_lines<P: Protocol>(
    player: &Player<'_, P>,
    placement: &Placement,
    line_bytes: u64,
) -> Vec<HotLine> {
    let mut lost = lost_by_nodes(&player.engine, placement, line_bytes);
    for (&line, &count) in &player.lost_by_processors {
        lost.push((line * line_bytes, [0, u64::from(count)]));
    }
    lost.sort_unstable();
    lost.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1[0] += next.1[0];
            kept.1[1] += next.1[1];
        }
        is_same
    });
    lost.sort_by_key(|(_, counts)| std::cmp::Reverse(counts[0] + counts[1]));
    let hot = lost.into_iter().take(HOT_LINES);
    hot.map(|(dense, [of_nodes, of_processors])| {
        let address = player.pages.sparse(dense);
        let block = player.heap.within(address, line_bytes);
        HotLine {
            address,
            group: block.map_or(memory::OTHER, |block| block.group),
            offset: block.map_or(0, |block| address.saturating_sub(block.start)),
            of_nodes,
            of_processors,
        }
    })
    .collect()
}

/// Return the dense addresses of lines that network caches lost, and how often.
fn lost_by_nodes<P: Protocol>(
    engine: &Engine<'_, P>,
    placement: &Placement,
    line_bytes: u64,
) -> Vec<(u64, [u64; 2])> {
    let lines_per_page = ((1 << PAGE_BITS) / line_bytes).max(1);
    let mut lost = Vec::new();
    for (home, counts) in (0_u8..).zip(&engine.lost_copies) {
        for (number, &count) in (0_u64..).zip(counts) {
            #[allow(clippy::cast_possible_truncation, reason = "as in the placement")]
            let page = placement.page_of(home, (number / lines_per_page) as u32);
            if count > 0
                && let Some(page) = page
            {
                let address = ((page as u64) << PAGE_BITS) + number % lines_per_page * line_bytes;
                lost.push((address, [u64::from(count), 0]));
            }
        }
    }
    lost
}
