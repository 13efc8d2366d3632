//! Executes a source of requests: chooses the interface and runs on it.
//!
//! Invariant: memory that the system may still write into is never released.

use super::backend::Operation;
use super::buffers::Buffers;
use super::calls::Calls;
use super::carrier::{self, Blocks, Load};
use super::content::Content;
use super::error::EngineError;
use super::job::{Interface, Job, TargetPlan};
use super::pattern::Pattern;
use super::problem::problem;
#[cfg(target_os = "linux")]
use super::ring::{Ring, RingBackend};
use super::target::Layout;
use super::{Measured, Outcome};
use crate::recording::clock::{Punctual, Usage, ns_of};
use crate::recording::load::StopReason;
use crate::recording::load::carrier::Backend;
use crate::recording::load::drive::Drive;
use crate::recording::load::patience::Patience;
use crate::recording::load::record::Record;
use crate::recording::load::workers::{Shared, Workers};
use crate::systems::storage::soft::backend::SoftBackend;
use crate::systems::storage::soft::device::SoftDevice;
use crate::systems::storage::workloads::request::Source;

/// Name of the target in tables.
pub const STATION: &str = "device";
/// Maximum number of threads.
const WORKER_LIMIT: u32 = 256;

/// The operations to carry out.
pub struct Asked<'a> {
    /// How.
    pub job: &'a Job,
    /// Which requests.
    pub source: Box<dyn Source>,
    /// Requests that are longer (B) are carried out in pieces.
    pub piece_bytes: u32,
}

/// Carry out `asked` on its target, or on the soft `device`; `content` is returned with the result.
///
/// # Errors
///
/// If it cannot be begun.
pub fn carry<C: Content + 'static>(
    asked: Asked<'_>,
    content: C,
    device: Option<&mut SoftDevice>,
    is_wanted: &mut dyn FnMut() -> bool,
) -> Result<(Measured, C), EngineError> {
    if let Some(device) = device {
        return on_soft(asked, content, device, is_wanted);
    }
    if asked.job.interface == Interface::Threads {
        return on_threads(asked, content, is_wanted);
    }
    #[cfg(target_os = "linux")]
    let refusal = {
        let mut buffers = asked.buffers()?;
        match Ring::new(asked.place_count(), &asked.files(), &buffers) {
            Ok(ring) => {
                asked.fill(&mut buffers);
                return Ok(on_ring(asked, content, ring, buffers, is_wanted));
            }
            Err(error) => error,
        }
    };
    #[cfg(not(target_os = "linux"))]
    let refusal = EngineError::refused(
        "io_uring is an interface of Linux",
        "use the interface threads",
    );
    if asked.job.interface != Interface::Auto {
        return Err(refusal);
    }
    let job = Job {
        interface: Interface::Threads,
        ..asked.job.clone()
    };
    let asked = Asked { job: &job, ..asked };
    let (mut measured, content) = on_threads(asked, content, is_wanted)?;
    measured
        .facts
        .push(("io_uring refused", refusal.to_string()));
    Ok((measured, content))
}

#[cfg(target_os = "linux")]
fn on_ring<C: Content>(
    asked: Asked<'_>,
    content: C,
    mut ring: Ring,
    mut buffers: Buffers,
    is_wanted: &mut dyn FnMut() -> bool,
) -> (Measured, C) {
    let (job, files) = (asked.job, asked.files());
    let _punctual = Punctual::begin();
    let mut backend = RingBackend::new(&mut ring, &files, &mut buffers);
    let run = asked.parts(content).drive(&mut backend, is_wanted);
    let mut facts = vec![("interface", Interface::IoUring.name().to_owned())];
    facts.extend(backend.facts().named());
    drop(backend);
    if run.load.outstanding_count() > 0 {
        // The system may still write into the buffers: they are never released.
        std::mem::forget(buffers);
    }
    run.measured(job, facts)
}

fn on_soft<C: Content>(
    asked: Asked<'_>,
    content: C,
    device: &mut SoftDevice,
    is_wanted: &mut dyn FnMut() -> bool,
) -> Result<(Measured, C), EngineError> {
    let job = asked.job;
    let mut buffers = asked.buffers()?;
    asked.fill(&mut buffers);
    let mut backend = SoftBackend::new(device, &mut buffers);
    let run = asked.parts(content).drive(&mut backend, is_wanted);
    let facts = vec![("interface", "soft".to_owned())];
    let (mut measured, content) = run.measured(job, facts);
    measured.truth = Some(device.truth());
    Ok((measured, content))
}

fn on_threads<C: Content + 'static>(
    asked: Asked<'_>,
    content: C,
    is_wanted: &mut dyn FnMut() -> bool,
) -> Result<(Measured, C), EngineError> {
    let job = asked.job;
    let mut buffers = asked.buffers()?;
    asked.fill(&mut buffers);
    let calls = Calls::new(&asked.files(), buffers);
    let Parts {
        load,
        carrier,
        record,
        patience,
    } = asked.parts(content);
    let facts = vec![
        ("interface", Interface::Threads.name().to_owned()),
        ("threads", load.place_count().to_string()),
    ];
    let _punctual = Punctual::begin();
    let before = Usage::now();
    let shared = Shared::new(load, carrier, record, patience);
    let shared = Workers::run(shared, calls, is_wanted).map_err(|cause| {
        let cure = "ask for a smaller depth, or raise the limit of threads (ulimit -u)";
        EngineError::system("starting a thread", cause, cure)
    })?;
    let run = Finished {
        usage: Usage::now().since(&before),
        load: shared.load,
        carrier: shared.carrier,
        record: shared.record,
        end_ns: shared.end_ns,
        call_count: shared.call_count,
        breakage: None,
    };
    Ok(run.measured(job, facts))
}

impl Asked<'_> {
    fn place_count(&self) -> u32 {
        places(self.job, self.source.as_ref())
    }

    fn is_nothing(&self) -> bool {
        matches!(self.job.target, TargetPlan::Nothing { .. })
    }

    fn buffers(&self) -> Result<Buffers, EngineError> {
        let bytes = if self.is_nothing() {
            1
        } else {
            self.piece_bytes
        };
        Buffers::new(self.place_count(), bytes)
    }

    fn fill(&self, buffers: &mut Buffers) {
        Pattern::new(self.job.seed, self.job.data.compressible_share).fill(buffers.all());
    }

    /// Return the descriptors of the files; none if the system is not involved.
    fn files(&self) -> Vec<i32> {
        match &self.job.target {
            TargetPlan::Files { files, .. } => files.iter().map(|file| file.fd).collect(),
            TargetPlan::Nothing { .. } | TargetPlan::Soft { .. } => Vec::new(),
        }
    }

    fn parts<C>(self, content: C) -> Parts<C> {
        let (job, place_count) = (self.job, self.place_count());
        let layout = Layout::new(&job.target, self.piece_bytes);
        Parts {
            load: carrier::load(job, self.source, place_count),
            carrier: Blocks::new(job, layout, content),
            record: Record::new(job.sample_every_s.map(ns_of)),
            patience: Patience::new(job.drain_s, job.silence_s),
        }
    }
}

/// The parts that every interface needs.
struct Parts<C> {
    load: Load,
    carrier: Blocks<C>,
    record: Record,
    patience: Patience,
}

impl<C: Content> Parts<C> {
    /// Run on `backend` to the end; if it breaks, earlier measurements are kept.
    fn drive<B: Backend<Operation, Error = EngineError>>(
        self,
        backend: &mut B,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Finished<C> {
        let mut drive = Drive {
            load: self.load,
            carrier: self.carrier,
            record: self.record,
            patience: self.patience,
            is_wanted,
        };
        let before = Usage::now();
        backend.start();
        let (end_ns, breakage) = match drive.run(backend) {
            Ok(end_ns) => (end_ns, None),
            Err(error) => {
                let now_ns = backend.now_ns();
                drive.load.stop(StopReason::InterfaceFailed, now_ns);
                (now_ns, Some(format!("{error}: {}", error.cure())))
            }
        };
        Finished {
            usage: Usage::now().since(&before),
            load: drive.load,
            carrier: drive.carrier,
            record: drive.record,
            end_ns,
            call_count: backend.call_count(),
            breakage,
        }
    }
}

/// A run that is over.
struct Finished<C> {
    usage: Usage,
    load: Load,
    carrier: Blocks<C>,
    record: Record,
    end_ns: u64,
    call_count: u64,
    /// Why the interface broke, if it did.
    breakage: Option<String>,
}

impl<C> Finished<C> {
    fn measured(mut self, job: &Job, facts: Vec<(&'static str, String)>) -> (Measured, C) {
        let problem = self
            .breakage
            .or_else(|| problem(job, &self.load, self.end_ns));
        let measured = Measured {
            outcome: Outcome::new(&mut self.load, STATION, self.record, self.end_ns, problem),
            continued_count: self.carrier.continued_count(),
            counters: self.load.source().0.counters(),
            usage: self.usage,
            call_count: self.call_count,
            facts,
            findings: None,
            truth: None,
        };
        (measured, self.carrier.content)
    }
}

/// Return how many requests of `source` may be outstanding at once.
fn places(job: &Job, source: &dyn Source) -> u32 {
    let (limit, unlimited) = match job.interface {
        Interface::IoUring | Interface::Auto => (32_768, job.place_limit),
        Interface::Threads => (WORKER_LIMIT, job.place_limit.min(64)),
    };
    let depth = |depth: u32| if depth == u32::MAX { unlimited } else { depth };
    let sum: u64 = source
        .streams()
        .iter()
        .map(|one| u64::from(depth(one.depth)))
        .sum();
    u32::try_from(sum).unwrap_or(limit).clamp(1, limit)
}
