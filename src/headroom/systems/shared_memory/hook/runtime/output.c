/* The output: a file, a pipe or an inherited descriptor.

   Invariant: a chunk is written whole, by one call unless the system splits it. */
#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define VARIABLE "HEADROOM_TRACE"
#define DESCRIPTOR "fd:"
/* Descriptors from here on are hardly ever used or closed by a program. */
#define HIGH_DESCRIPTOR 200
#define PIPE_BYTES (1 << 20)
#define FAILED 125

static int output = -1;
static uint64_t chunk_count;
static pid_t owner;

static void say(const char *what, const char *why) {
    const char *words[] = {"headroom: ", what, ": ", why, "\n"};
    for (size_t index = 0; index < sizeof words / sizeof *words; index++)
        if (write(STDERR_FILENO, words[index], strlen(words[index])) < 0)
            return;
}

void headroom_fail(const char *what, const char *why) {
    say(what, why);
    syscall(SYS_exit_group, FAILED);
    __builtin_unreachable();
}

static void check_place(const char *target, int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        headroom_fail(target, strerror(errno));
    /* A second program of a script would overwrite the trace of the first. */
    if (S_ISREG(status.st_mode) && status.st_size > 0)
        headroom_fail(target, "the trace is there already; remove it, or name another file");
}

static int descriptor_of(const char *target) {
    int descriptor;
    if (strncmp(target, DESCRIPTOR, strlen(DESCRIPTOR)) == 0)
        descriptor = atoi(target + strlen(DESCRIPTOR));
    else
        descriptor = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0 || fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0)
        headroom_fail(target, strerror(errno));
    check_place(target, descriptor);
    int high = fcntl(descriptor, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    if (high >= 0) {
        close(descriptor);
        descriptor = high;
    }
    /* Fails for files, which need no larger pipe. */
    (void)fcntl(descriptor, F_SETPIPE_SZ, PIPE_BYTES);
    return descriptor;
}

/* Write parts without the signal that would kill the program when the reader is gone or a limit of
   the file's size is met: what is recorded must not die of the recording. Both signals go to the
   thread that writes, so that only a signal that this call caused is taken back. */
static ssize_t write_quietly(const struct iovec *parts, int count) {
    sigset_t deadly, before, waiting;
    sigemptyset(&deadly);
    sigaddset(&deadly, SIGPIPE);
    sigaddset(&deadly, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &deadly, &before);
    sigpending(&waiting);
    ssize_t written = writev(output, parts, count);
    int why = errno;
    if (written < 0 && (why == EPIPE || why == EFBIG)) {
        int caused = why == EPIPE ? SIGPIPE : SIGXFSZ;
        if (!sigismember(&waiting, caused)) {
            const struct timespec now = {0, 0};
            sigdelset(&deadly, why == EPIPE ? SIGXFSZ : SIGPIPE);
            while (sigtimedwait(&deadly, NULL, &now) < 0 && errno == EINTR)
                ;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return written;
}

/* Write all of the parts; false after a failure. */
static bool put(struct iovec *parts, int count) {
    while (count > 0) {
        ssize_t written = write_quietly(parts, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            say("the trace ends here, because it cannot be written", strerror(errno));
            headroom_close_output();
            return false;
        }
        while (count > 0 && (size_t)written >= parts->iov_len) {
            written -= (ssize_t)parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + written;
            parts->iov_len -= (size_t)written;
        }
    }
    return true;
}

bool headroom_open_output(void) {
    const char *target = getenv(VARIABLE);
    if (target == NULL || *target == '\0')
        return false;
    output = descriptor_of(target);
    owner = getpid();
    /* Programs that this one starts have the variable too, and would write into the same trace. */
    unsetenv(VARIABLE);
    struct trace_head head = {TRACE_MAGIC, TRACE_VERSION, TRACE_BYTE_ORDER};
    struct iovec part = {&head, sizeof head};
    return put(&part, 1) && headroom_write_maps();
}

bool headroom_owns_output(void) {
    return output >= 0 && getpid() == owner;
}

void headroom_close_output(void) {
    close(output);
    output = -1;
}

uint64_t headroom_chunk_count(void) {
    return chunk_count;
}

bool headroom_write_chunk(struct chunk_head head, const uint64_t *words) {
    head.magic = CHUNK_MAGIC;
    struct iovec parts[] = {{&head, sizeof head}, {(void *)words, head.words * sizeof *words}};
    chunk_count++;
    return put(parts, 2);
}

bool headroom_write_maps(void) {
    size_t most = MOST_MAPS_WORDS * sizeof(uint64_t), length = 0;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char *text = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (maps < 0 || text == MAP_FAILED)
        headroom_fail("/proc/self/maps", strerror(errno));
    ssize_t more;
    while (length < most && (more = read(maps, text + length, most - length)) > 0)
        length += (size_t)more;
    while (length % sizeof(uint64_t) != 0)
        text[length++] = '\n';
    close(maps);
    struct chunk_head head = {.kind = CHUNK_MAPS, .words = (uint32_t)(length / sizeof(uint64_t))};
    bool is_written = headroom_write_chunk(head, (const uint64_t *)text);
    munmap(text, most);
    return is_written;
}
