//! Reasons why operations stop arriving.

/// Why operations stopped arriving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The time was over.
    Seconds,
    /// The given number of operations had arrived.
    Requests,
    /// The given number of bytes had been requested.
    Bytes,
    /// The workload was at its end.
    SourceEnded,
    /// The user requested the end.
    Interrupted,
    /// The target failed again and again.
    TargetFailed,
    /// The target has not answered anything for too long.
    TargetSilent,
    /// The interface to the system broke.
    InterfaceFailed,
    /// Far more operations arrived than the target could take.
    Overload,
}

impl StopReason {
    /// Return the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Requests => "requests",
            Self::Bytes => "bytes",
            Self::SourceEnded => "source_ended",
            Self::Interrupted => "interrupted",
            Self::TargetFailed => "target_failed",
            Self::TargetSilent => "target_silent",
            Self::InterfaceFailed => "interface_failed",
            Self::Overload => "overload",
        }
    }
}
