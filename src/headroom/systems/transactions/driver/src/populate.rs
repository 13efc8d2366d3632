//! Databases are loaded, copied for a run, and dropped.
//!
//! Each part of the rows is a transaction that also notes its number, so that a load that was
//! killed goes on where it stopped. A run gets a copy: on a database that other runs have left,
//! throughput falls from run to run.

use std::collections::BTreeMap;
use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use headroom::simulation::kernel::random::stream::open;
use headroom_transactions::systems::transactions::inputs::{
    Constants, Part, Population, Table, Workload,
};
use tokio::runtime::{Builder, Runtime};

use crate::database::mark::{self, Mark, Stage, check_name, connect};
use crate::database::{Link, Manner, Rows, schema, sqlite};
use crate::error::{DriverError, Failure};
use crate::target::{Place, Product};

const PARTS: &str = "headroom_part";
/// Source of the constants among those of a seed.
const FOR_CONSTANTS: u64 = u64::MAX;
/// A server that makes copies by files rather than through its log, since this version.
const COPIES_FILES: i64 = 150_000;

/// What is to be loaded.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Name of the database.
    pub name: &'a str,
    /// What.
    pub workload: Workload,
    /// Warehouses or branches.
    pub scale: u32,
    /// Seed of the rows and of the constants.
    pub seed: u64,
    /// Parts that are loaded at once.
    pub connections: usize,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loaded {
    /// Parts that were there already.
    pub kept: usize,
    /// Parts that were loaded now.
    pub loaded: usize,
    /// Time (s).
    pub time_s: f64,
}

/// Return a runtime for one thread.
///
/// # Errors
///
/// If the system has no resources for it.
pub fn runtime() -> Result<Runtime, DriverError> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(|error| DriverError::Job(format!("the system refuses a runtime: {error}")))
}

/// Load a database, or the rest of it.
///
/// # Errors
///
/// If the server refuses, or there is another database of this name.
pub fn load(place: &Place, wanted: &Wanted<'_>) -> Result<Loaded, DriverError> {
    check_name(wanted.name)?;
    if wanted.scale == 0 {
        return Err(DriverError::Job("a scale of 0 has no rows".to_owned()));
    }
    let begun = Instant::now();
    let runtime = runtime()?;
    let (mark, done) = runtime.block_on(prepare(place, wanted))?;
    let parts = wanted.workload.parts(wanted.scale);
    let missing: Vec<Part> = parts
        .iter()
        .copied()
        .filter(|part| !done.contains(&part.key()))
        .collect();
    let kept = parts.len() - missing.len();
    if mark.stage == Stage::Loading {
        fill(place, wanted, mark, &missing)?;
        runtime.block_on(finish(place, wanted.name, mark))?;
    }
    Ok(Loaded {
        kept,
        loaded: missing.len(),
        time_s: begun.elapsed().as_secs_f64(),
    })
}

/// Make the database with its tables, unless it is there; return its mark and the parts it has.
async fn prepare(place: &Place, wanted: &Wanted<'_>) -> Result<(Mark, Vec<u64>), DriverError> {
    let name = wanted.name;
    let mark = Mark {
        workload: wanted.workload,
        scale: wanted.scale,
        seed: wanted.seed,
        constants: Constants::draw(&mut open(wanted.seed, FOR_CONSTANTS)),
        stage: Stage::Loading,
    };
    if !mark::exists(place, name).await? {
        mark::check_server(place).await?;
        make(place, name).await?;
    }
    let mut link = connect(place, name, loading()).await?;
    let making = || DriverError::of(format!("making `{name}`"));
    if mark::is_empty(&mut link, name).await.map_err(making())? {
        mark::write(&mut link, mark).await.map_err(making())?;
    }
    let found = mark::read(&mut link, name).await?;
    if (Mark {
        stage: Stage::Loading,
        ..found
    }) != mark
        || found.stage == Stage::Copied
    {
        return Err(DriverError::Database(format!(
            "the database `{name}` holds something else ({:?} of scale {}, seed {}); choose \
             another name, or drop it",
            found.workload, found.scale, found.seed
        )));
    }
    if found.stage == Stage::Loaded {
        mark::check_fresh(&mut link, found, name).await?;
        return Ok((
            found,
            wanted
                .workload
                .parts(wanted.scale)
                .iter()
                .map(|one| one.key())
                .collect(),
        ));
    }
    make_tables(&mut link, mark.workload)
        .await
        .map_err(making())?;
    let rows = link.ask(&format!("select part from {PARTS}")).await;
    let rows = rows.map_err(DriverError::of("reading which parts are loaded"))?;
    let numbers = rows
        .iter()
        .map(|row| row[0].number().map(i64::cast_unsigned));
    let done = numbers.collect::<Result<_, _>>();
    Ok((
        found,
        done.map_err(DriverError::of("reading which parts are loaded"))?,
    ))
}

const fn loading() -> Manner {
    Manner {
        isolation: crate::database::Isolation::Default,
        pipelines: false,
        loads: true,
    }
}

async fn make(place: &Place, name: &str) -> Result<(), DriverError> {
    if place.product == Product::Sqlite {
        return fs::create_dir_all(&place.address)
            .map_err(|error| DriverError::file(&place.address, error));
    }
    let mut link = connect(place, mark::of_server(place.product), Manner::default()).await?;
    let made = link.tell(&format!("create database {name}")).await;
    made.map_err(|failure| {
        let right = match place.product {
            Product::Postgres => "alter role … createdb",
            _ => r"grant all on `headroom\_%`.* to …",
        };
        DriverError::Database(format!(
            "the server makes no database for this user: {failure}; give the right to by `{right}`"
        ))
    })
}

async fn make_tables(link: &mut Link, workload: Workload) -> Result<(), Failure> {
    let product = link.product();
    link.tell(&format!(
        "create table if not exists {PARTS} (part bigint primary key)"
    ))
    .await?;
    for &table in workload.tables() {
        link.tell(&schema::table(table, product)).await?;
    }
    Ok(())
}

fn fill(
    place: &Place,
    wanted: &Wanted<'_>,
    mark: Mark,
    missing: &[Part],
) -> Result<(), DriverError> {
    let loaded_us = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_micros();
    let population = Population {
        seed: mark.seed,
        constants: mark.constants,
        loaded_us: i64::try_from(loaded_us).unwrap_or_default(),
    };
    let next = AtomicUsize::new(0);
    let first_error = Mutex::new(None);
    let threads = match place.product {
        Product::Sqlite => 1,
        _ => wanted.connections.clamp(1, missing.len().max(1)),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let result = fill_some(place, wanted.name, &population, missing, &next);
                if let Err(error) = result {
                    next.store(missing.len(), Ordering::Relaxed);
                    first_error
                        .lock()
                        .expect("no thread panics with it")
                        .get_or_insert(error);
                }
            });
        }
    });
    first_error
        .into_inner()
        .expect("no thread panics with it")
        .map_or(Ok(()), Err)
}

fn fill_some(
    place: &Place,
    name: &str,
    population: &Population,
    missing: &[Part],
    next: &AtomicUsize,
) -> Result<(), DriverError> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let mut link = connect(place, name, loading()).await?;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(&part) = missing.get(number) else {
                return Ok(());
            };
            let loaded = fill_part(&mut link, population, part).await;
            loaded.map_err(DriverError::of(format!("loading {part:?}")))?;
            say(&format!("loaded {} of {} parts", number + 1, missing.len()));
        }
    })
}

/// Tell a person who looks on how far a load is.
fn say(text: &str) {
    let mut screen = std::io::stderr();
    if screen.is_terminal() {
        let _ = write!(screen, "\r{text}");
    }
}

async fn fill_part(link: &mut Link, population: &Population, part: Part) -> Result<(), Failure> {
    link.tell("begin").await?;
    if let Link::Sqlite(link) = link {
        insert(link, population, part)?;
    } else {
        let product = link.product();
        let mut rows: BTreeMap<Table, Rows> = BTreeMap::new();
        population.fill(part, &mut |table, row| {
            rows.entry(table)
                .or_insert_with(|| Rows::new(product))
                .add(table, row);
        });
        for (table, mut rows) in rows {
            link.copy(table, &mut rows).await?;
        }
    }
    let key = part.key();
    link.tell(&format!("insert into {PARTS} values ({key})"))
        .await?;
    link.tell("commit").await
}

fn insert(link: &sqlite::Link, population: &Population, part: Part) -> Result<(), Failure> {
    let mut result = Ok(());
    population.fill(part, &mut |table, row| {
        if result.is_ok() {
            result = link.insert(table, row);
        }
    });
    result
}

async fn finish(place: &Place, name: &str, mark: Mark) -> Result<(), DriverError> {
    let mut link = connect(place, name, loading()).await?;
    say("making keys and indexes    ");
    let result = async {
        if place.product == Product::Postgres {
            // Kept keys would be refused: a load may have been killed while they were made.
            link.tell("begin").await?;
        }
        for statement in schema::after_loading(mark.workload, place.product) {
            link.tell(&tolerant(&statement, place.product)).await?;
        }
        mark::set_stage(&mut link, Stage::Loaded).await?;
        if place.product == Product::Postgres {
            link.tell("commit").await?;
        }
        for statement in schema::statistics(mark.workload, place.product) {
            link.ask(&statement).await?;
        }
        Ok::<(), Failure>(())
    };
    result
        .await
        .map_err(DriverError::of("making keys and indexes"))?;
    if place.product == Product::Postgres {
        // A user without this right has a checkpoint later.
        let _ = link.tell("checkpoint").await;
    }
    say("loaded                     \n");
    mark::check_fresh(&mut link, mark, name).await
}

/// Return a statement that may have been carried out before; in PostgreSQL all are one transaction.
fn tolerant(statement: &str, product: Product) -> String {
    match product {
        Product::Postgres => statement.to_owned(),
        _ => statement.replace("create index ", "create index if not exists "),
    }
}

/// Copy a loaded database; a copy of that name is replaced.
///
/// # Errors
///
/// If the source is not as it was loaded, or the server refuses.
pub fn copy(place: &Place, from: &str, to: &str) -> Result<f64, DriverError> {
    check_name(from)?;
    check_name(to)?;
    let begun = Instant::now();
    let runtime = runtime()?;
    runtime.block_on(async {
        let found = {
            let mut link = connect(place, from, Manner::default()).await?;
            let found = mark::read(&mut link, from).await?;
            if found.stage != Stage::Loaded {
                return Err(DriverError::Database(format!(
                    "the database `{from}` is not loaded, or a copy itself: {:?}",
                    found.stage
                )));
            }
            mark::check_fresh(&mut link, found, from).await?;
            found
        };
        drop_it(place, to).await?;
        let what = format!("copying `{from}` to `{to}`");
        match place.product {
            Product::Postgres => copy_postgres(place, from, to).await,
            Product::Mariadb => copy_mariadb(place, from, to, found).await,
            Product::Sqlite => {
                let (from, to) = (sqlite::file(place, from), sqlite::file(place, to));
                fs::copy(&from, &to).map_err(|error| DriverError::file(to.display(), error))?;
                Ok(())
            }
        }
        .map_err(|error| match error {
            DriverError::Failed { failure, .. } => DriverError::of(what)(failure),
            other => other,
        })?;
        let mut link = connect(place, to, Manner::default()).await?;
        let noted = mark::set_stage(&mut link, Stage::Copied).await;
        noted.map_err(DriverError::of("marking the copy"))?;
        mark::check_fresh(&mut link, found, to).await
    })?;
    Ok(begun.elapsed().as_secs_f64())
}

async fn copy_postgres(place: &Place, from: &str, to: &str) -> Result<(), DriverError> {
    let mut link = connect(place, "postgres", Manner::default()).await?;
    let said = DriverError::of("copying");
    let result = async {
        let version = link.count("show server_version_num").await?;
        let strategy = if version >= COPIES_FILES {
            " strategy file_copy"
        } else {
            ""
        };
        link.tell(&format!("create database {to} template {from}{strategy}"))
            .await
    };
    result.await.map_err(said)
}

async fn copy_mariadb(place: &Place, from: &str, to: &str, mark: Mark) -> Result<(), DriverError> {
    make(place, to).await?;
    let mut link = connect(place, to, loading()).await?;
    let result = async {
        let tables = mark.workload.tables().iter().map(|table| table.name());
        for name in ["headroom_mark", PARTS].into_iter().chain(tables) {
            link.tell(&format!("create table {name} like {from}.{name}"))
                .await?;
            link.tell(&format!("insert into {name} select * from {from}.{name}"))
                .await?;
            // Until the copy is whole it is one that can be dropped, and not run.
            mark::set_stage(&mut link, Stage::Loading).await?;
        }
        for statement in schema::functions(place.product) {
            link.tell(&statement).await?;
        }
        for statement in schema::statistics(mark.workload, place.product) {
            link.ask(&statement).await?;
        }
        Ok::<(), Failure>(())
    };
    result.await.map_err(DriverError::of("copying"))
}

/// Drop a database, if it is there and has the mark.
///
/// # Errors
///
/// If it has none, or the server refuses.
pub fn drop_database(place: &Place, name: &str) -> Result<bool, DriverError> {
    check_name(name)?;
    runtime()?.block_on(drop_it(place, name))
}

async fn drop_it(place: &Place, name: &str) -> Result<bool, DriverError> {
    if !mark::exists(place, name).await? {
        return Ok(false);
    }
    {
        let mut link = connect(place, name, Manner::default()).await?;
        match mark::read(&mut link, name).await {
            // Another version's is ours too.
            Ok(_) => (),
            Err(DriverError::Database(said)) if said.contains("of version") => (),
            Err(error) => return Err(error),
        }
    }
    if place.product == Product::Sqlite {
        let path = sqlite::file(place, name);
        for end in ["", "-wal", "-shm"] {
            let mut file = path.clone().into_os_string();
            file.push(end);
            match fs::remove_file(&file) {
                Err(error) if end.is_empty() => {
                    return Err(DriverError::file(path.display(), error));
                }
                _ => (),
            }
        }
        return Ok(true);
    }
    let mut link = connect(place, mark::of_server(place.product), Manner::default()).await?;
    let dropped = link.tell(&format!("drop database {name}")).await;
    dropped.map_err(DriverError::of(format!("dropping `{name}`")))?;
    Ok(true)
}
