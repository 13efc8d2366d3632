//! Directories and persons that a server remembers. They may be old: see `guard`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::directory::{Directory, Person};
use super::path::Path;

/// Directories and persons, the most recently loaded ones.
#[derive(Debug)]
pub struct Cache {
    max_directories: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    directories: HashMap<Path, Arc<Directory>>,
    persons: HashMap<String, Arc<Person>>,
}

impl Cache {
    /// Return an empty cache of at most this many directories.
    pub fn new(max_directories: usize) -> Self {
        let kept = Mutex::default();
        Self {
            max_directories,
            kept,
        }
    }

    /// Return a directory.
    pub fn directory(&self, path: &Path) -> Option<Arc<Directory>> {
        self.kept().directories.get(path).cloned()
    }

    /// Remember a directory; if there are too many, one that comes to hand goes.
    pub fn keep_directory(&self, directory: &Arc<Directory>) {
        let mut kept = self.kept();
        if kept.directories.len() >= self.max_directories {
            let victim = kept.directories.keys().next().cloned();
            victim.map(|path| kept.directories.remove(&path));
        }
        let path = directory.path.clone();
        kept.directories.insert(path, Arc::clone(directory));
    }

    /// Return a person.
    pub fn person(&self, name: &str) -> Option<Arc<Person>> {
        self.kept().persons.get(name).cloned()
    }

    /// Remember a person; persons of older epochs go.
    pub fn keep_person(&self, person: &Arc<Person>) {
        let mut kept = self.kept();
        kept.persons.retain(|_, known| known.epoch >= person.epoch);
        kept.persons.insert(person.name.clone(), Arc::clone(person));
    }

    /// Forget directories that were found to be old, and a person.
    pub fn forget<'a>(&self, paths: impl IntoIterator<Item = &'a Path>, person: &str) {
        let mut kept = self.kept();
        for path in paths {
            kept.directories.remove(path);
        }
        kept.persons.remove(person);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
