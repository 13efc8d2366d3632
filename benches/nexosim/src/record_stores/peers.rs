//! The other stores: each as its own documents advise for records of a fixed size.

use std::collections::BTreeMap;
use std::hint::black_box;

use blart::TreeMap;
use congee::Congee;
use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};
use sweep_bptree::BPlusTreeMap;

use crate::stores::{Record, Store};

/// A function that makes an empty store; one that needs files puts them into the folder.
type Make = fn(&str) -> Box<dyn Store>;

/// The peers by name.
pub const ALL: [(&str, Make); 5] = [
    ("BTreeMap", |_| Box::new(BTreeMap::<u32, Record>::new())),
    ("sweep-bptree", |_| {
        Box::new(BPlusTreeMap::<u32, Record>::new())
    }),
    ("blart", |_| Box::new(TreeMap::<[u8; 4], Record>::new())),
    ("congee", |_| Box::new(Places::default())),
    ("LMDB", |folder| Box::new(Lmdb::new(folder))),
];

/// Copies records to one user, as `Retrieve` does.
struct User(Record, u64);

impl User {
    const fn new() -> Self {
        Self([0; 16], 0)
    }

    #[inline]
    fn take(&mut self, record: &Record) {
        self.0 = *record;
        black_box(&mut self.0);
        self.1 += 1;
    }
}

impl Store for BTreeMap<u32, Record> {
    fn name(&self) -> String {
        "BTreeMap".to_owned()
    }

    fn insert(&mut self, records: &[Record]) -> u64 {
        for record in records {
            Self::insert(self, record[0], *record);
        }
        records.len() as u64
    }

    fn look_up(&self, keys: &[u32]) -> u64 {
        let mut user = User::new();
        keys.iter()
            .filter_map(|key| self.get(key))
            .for_each(|record| user.take(record));
        user.1
    }

    fn scan(&self) -> u64 {
        let mut user = User::new();
        self.values().for_each(|record| user.take(record));
        user.1
    }
}

impl Store for BPlusTreeMap<u32, Record> {
    fn name(&self) -> String {
        "sweep-bptree".to_owned()
    }

    fn insert(&mut self, records: &[Record]) -> u64 {
        for record in records {
            Self::insert(self, record[0], *record);
        }
        records.len() as u64
    }

    fn look_up(&self, keys: &[u32]) -> u64 {
        let mut user = User::new();
        keys.iter()
            .filter_map(|key| self.get(key))
            .for_each(|record| user.take(record));
        user.1
    }

    fn scan(&self) -> u64 {
        let mut user = User::new();
        self.iter().for_each(|(_, record)| user.take(record));
        user.1
    }
}

/// Bytes in the order of the numbers.
impl Store for TreeMap<[u8; 4], Record> {
    fn name(&self) -> String {
        "blart".to_owned()
    }

    fn insert(&mut self, records: &[Record]) -> u64 {
        for record in records {
            Self::insert(self, record[0].to_be_bytes(), *record);
        }
        records.len() as u64
    }

    fn look_up(&self, keys: &[u32]) -> u64 {
        let mut user = User::new();
        let found = keys.iter().filter_map(|key| self.get(&key.to_be_bytes()));
        found.for_each(|record| user.take(record));
        user.1
    }

    fn scan(&self) -> u64 {
        let mut user = User::new();
        self.values().for_each(|record| user.take(record));
        user.1
    }
}

/// A tree of places, beside an array of records: its values are words.
#[derive(Default)]
struct Places {
    tree: Congee<usize, usize>,
    records: Vec<Record>,
}

impl Store for Places {
    fn name(&self) -> String {
        "congee".to_owned()
    }

    fn insert(&mut self, records: &[Record]) -> u64 {
        let guard = self.tree.pin();
        for record in records {
            let place = self.records.len();
            self.tree
                .insert(record[0] as usize, place, &guard)
                .expect("memory");
            self.records.push(*record);
        }
        records.len() as u64
    }

    fn look_up(&self, keys: &[u32]) -> u64 {
        let (mut user, guard) = (User::new(), self.tree.pin());
        let places = keys
            .iter()
            .filter_map(|&key| self.tree.get(&(key as usize), &guard));
        places.for_each(|place| user.take(&self.records[place]));
        user.1
    }

    fn scan(&self) -> u64 {
        let (mut user, guard) = (User::new(), self.tree.pin());
        let mut found = vec![(0_usize, 0_usize); 4096];
        let mut from = 0;
        loop {
            let count = self.tree.range(&from, &usize::MAX, &mut found, &guard);
            found[..count]
                .iter()
                .for_each(|one| user.take(&self.records[one.1]));
            if count < found.len() {
                return user.1;
            }
            from = found[count - 1].0 + 1;
        }
    }
}

/// A file in memory, without waiting for any disk.
struct Lmdb {
    env: Env,
    records: Database<Bytes, Bytes>,
}

impl Lmdb {
    fn new(folder: &str) -> Self {
        let mut options = EnvOpenOptions::new();
        options.map_size(16 << 30);
        // SAFETY: nobody else opens the file, and what a crash leaves of it is not read.
        let env = unsafe {
            options.flags(EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP | EnvFlags::NO_READ_AHEAD);
            options.open(folder).expect("an empty folder")
        };
        let mut writing = env.write_txn().expect("a transaction");
        let records = env.create_database(&mut writing, None).expect("a table");
        writing.commit().expect("room");
        Self { env, records }
    }
}

impl Store for Lmdb {
    fn name(&self) -> String {
        "LMDB".to_owned()
    }

    fn insert(&mut self, records: &[Record]) -> u64 {
        let mut writing = self.env.write_txn().expect("a transaction");
        for record in records {
            let (key, bytes) = (record[0].to_be_bytes(), record.map(u32::to_ne_bytes));
            self.records
                .put(&mut writing, &key, bytes.as_flattened())
                .expect("room");
        }
        writing.commit().expect("room");
        records.len() as u64
    }

    fn look_up(&self, keys: &[u32]) -> u64 {
        let (mut user, reading) = (User::new(), self.env.read_txn().expect("a transaction"));
        for key in keys {
            let found = self
                .records
                .get(&reading, &key.to_be_bytes())
                .expect("a sound file");
            found.into_iter().for_each(|bytes| user.take(&words(bytes)));
        }
        user.1
    }

    fn scan(&self) -> u64 {
        let (mut user, reading) = (User::new(), self.env.read_txn().expect("a transaction"));
        for entry in self.records.iter(&reading).expect("a sound file") {
            user.take(&words(entry.expect("a sound file").1));
        }
        user.1
    }
}

#[inline]
fn words(bytes: &[u8]) -> Record {
    let mut record = [0; 16];
    for (word, four) in record.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_ne_bytes(*four);
    }
    record
}
