//! Counts of one client: what its connections cost, counted where the bytes pass.

use std::cell::Cell;

/// Counts since the client began, or since they were set back.
#[derive(Debug, Default)]
pub struct Meter {
    /// Times that the client sent something and then waited for an answer. A new connection is one:
    /// the system sends a packet and waits for one.
    pub message_pairs: Cell<u64>,
    /// Bytes (B) sent, with those of TLS.
    pub sent_bytes: Cell<u64>,
    /// Bytes (B) received, with those of TLS.
    pub received_bytes: Cell<u64>,
    /// Connections opened.
    pub connections: Cell<u64>,
    /// Handshakes of TLS with certificates.
    pub full_handshakes: Cell<u64>,
    /// Handshakes of TLS that a ticket shortened.
    pub resumed_handshakes: Cell<u64>,
    /// Sessions of the catalogue that were resumed.
    pub resumed_sessions: Cell<u64>,
    /// Whether the last packet was the client's.
    has_spoken: Cell<bool>,
}

/// Add `more` to a count.
pub fn add(count: &Cell<u64>, more: u64) {
    count.set(count.get() + more);
}

impl Meter {
    /// Note a new connection. Its last packet is the client's, so a greeting is one more answer.
    pub fn connected(&self) {
        add(&self.connections, 1);
        add(&self.message_pairs, 1);
        self.has_spoken.set(true);
    }

    /// Note that `count` bytes were sent.
    pub fn sent(&self, count: usize) {
        add(&self.sent_bytes, count as u64);
        self.has_spoken.set(true);
    }

    /// Note that `count` bytes were received; none is the end of the connection.
    pub fn received(&self, count: usize) {
        add(&self.received_bytes, count as u64);
        if count > 0 && self.has_spoken.replace(false) {
            add(&self.message_pairs, 1);
        }
    }

    /// Set all counts back.
    pub fn reset(&self) {
        let Self {
            message_pairs,
            sent_bytes,
            received_bytes,
            connections,
            full_handshakes,
            resumed_handshakes,
            resumed_sessions,
            has_spoken: _,
        } = self;
        for count in [
            message_pairs,
            sent_bytes,
            received_bytes,
            connections,
            full_handshakes,
            resumed_handshakes,
            resumed_sessions,
        ] {
            count.set(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_something_sent_and_its_answer_however_many_pieces_they_have() {
        let meter = Meter::default();
        meter.connected();
        meter.received(30);
        assert_eq!(meter.message_pairs.get(), 2, "the connection, the greeting");
        meter.sent(5);
        meter.sent(5);
        meter.received(3);
        meter.received(3);
        assert_eq!(meter.message_pairs.get(), 3);
        meter.sent(1);
        meter.received(0);
        assert_eq!(meter.message_pairs.get(), 3, "no answer came");
        assert_eq!(meter.sent_bytes.get(), 11);
        assert_eq!(meter.received_bytes.get(), 36);
    }
}
