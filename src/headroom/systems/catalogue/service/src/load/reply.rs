//! Replies of a catalogue, as a client reads them.

use super::failure::Failure;
use crate::wire::{CAN, EOT};

/// Finds the end of a reply in bytes that come in pieces, and looks at each byte once.
#[derive(Clone, Copy, Debug)]
pub struct End {
    mark_count: usize,
    seen_bytes: usize,
    /// Where the first mark is.
    body_bytes: Option<usize>,
}

impl End {
    /// Return a search in replies of the protocol with this number.
    pub const fn new(protocol: u8) -> Self {
        Self {
            mark_count: if protocol > 1 { 2 } else { 1 },
            seen_bytes: 0,
            body_bytes: None,
        }
    }

    /// Return the length (B) of the reply without and with its end mark, once it is complete.
    pub fn find(&mut self, bytes: &[u8]) -> Option<(usize, usize)> {
        for (at, byte) in bytes.iter().enumerate().skip(self.seen_bytes) {
            self.seen_bytes = at + 1;
            if *byte != EOT {
                continue;
            }
            match self.body_bytes {
                None if self.mark_count > 1 => self.body_bytes = Some(at),
                None => return Some((at, at + 1)),
                Some(body) => return Some((body, at + 1)),
            }
        }
        None
    }
}

/// Return whether a line of the reply is `wanted`.
///
/// # Errors
///
/// If the reply is a refusal, perhaps after rows, or is none.
pub fn judge(body: &[u8], wanted: &str) -> Result<bool, Failure> {
    let text = String::from_utf8_lossy(body);
    let text = text
        .rfind(char::from(CAN))
        .map_or(&*text, |at| &text[at + 1..]);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let (code, message) = first.split_once(' ').unwrap_or((first, ""));
    match code.parse::<u16>() {
        Ok(0) => Ok(lines.any(|line| line == wanted)),
        Ok(code) => Err(Failure::Refused {
            code,
            message: message.to_owned(),
        }),
        Err(_) => Err(Failure::NotAReply(first.to_owned())),
    }
}

/// Return the session in an end mark.
pub fn session_of(mark: &[u8]) -> Option<String> {
    let inner = mark.strip_prefix(&[EOT])?.strip_suffix(&[EOT])?;
    let id = inner.strip_prefix(b"session")?;
    let is_id = !id.is_empty() && id.iter().all(u8::is_ascii_digit);
    is_id.then(|| String::from_utf8_lossy(id).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_mark_is_found_wherever_the_pieces_are_cut() {
        let reply = b"0\nalice\n\x04session12\x040\n";
        for cut in 0..reply.len() {
            let mut end = End::new(2);
            let first = end.find(&reply[..cut]);
            assert_eq!(first.or_else(|| end.find(reply)), Some((8, 19)), "{cut}");
        }
        assert_eq!(End::new(1).find(b"0\n\x04"), Some((2, 3)));
        assert_eq!(End::new(2).find(b"0\n\x04"), None);
    }

    #[test]
    fn a_refusal_counts_even_after_rows() {
        assert_eq!(judge(b"0 2\nf\nv\n", "v"), Ok(true));
        assert_eq!(judge(b"0\nf\n", "v"), Ok(false));
        assert_eq!(
            judge(b"0\nf\n\x189 lost\n", "f"),
            Err(Failure::Refused {
                code: 9,
                message: "lost".to_owned()
            })
        );
        assert_eq!(
            judge(b"HTTP/1.1 400\n", "f"),
            Err(Failure::NotAReply("HTTP/1.1 400".to_owned()))
        );
    }

    #[test]
    fn a_session_is_in_the_end_mark() {
        assert_eq!(session_of(b"\x04session12\x04"), Some("12".to_owned()));
        for mark in [
            &b"\x04\x04"[..],
            b"\x04",
            b"\x04sessionx\x04",
            b"\x04session\x04",
        ] {
            assert_eq!(session_of(mark), None);
        }
    }
}
