/* Reads many sockets in a thread of its own: stamps each read as it returns, and keeps stamp and bytes.
 *
 * Knows: sockets, epoll, one clock. Must not know: HTTP, tokens, Python. The thread never holds the interpreter's
 * lock, so a stamp is true whatever the interpreter does meanwhile.
 *
 * The event loop is told through an eventfd, and only of streams that there is reason to look at: an eager one that
 * brought anything, bytes that look like the end of an answer, the end of the connection, a full buffer. Of a sealed
 * stream (TLS) only the lengths of records may tell the end; its other reads wait a moment, to be told with those of
 * other streams. All functions are called by one thread, that of the event loop; a stream's descriptor is open from
 * `reads_open` to `reads_close`.
 * How late the thread itself comes is probed by a timer: every stamp may be as late.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kept.h"
#include "looks.h"
#include "probe.h"
#include "records.h"
#include "streams.h"

enum { READ_BYTES = 65536, EVENTS = 64 };

struct reader {
    pthread_mutex_t lock;
    atomic_int asking; /* the event loop waits for the lock: it must not starve while much is read */
    int epoll, wake;
    double unripe; /* the thread's own: the stamp of the oldest sealed read that nobody was told of; 0 of none */
    double patience; /* how many seconds it is not */
    struct probe probe;
    struct streams streams;
    struct stream *first_due, *last_due;
    struct reads spare; /* what was taken last, until the next take */
    size_t full;
};

struct taken { /* the fields are the same in Python; the pointers are good until the next take */
    const char *bytes;
    const double *stamps;
    const uint32_t *sizes;
    size_t size, count;
    int ended, error, odd;
};

/* The event loop's way in. */
static void enter(struct reader *r) {
    atomic_fetch_add(&r->asking, 1);
    pthread_mutex_lock(&r->lock);
    atomic_fetch_sub(&r->asking, 1);
}

static void leave(struct reader *r) { pthread_mutex_unlock(&r->lock); }

static void tell(struct reader *r, struct stream *s) {
    s->due = 1;
    if (s->listed) return;
    s->listed = 1;
    s->next = NULL;
    if (r->first_due) {
        r->last_due->next = s;
    } else {
        r->first_due = s;
        uint64_t one = 1;
        ssize_t told = write(r->wake, &one, sizeof one);
        (void)told; /* it cannot be full: the list was empty */
    }
    r->last_due = s;
}

static void unwatch(struct reader *r, struct stream *s) {
    if (s->watched) epoll_ctl(r->epoll, EPOLL_CTL_DEL, s->fd, NULL);
    s->watched = 0;
}

static void end(struct reader *r, struct stream *s, int error) {
    s->ended = 1;
    s->error = error;
    unwatch(r, s);
    tell(r, s);
}

static void watch(struct reader *r, struct stream *s) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET, .data.u64 = id_of(s)};
    if (s->watched) return;
    s->watched = !epoll_ctl(r->epoll, EPOLL_CTL_ADD, s->fd, &event);
    if (!s->watched) end(r, s, errno);
}

/* Whether the caller need not look: the stream begins or goes on as it should, and nothing else is to be seen yet. */
static int begins_well(struct stream *s, char *bytes, size_t size) {
    size_t head = 0;
    if (s->begun == NOTHING) {
        bytes[size] = 0;
        head = stream_head(bytes, size);
        s->begun = head ? HEAD : OTHER;
    }
    if (s->begun != HEAD) return 0;
    if (head == size) return 1;
    s->begun = OTHER;
    if (!holds_event(bytes + head, size - head)) return 0;
    s->eager = 0;
    return 1;
}

/* Whether there is reason to look at a sealed stream; without one it waits with the others, which are told together. */
static int is_told(struct reader *r, struct stream *s, double stamp, const char *bytes, size_t size) {
    int odd = holds_odd(&s->records, bytes, size, s->eager);
    s->odd |= odd;
    if (!odd && !r->unripe) r->unripe = stamp;
    return odd;
}

/* Sealed reads are told when their time is over. How many milliseconds they may wait yet; -1 where none do any more, or
 * where the probe wakes the thread often enough.
 */
static int ripen(struct reader *r) {
    double left = r->unripe + r->patience - now();
    if (left > 0) return r->patience > PROBE_NS * 1e-9 ? -1 : 1 + (int)(left * 1e3);
    for (uint32_t i = 0; i < r->streams.count; i++) {
        struct stream *s = r->streams.all[i];
        if (s->sealed && s->fd >= 0 && s->reads.count) tell(r, s);
    }
    r->unripe = 0;
    return -1;
}

/* Reads once; how many bytes came, 0 of none. */
static size_t read_once(struct reader *r, struct stream *s, char *buffer) {
    ssize_t got = recv(s->fd, buffer, READ_BYTES, MSG_DONTWAIT);
    double stamp = now();
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return 0;
    if (got <= 0) {
        end(r, s, got < 0 ? errno : 0);
        return 0;
    }
    if (!keep(&s->reads, stamp, buffer, (size_t)got)) {
        end(r, s, ENOMEM);
        return 0;
    }
    int full = s->reads.size >= r->full, look = full;
    if (full) unwatch(r, s);
    if (s->sealed) {
        if (is_told(r, s, stamp, buffer, (size_t)got) || full) tell(r, s);
        return (size_t)got;
    }
    move_tail(s->tail, buffer, (size_t)got);
    look |= looks_ended(s->tail, buffer, (size_t)got);
    if (s->eager && !begins_well(s, buffer, (size_t)got)) look = 1;
    if (look) tell(r, s);
    return (size_t)got;
}

/* Told once of what came: all of it is read, up to the peer's end if that came with it. */
static void read_all(struct reader *r, struct stream *s, uint32_t events, char *buffer) {
    size_t got = READ_BYTES;
    while (s->watched && (got == READ_BYTES || (got && events != EPOLLIN))) got = read_once(r, s, buffer);
}

static void *run(void *given) {
    struct reader *r = given;
    struct epoll_event ready[EVENTS];
    char buffer[READ_BYTES + 1];
    for (int patience_ms = -1;;) {
        int n = epoll_wait(r->epoll, ready, EVENTS, patience_ms);
        for (int i = 0; i < n; i++) {
            while (atomic_load(&r->asking)) sched_yield();
            pthread_mutex_lock(&r->lock);
            struct stream *s = stream_of(&r->streams, ready[i].data.u64);
            if (s) read_all(r, s, ready[i].events, buffer);
            else if (ready[i].data.u64 == NO_STREAM) note_lag(&r->probe);
            pthread_mutex_unlock(&r->lock);
        }
        patience_ms = -1;
        if (!r->unripe) continue;
        pthread_mutex_lock(&r->lock);
        patience_ms = ripen(r);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

static int start_thread(struct reader *r) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all); /* signals are the interpreter's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, run, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) return error;
    pthread_setname_np(thread, "loadband-reads");
    return pthread_detach(thread);
}

/* A reader with its thread, for the life of the process; NULL when there can be none. `full`: bytes of a stream that
 * may wait to be taken.
 */
struct reader *reads_start(size_t full) {
    struct reader *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->full = full;
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&r->lock, NULL);
    if (r->wake >= 0 && !start_probe(&r->probe, r->epoll, NO_STREAM) && !start_thread(r)) return r;
    if (r->probe.fd > 0) close(r->probe.fd);
    if (r->epoll >= 0) close(r->epoll);
    if (r->wake >= 0) close(r->wake);
    free(r);
    return NULL;
}

/* The descriptor that is readable while streams are due. */
int reads_wake(struct reader *r) { return r->wake; }

/* The id of a new stream, eager at first; 0 when there is no memory for it, or no descriptor. */
uint64_t reads_open(struct reader *r, int fd, int sealed) {
    uint64_t id = 0;
    enter(r);
    struct stream *s = fd < 0 ? NULL : new_stream(&r->streams);
    if (s) {
        s->fd = fd;
        s->eager = 1;
        s->begun = NOTHING;
        s->sealed = sealed;
        s->records = (struct records){0};
        s->odd = s->watched = s->ended = s->error = s->due = 0;
        memset(s->tail, 0, TAIL);
        watch(r, s);
        id = id_of(s);
    }
    leave(r);
    return id;
}

/* How many seconds the reads of sealed streams may wait. */
void reads_patience(struct reader *r, double patience) {
    enter(r);
    r->patience = patience;
    leave(r);
}

void reads_eager(struct reader *r, uint64_t id, int eager) {
    enter(r);
    struct stream *s = stream_of(&r->streams, id);
    if (s) {
        s->eager = eager;
        s->begun = OTHER;
        if (eager && s->reads.count) tell(r, s);
    }
    leave(r);
}

/* All reads that wait; without `at_once` only when there is reason to look at the stream. */
void reads_take(struct reader *r, uint64_t id, int at_once, struct taken *taken) {
    enter(r);
    memset(taken, 0, sizeof *taken);
    struct stream *s = stream_of(&r->streams, id);
    if (s && (at_once || s->due)) {
        struct reads reads = s->reads;
        s->reads = r->spare;
        s->reads.size = s->reads.count = 0;
        r->spare = reads;
        s->due = 0;
        if (!s->ended) watch(r, s);
        *taken = (struct taken){
            reads.bytes, reads.stamps, reads.sizes, reads.size, reads.count, s->ended, s->error, s->odd,
        };
        s->odd = 0;
    }
    leave(r);
}

/* Nothing is read any more; whether anything was read that nobody took, be it an end. Before the descriptor is closed or
 * read by others.
 */
int reads_close(struct reader *r, uint64_t id) {
    int left = 0;
    enter(r);
    struct stream *s = stream_of(&r->streams, id);
    if (s) {
        left = s->ended || s->reads.count;
        unwatch(r, s);
        s->fd = -1;
        forget(&s->reads);
        if (!s->listed) set_free(&r->streams, s);
    }
    leave(r);
    return left;
}

/* Ids of streams that there is reason to look at, those that wait longest first, as many as there is room for. */
int reads_due(struct reader *r, uint64_t *ids, int room) {
    int n = 0;
    uint64_t told;
    enter(r);
    while (r->first_due && n < room) {
        struct stream *s = r->first_due;
        r->first_due = s->next;
        s->listed = 0;
        if (s->fd < 0) set_free(&r->streams, s);
        else if (s->due) ids[n++] = id_of(s);
    }
    ssize_t cleared = r->first_due ? 0 : read(r->wake, &told, sizeof told);
    (void)cleared; /* it was not set where nothing was due */
    leave(r);
    return n;
}

/* Seconds by which the thread came late to its timer, since the last call; as many as there is room for. */
int reads_lags(struct reader *r, double *lags, int room) {
    enter(r);
    int n = r->probe.count < room ? r->probe.count : room;
    memcpy(lags, r->probe.lags, (size_t)n * sizeof *lags);
    r->probe.count = 0;
    leave(r);
    return n;
}
