//! How the server behaves on the wire.

use std::time::Duration;

use ipnet::IpNet;

use super::sessions::Sessions;
use crate::wire::lines::Limits;

/// Settings of connections.
#[derive(Clone, Debug)]
pub struct Settings {
    /// First line of the greeting.
    pub name: String,
    /// Number of the protocol, 1 or 2.
    pub protocol: u8,
    /// Whether clients get session ids.
    pub sessions: Sessions,
    /// Whether only TLS is allowed.
    pub is_tls_required: bool,
    /// Number of the login line with a bearer token.
    pub token_number: u8,
    /// Networks of balancers. Each of their connections begins with a PROXY header, version 2.
    pub balancers: Vec<IpNet>,
    /// Connections at once, in total.
    pub max_connections: usize,
    /// Connections at once of a client's address, or of its /64 network in IPv6.
    pub max_connections_per_address: usize,
    /// Connections at once of a person.
    pub max_connections_per_person: usize,
    /// Limits on lines.
    pub lines: Limits,
    /// Time for greeting, TLS and login together.
    pub opening_timeout: Duration,
    /// Time between commands.
    pub idle_timeout: Duration,
    /// Time after which a silent peer is asked whether it is still there.
    pub keepalive_time: Duration,
    /// Time for a client to take in 16 KiB of a reply, or its end.
    pub write_timeout: Duration,
    /// Time that open transactions have to end when the server stops.
    pub drain_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "Headroom catalogue".to_owned(),
            protocol: 2,
            sessions: Sessions::No,
            is_tls_required: false,
            token_number: 6,
            balancers: Vec::new(),
            max_connections: 10_000,
            max_connections_per_address: 2_000,
            max_connections_per_person: 2_000,
            lines: Limits::default(),
            opening_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(1200),
            keepalive_time: Duration::from_secs(60),
            write_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(30),
        }
    }
}
