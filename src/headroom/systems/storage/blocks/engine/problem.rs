//! One-sentence explanations of failures, for the user.

use super::carrier::Load;
use super::job::{Job, TargetPlan};
use crate::recording::load::StopReason;
use crate::systems::storage::workloads::request::Kind;

/// Return a message to the user about what went wrong.
pub fn problem(job: &Job, load: &Load, end_ns: u64) -> Option<String> {
    if let Some(text) = misaligned(job, load) {
        return Some(text);
    }
    if let Some(text) = unanswered(load, end_ns) {
        return Some(text);
    }
    if let Some(fault) = load.source().0.fault() {
        return Some(format!(
            "the workload ended too early: {fault}; {}",
            fault.cure
        ));
    }
    match load.stopped()?.0 {
        StopReason::TargetFailed => {
            let last = load.failures().all().last()?;
            let error = std::io::Error::from_raw_os_error(last.errno);
            Some(format!(
                "the target failed {} requests in a row; the last kind of error: {error}",
                load.failures().in_a_row()
            ))
        }
        StopReason::Overload => Some(format!(
            "the target cannot keep up with the load: {} requests were due but had not started",
            load.waiting_count()
        )),
        _ => None,
    }
}

/// Return the rejected quantities that are not a multiple of what the target supports.
fn misaligned(job: &Job, load: &Load) -> Option<String> {
    let TargetPlan::Files { alignment, .. } = job.target else {
        return None;
    };
    let refused = load
        .failures()
        .all()
        .iter()
        .find(|one| one.errno == libc::EINVAL)?;
    let (offset, length) = (refused.first.offset, refused.first.length);
    let multiple = u64::from(alignment.max(1));
    let is_odd = offset % multiple != 0 || u64::from(length) % multiple != 0;
    is_odd.then(|| {
        format!(
            "the target accepts only multiples of {alignment} B and rejected {length} B at offset \
             {offset} B: choose a block size that is a multiple, or open it without O_DIRECT"
        )
    })
}

/// Return which requests the target had and never answered.
fn unanswered(load: &Load, end_ns: u64) -> Option<String> {
    let (oldest, begun_ns) = load.oldest_outstanding()?;
    let waited_s = end_ns.saturating_sub(begun_ns) as f64 / 1e9;
    let count = load.outstanding_count();
    let requests = if count == 1 { "request" } else { "requests" };
    Some(format!(
        "the target did not answer: {count} {requests} had not finished when the run ended, \
         the oldest ({}) after {waited_s:.1} s; earlier measurements are kept (`dmesg` may show \
         the cause)",
        in_words(oldest.kind, oldest.offset, oldest.length)
    ))
}

fn in_words(kind: Kind, offset: u64, length: u32) -> String {
    let name = match kind {
        Kind::Read => "a read",
        Kind::Write => "a write",
        Kind::Trim => "a trim",
        Kind::Sync | Kind::DataSync => return "a sync".to_owned(),
    };
    format!("{name} of {length} B at offset {offset}")
}
