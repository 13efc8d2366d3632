//! Why requests stop arriving.

/// Why requests stopped arriving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The time was over.
    Seconds,
    /// So many requests had arrived.
    Requests,
    /// So many bytes were asked for.
    Bytes,
    /// The workload was at its end.
    SourceEnded,
    /// Somebody asked for the end.
    Interrupted,
    /// The target failed again and again.
    TargetFailed,
    /// The target has not answered anything for too long.
    TargetSilent,
    /// The interface to the system broke.
    InterfaceFailed,
    /// Far more requests arrived than the target could take.
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
