//! The opening of a connection: greeting, options, login block.

use crate::refusal::{Answer, Code, Refusal};

/// The choice of a client after the greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// No encryption.
    Plain,
    /// TLS follows `OK`.
    Tls,
    /// A session is resumed without encryption; no `OK` is sent.
    Resume(String),
    /// A session is resumed in TLS, which follows `OK`.
    ResumeTls(String),
}

/// Return the greeting. The client reads one character of the protocol's number.
pub fn greeting(name: &str, protocol: u8, has_tls: bool, has_sessions: bool) -> String {
    let options = match (has_tls, has_sessions) {
        (false, false) => "plain",
        (false, true) => "plain resume",
        (true, false) => "plain ssl",
        (true, true) => "plain ssl resume resumeSSL",
    };
    format!("{name}\nProtocol {protocol}\n{options}\n")
}

/// Return the choice of an option line.
///
/// # Errors
///
/// If no such option exists.
pub fn choice(line: &str) -> Answer<Choice> {
    let line = line.trim();
    let id = |text: &str| {
        let text = text.trim();
        let is_id = (1..=39).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        is_id.then(|| text.to_owned()).ok_or_else(unknown_option)
    };
    match line {
        "plain" => Ok(Choice::Plain),
        "ssl" => Ok(Choice::Tls),
        _ => match (line.strip_prefix("resumeSSL"), line.strip_prefix("resume")) {
            (Some(text), _) => Ok(Choice::ResumeTls(id(text)?)),
            (None, Some(text)) => Ok(Choice::Resume(id(text)?)),
            (None, None) => Err(unknown_option()),
        },
    }
}

fn unknown_option() -> Refusal {
    let message = "unknown option; send `plain`, `ssl`, `resume` or `resumeSSL` with a session id";
    Refusal::new(Code::IllegalCommand, message)
}

/// The login block: `<number> <value>` lines.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// Line 0.
    pub name: String,
    /// Line 5. Never print it.
    pub password: Option<String>,
    /// The line of the token's number. Never print it.
    pub token: Option<String>,
}

impl Login {
    /// Take in a line; lines with other numbers are ignored, as AMGA may know more of them.
    pub fn add(&mut self, line: &str, token_number: u8) {
        let (number, value) = line.split_once(' ').unwrap_or((line, ""));
        match number.parse::<u8>() {
            Ok(0) => value.clone_into(&mut self.name),
            Ok(5) => self.password = Some(value.to_owned()),
            Ok(number) if number == token_number => self.token = Some(value.to_owned()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_understood() {
        assert_eq!(choice("plain").unwrap(), Choice::Plain);
        assert_eq!(choice("resume12").unwrap(), Choice::Resume("12".into()));
        assert_eq!(
            choice("resumeSSL12").unwrap(),
            Choice::ResumeTls("12".into())
        );
    }

    #[test]
    fn options_that_do_not_exist_are_refused() {
        for line in [
            "",
            "tls",
            "resume",
            "resumex",
            "resumeSSL",
            "GET / HTTP/1.1",
        ] {
            assert_eq!(
                choice(line).unwrap_err().code,
                Code::IllegalCommand,
                "{line}"
            );
        }
    }

    #[test]
    fn the_login_block_is_read_by_its_numbers() {
        let mut login = Login::default();
        for line in ["0 alice", "5 a b", "9 x", "6 t", "rubbish"] {
            login.add(line, 6);
        }
        assert_eq!(login.name, "alice");
        assert_eq!(login.password.as_deref(), Some("a b"));
        assert_eq!(login.token.as_deref(), Some("t"));
    }
}
