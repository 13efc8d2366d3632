//! Paths of directories and entries.

use crate::refusal::{Answer, Code, Refusal};
use crate::store::tables::KEY_CHARACTERS;

/// An absolute path without `.`, `..` and doubled slashes: `/`, `/jobs`, `/jobs/2008`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(String);

impl Path {
    /// Return the root.
    pub fn root() -> Self {
        Self("/".into())
    }

    /// Return the path of `text`, relative to this directory.
    ///
    /// ```
    /// use headroom_catalogue::catalogue::path::Path;
    ///
    /// let here = Path::root().resolve("jobs")?;
    /// assert_eq!(here.resolve("../data//./raw")?.text(), "/data/raw");
    /// # Ok::<(), headroom_catalogue::refusal::Refusal>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The path is empty, too long, or holds a control character.
    pub fn resolve(&self, text: &str) -> Answer<Self> {
        if text.is_empty() {
            return Err(Refusal::new(Code::IllegalCommand, "a path is empty"));
        }
        if let Some(bad) = text.chars().find(|c| c.is_control()) {
            let message = format!(
                "a path may not hold the control character {:#04x}",
                bad as u32
            );
            return Err(Refusal::new(Code::IllegalCommand, message));
        }
        let start = if text.starts_with('/') { "" } else { &self.0 };
        let mut parts: Vec<&str> = start.split('/').filter(|part| !part.is_empty()).collect();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                name => parts.push(name),
            }
        }
        let found = format!("/{}", parts.join("/"));
        if found.chars().count() > KEY_CHARACTERS {
            let message = format!("a path has at most {KEY_CHARACTERS} characters");
            return Err(Refusal::new(Code::IllegalCommand, message));
        }
        Ok(Self(found))
    }

    /// Return the text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Return the directory and the last name; None for the root.
    pub fn split(&self) -> Option<(Self, &str)> {
        let at = self.0.rfind('/')?;
        let name = &self.0[at + 1..];
        let parent = if at == 0 { "/" } else { &self.0[..at] };
        (!name.is_empty()).then(|| (Self(parent.to_owned()), name))
    }

    /// Return the first name, by which directories are divided among databases; None for the root.
    pub fn first(&self) -> Option<&str> {
        self.0[1..]
            .split('/')
            .next()
            .filter(|name| !name.is_empty())
    }

    /// Return the path of `name` in this directory.
    pub fn child(&self, name: &str) -> String {
        if self.0 == "/" {
            format!("/{name}")
        } else {
            format!("{}/{name}", self.0)
        }
    }
}

/// Return the directory and the last part of `text`, which may be a pattern.
///
/// # Errors
///
/// The directory cannot be, or there is no last part.
pub fn split_last<'a>(here: &Path, text: &'a str) -> Answer<(Path, &'a str)> {
    let (directory, last) = match text.rfind('/') {
        Some(0) => ("/", &text[1..]),
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (".", text),
    };
    if last.is_empty() || last == "." || last == ".." {
        let message = format!("`{text}` names no entry");
        return Err(Refusal::new(Code::NotFound, message));
    }
    Ok((here.resolve(directory)?, last))
}

/// Refuse a name that no entry or directory may have.
///
/// # Errors
///
/// It is empty, too long, `.` or `..`, or holds a slash or a control character.
pub fn check_name(name: &str) -> Answer<()> {
    let is_fine = !matches!(name, "" | "." | "..")
        && !name.contains('/')
        && !name.chars().any(char::is_control);
    if !is_fine {
        let message = format!("`{}` cannot be a name", name.escape_debug());
        return Err(Refusal::new(Code::IllegalCommand, message));
    }
    if name.chars().count() > KEY_CHARACTERS {
        let message = format!("a name has at most {KEY_CHARACTERS} characters");
        return Err(Refusal::new(Code::IllegalCommand, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_from_where_one_is() {
        let here = Path::root().resolve("/a/b").unwrap();
        for (text, found) in [
            (".", "/a/b"),
            ("..", "/a"),
            ("../../../..", "/"),
            ("c//d/", "/a/b/c/d"),
            ("/x/./y/../z", "/x/z"),
        ] {
            assert_eq!(here.resolve(text).unwrap().text(), found, "{text}");
        }
        assert!(here.resolve("").is_err());
        assert!(here.resolve("a\u{4}b").is_err());
        assert!(here.resolve(&"x".repeat(KEY_CHARACTERS + 1)).is_err());
    }

    #[test]
    fn a_path_has_a_directory_and_a_name() {
        let root = Path::root();
        assert_eq!(root.split(), None);
        assert_eq!(root.first(), None);
        let path = root.resolve("/a/b").unwrap();
        assert_eq!(path.split(), Some((root.resolve("/a").unwrap(), "b")));
        assert_eq!(path.first(), Some("a"));
        assert_eq!(path.child("c"), "/a/b/c");
        assert_eq!(root.child("c"), "/c");
    }

    #[test]
    fn the_last_part_may_be_a_pattern() {
        let here = Path::root().resolve("/a").unwrap();
        assert_eq!(
            split_last(&here, "b/*.root").unwrap(),
            (here.resolve("b").unwrap(), "*.root")
        );
        assert_eq!(split_last(&here, "/x").unwrap(), (Path::root(), "x"));
        assert_eq!(split_last(&here, "x").unwrap(), (here.clone(), "x"));
        for text in ["b/", "..", "a/."] {
            assert!(split_last(&here, text).is_err(), "{text}");
        }
    }
}
