/* How late a thread comes: a timer in its epoll, and the seconds by which the thread came later.
 *
 * Knows: one clock, epoll. Must not know: what else the thread does.
 */
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { PROBE_NS = 20000000, LAGS = 1024 };

struct probe {
    int fd, count;
    double due, lags[LAGS]; /* since they were taken last */
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether it failed: 0 when the epoll tells `id` each time the probe is due. */
static int start_probe(struct probe *p, int epoll, uint64_t id) {
    struct itimerspec each = {.it_interval.tv_nsec = PROBE_NS, .it_value.tv_nsec = PROBE_NS};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = id};
    p->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    p->due = now() + PROBE_NS * 1e-9;
    return timerfd_settime(p->fd, 0, &each, NULL) || epoll_ctl(epoll, EPOLL_CTL_ADD, p->fd, &event);
}

static void note_lag(struct probe *p) {
    uint64_t times;
    if (read(p->fd, &times, sizeof times) != sizeof times) return;
    double lag = now() - p->due;
    p->due += (double)times * PROBE_NS * 1e-9;
    if (p->count < LAGS) p->lags[p->count++] = lag > 0 ? lag : 0;
}
