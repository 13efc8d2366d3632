//! Directories, persons and their certificates that a server remembers. They may be old: see `guard`.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::directory::{Directory, Person};
use super::path::Path;

/// Certificates and persons that are remembered.
const MAX_PERSONS: usize = 10_000;

/// Directories, persons and certificates, the most recently loaded ones.
#[derive(Debug)]
pub struct Cache {
    max_directories: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    directories: HashMap<Path, Arc<Directory>>,
    persons: HashMap<String, Arc<Person>>,
    /// Persons of the subjects of certificates, and the epoch at which they were.
    subjects: HashMap<String, (String, i64)>,
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

    /// Remember a directory.
    pub fn keep_directory(&self, directory: &Arc<Directory>) {
        let mut kept = self.kept();
        make_room(&mut kept.directories, self.max_directories);
        let path = directory.path.clone();
        kept.directories.insert(path, Arc::clone(directory));
    }

    /// Return a person.
    pub fn person(&self, name: &str) -> Option<Arc<Person>> {
        self.kept().persons.get(name).cloned()
    }

    /// Remember a person; what is of older epochs goes.
    pub fn keep_person(&self, person: &Arc<Person>) {
        let mut kept = self.kept();
        kept.persons.retain(|_, known| known.epoch >= person.epoch);
        kept.subjects.retain(|_, (_, epoch)| *epoch >= person.epoch);
        make_room(&mut kept.persons, MAX_PERSONS);
        kept.persons.insert(person.name.clone(), Arc::clone(person));
    }

    /// Return the person of a certificate's subject, and the epoch at which it was so.
    pub fn subject(&self, subject: &str) -> Option<(String, i64)> {
        self.kept().subjects.get(subject).cloned()
    }

    /// Remember the person of a certificate's subject at an epoch; without one, forget it.
    pub fn keep_subject(&self, subject: &str, found: Option<(String, i64)>) {
        let mut kept = self.kept();
        kept.subjects.remove(subject);
        if let Some(found) = found {
            make_room(&mut kept.subjects, MAX_PERSONS);
            kept.subjects.insert(subject.to_owned(), found);
        }
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

/// Make room for one more: the one that comes to hand goes.
fn make_room<K: Clone + Eq + Hash, V>(kept: &mut HashMap<K, V>, most: usize) {
    if kept.len() >= most {
        let victim = kept.keys().next().cloned();
        victim.map(|key| kept.remove(&key));
    }
}
