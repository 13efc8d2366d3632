//! Names of files and subfolders, written without allocation.

use std::ffi::CStr;

use super::operations::Operation;

/// A subfolder, a thread and a file, each with up to 20 digits, and the separators.
const LONGEST: usize = 72;

/// A path relative to the folder of the run.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Name {
    const fn new() -> Self {
        Self {
            bytes: [0; LONGEST],
            length: 0,
        }
    }

    /// Return the name of the file of an operation, in its subfolder if files are spread.
    pub fn of_file(operation: &Operation, thread: usize, is_spread: bool) -> Self {
        let mut name = if is_spread {
            let mut folder = Self::of_folder(operation.subdirectory);
            folder.push(b'/');
            folder
        } else {
            Self::new()
        };
        name.push_number(thread as u64);
        name.push(b'.');
        name.push_number(operation.file);
        name
    }

    /// Return the name of a subfolder.
    pub fn of_folder(subdirectory: u32) -> Self {
        let mut name = Self::new();
        name.push(b's');
        name.push_number(u64::from(subdirectory));
        name
    }

    /// Return the name in the system's form.
    pub fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    #[allow(clippy::cast_possible_truncation, reason = "a digit is a byte")]
    fn push_number(&mut self, number: u64) {
        let (begin, mut rest) = (self.length, number);
        loop {
            self.push(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.bytes[begin..self.length].reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::storage::postmark::operations::{Kind, Phase};

    #[test]
    fn a_name_tells_folder_thread_and_file() {
        let operation = Operation {
            phase: Phase::Creation,
            kind: Kind::Create,
            file: 1_203,
            slot: 0,
            subdirectory: u32::MAX,
            offset: 0,
            bytes: 0,
            ends_transaction: false,
        };
        let text = |is_spread| Name::of_file(&operation, 10, is_spread).text().to_owned();
        assert_eq!(text(false).to_bytes(), b"10.1203");
        assert_eq!(text(true).to_bytes(), b"s4294967295/10.1203");
        let longest = Operation {
            file: u64::MAX,
            ..operation
        };
        let name = Name::of_file(&longest, usize::MAX, true);
        assert_eq!(name.text().to_bytes().len(), 11 + 1 + 20 + 1 + 20);
    }
}
