//! A process for each client that is served at a time, with a database connection of its own, as
//! AMGA had: some at the start, more when clients come, up to a limit. Further clients wait in the
//! system's queue of the listener.
//!
//! The first process accepts connections and passes each one to a worker, over a pair of sockets; a
//! worker answers with a byte when it is ready for the next. Whoever closes the pair ends the worker,
//! so that none outlives the first process, however that ends.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headroom_catalogue::security::Trust;
use headroom_catalogue::server::accept;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Done, bind, configuration::Configuration, opened, say};

/// Time that a worker has to end after its last client.
const END_TIME: Duration = Duration::from_secs(5);
/// The byte in both directions: a connection comes with it, or is awaited.
const NEXT: u8 = b'.';

/// The workers of a server.
struct Workers {
    program: PathBuf,
    config: Option<PathBuf>,
    drain_timeout: Duration,
    idle: Mutex<Vec<Worker>>,
    /// How often certificates and keys were read again: older workers have the old ones.
    generation: AtomicU64,
    is_stopping: watch::Receiver<bool>,
}

/// A process that waits for a client or serves one.
struct Worker {
    child: Child,
    control: UnixStream,
    generation: u64,
}

/// Serve with processes until a signal.
pub(super) async fn run(configuration: Configuration, path: Option<&Path>) -> Done {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let settings = configuration.server()?;
    if configuration.http()?.is_some() {
        return Err("with `server.processes` there is no HTTP: remove the table `http`".into());
    }
    configuration.store()?;
    Trust::load(&configuration.trust())?;
    let table = &configuration.server;
    let (stopping, is_stopping) = watch::channel(false);
    let workers = Arc::new(Workers {
        program: std::env::current_exe()?,
        config: path.map(Path::to_path_buf),
        drain_timeout: settings.drain_timeout,
        idle: Mutex::default(),
        generation: AtomicU64::new(0),
        is_stopping,
    });
    workers
        .start_some(table.processes_at_start.clamp(1, table.processes))
        .await?;
    let listener = bind(table.listen, "server.listen")?;
    say(&listener, "")?;
    let places = Arc::new(Semaphore::new(table.processes));
    let mut served = JoinSet::new();
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => workers.renew(path, &mut served),
            Some(_) = served.join_next() => {}
            (stream, place) = next(&listener, &places) => {
                served.spawn(Arc::clone(&workers).serve(stream, place));
            }
        }
    }
    tracing::info!("stopping: running commands and open transactions may end");
    drop(listener);
    stopping.send_replace(true);
    workers.retire_idle(&mut served);
    while served.join_next().await.is_some() {}
    Ok(())
}

/// Return the next connection when a worker can be had for it.
async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    let place = Arc::clone(places).acquire_owned().await.ok();
    let (stream, _) = accept(listener).await;
    (stream, place)
}

impl Workers {
    async fn start_some(self: &Arc<Self>, count: usize) -> io::Result<()> {
        let mut starting = JoinSet::new();
        for _ in 0..count {
            let workers = Arc::clone(self);
            starting.spawn(async move { workers.start().await });
        }
        while let Some(started) = starting.join_next().await {
            let worker = started.map_err(io::Error::other)??;
            self.idle().push(worker);
        }
        Ok(())
    }

    async fn start(&self) -> io::Result<Worker> {
        let generation = self.generation.load(Ordering::Relaxed);
        let (control, of_worker) = UnixStream::pair()?;
        let of_worker = of_worker.into_std()?;
        let mut command = Command::new(&self.program);
        command.arg("work");
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        let child = command
            .stdin(OwnedFd::from(of_worker))
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        // It holds the worker's end of the pair, which would hide that the worker has ended.
        drop(command);
        let mut worker = Worker {
            child,
            control,
            generation,
        };
        worker.ready().await.map_err(|_| {
            io::Error::other("a process for clients did not start; its message is above")
        })?;
        Ok(worker)
    }

    /// Let a worker serve a client, who keeps its place until the worker is free again.
    async fn serve(self: Arc<Self>, stream: TcpStream, place: Option<OwnedSemaphorePermit>) {
        let mut is_stopping = self.is_stopping.clone();
        let mut worker = tokio::select! {
            worker = self.pass(&stream) => match worker {
                Ok(worker) => worker,
                Err(error) => return tracing::error!(%error, "a client is sent away"),
            },
            // A worker that only starts has promised nothing, and ends with its handle.
            _ = is_stopping.wait_for(|is_stopping| *is_stopping) => return,
        };
        drop(stream);
        let is_free = tokio::select! {
            ready = worker.ready() => ready.is_ok(),
            _ = is_stopping.wait_for(|is_stopping| *is_stopping) => false,
        };
        if is_free && worker.generation == self.generation.load(Ordering::Relaxed) {
            self.idle().push(worker);
        } else {
            worker.end(self.drain_timeout).await;
        }
        drop(place);
    }

    /// Pass a client to an idle worker or a new one, and return it.
    async fn pass(&self, stream: &TcpStream) -> io::Result<Worker> {
        loop {
            let idle = self.idle().pop();
            let worker = match idle {
                Some(worker) => worker,
                None => self.start().await?,
            };
            if worker.pass(stream).await.is_ok() {
                return Ok(worker);
            }
            // It was killed while it was idle.
            worker.end(self.drain_timeout).await;
        }
    }

    /// Let new workers read certificates and keys again, if they can be read.
    fn renew(&self, path: Option<&Path>, ending: &mut JoinSet<()>) {
        let read = Configuration::read(path).map_err(|error| error.to_string());
        let trust = read.and_then(|new| Trust::load(&new.trust()).map_err(|e| e.to_string()));
        if let Err(error) = trust {
            return tracing::error!(%error, "the old certificates and keys stay");
        }
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.retire_idle(ending);
        tracing::info!("certificates and keys are read again by new processes");
    }

    fn retire_idle(&self, ending: &mut JoinSet<()>) {
        for worker in self.idle().drain(..) {
            ending.spawn(worker.end(self.drain_timeout));
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worker {
    /// Wait until it wants the next client.
    async fn ready(&mut self) -> io::Result<()> {
        self.control.read_u8().await.map(drop)
    }

    async fn pass(&self, stream: &TcpStream) -> io::Result<()> {
        let send = || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut rights = SendAncillaryBuffer::new(&mut space);
            let files = [stream.as_fd()];
            rights.push(SendAncillaryMessage::ScmRights(&files));
            let bytes = [IoSlice::new(&[NEXT])];
            Ok(sendmsg(
                self.control.as_fd(),
                &bytes,
                &mut rights,
                SendFlags::NOSIGNAL,
            )?)
        };
        self.control.async_io(Interest::WRITABLE, send).await?;
        Ok(())
    }

    /// Let it finish its client, and wait until it has ended.
    async fn end(mut self, drain_timeout: Duration) {
        let _ = self.control.shutdown().await;
        if timeout(drain_timeout + END_TIME, self.child.wait())
            .await
            .is_err()
        {
            tracing::warn!("a process did not end and is killed");
        }
    }
}

/// Be a worker: serve the clients that come by the standard input, one at a time.
pub(super) async fn work(mut configuration: Configuration) -> Done {
    let mut terminate = signal(SignalKind::terminate())?;
    // An interrupt of a terminal goes to all processes; the first one tells when to end.
    let _interrupt = signal(SignalKind::interrupt())?;
    let _hang_up = signal(SignalKind::hangup())?;
    configuration.database.max_connections = 1;
    let drain_timeout = configuration.server()?.drain_timeout;
    let (store, server) = opened(&configuration).await?;
    let file = io::stdin().as_fd().try_clone_to_owned()?;
    let mut control = UnixStream::from_std(file.into())?;
    loop {
        if control.write_u8(NEXT).await.is_err() {
            break;
        }
        let stream = tokio::select! {
            // If the first process was killed, that may show as an error.
            stream = receive(&control) => stream.ok().flatten(),
            _ = terminate.recv() => None,
        };
        let Some(stream) = stream else {
            break;
        };
        let mut serving = pin!(server.serve_one(stream));
        let is_over = tokio::select! {
            () = &mut serving => false,
            _ = receive(&control) => true,
            _ = terminate.recv() => true,
        };
        if is_over {
            server.begin_to_drain();
            if timeout(drain_timeout, serving).await.is_err() {
                tracing::warn!("a connection is cut off: it did not end");
            }
            break;
        }
    }
    store.close().await;
    Ok(())
}

/// Return the next client; None if the first process wants no more of this one.
async fn receive(control: &UnixStream) -> io::Result<Option<TcpStream>> {
    let take = || {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut bytes = [IoSliceMut::new(&mut byte)];
        recvmsg(
            control.as_fd(),
            &mut bytes,
            &mut rights,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        let files = rights.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        Ok(files.last())
    };
    match control.async_io(Interest::READABLE, take).await? {
        Some(file) => TcpStream::from_std(file.into()).map(Some),
        None => Ok(None),
    }
}
