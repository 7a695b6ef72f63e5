/* A token server whose lateness is known: streams chat answers on an exact schedule and tells when it really sent.
 *
 *   token_server PORT TTFT_MS ITL_MS TOKENS
 *
 * One thread, epoll, a heap of due times. An answer: a role-only event with the first token, TOKENS events (the
 * request's "max_tokens" wins) at ttft + k * itl after the whole request was read, a finish event, a usage event,
 * [DONE]. The usage event's "model" is "t-RECEIVED-FIRST-LAST", nanoseconds of CLOCK_REALTIME: when the request was
 * whole, when the first and the last token were about to be written; so every client's record carries the truth.
 * GET /count tells requests, tokens, open streams and this process's CPU seconds; GET /v1/models names one model.
 * Built with -DTLS -lssl -lcrypto it speaks TLS, with the certificate and key of the files TLS_CERT and TLS_KEY.
 */
#define _GNU_SOURCE
#ifdef TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#endif
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000L
#define IN_BYTES 8192

/* Pieces of answers as a tokenizer cuts them: words, a few line breaks and quotes, some Chinese. */
static const char *WORDS[] = {
    " the", " river", " is", " a", " long", " way", " down", ",", " and", " then", " it", " turns", " again", ".",
    "\\n\\n", " Every", " boat", " that", " came", " here", " was", " loaded", " with", " salt", " or", " cloth",
    " \\\"so", " they", " said", "\\\"", " but", " nobody", " could", " prove", " it", ";", "河", "流", "向", "东",
    " under", " both", " bridges", " where", " the", " current", " slows", " people", " wait", " for", " evening",
    " light", " to", " fall", " across", " the", " water", "\\n", " It", " takes", " about", " an", " hour", "."};
#define WORD_COUNT (int)(sizeof WORDS / sizeof *WORDS)

typedef struct Conn {
    int fd, sent, tokens, heap_at;
    long due, start, received, first, last;
    char *in, *out;
    size_t in_size, in_used, need, out_used, out_size;
    unsigned id;
#ifdef TLS
    SSL *ssl;
#endif
} Conn;

static Conn **heap;
static int heap_used, heap_size, epoll;
static long ttft, itl, default_tokens, count_requests, count_tokens, count_open;

static long clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* Bytes read or written; 0: the client is gone; -1: not now. */
#ifdef TLS
static SSL_CTX *context;

static long outcome(Conn *c, int done) {
    if (done > 0) return done;
    int why = SSL_get_error(c->ssl, done);
    ERR_clear_error();
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? -1 : 0;
}
static long take(Conn *c, char *to, size_t size) { return outcome(c, SSL_read(c->ssl, to, size)); }
static long give(Conn *c, const char *from, size_t size) { return outcome(c, SSL_write(c->ssl, from, size)); }

static void prepare_tls(void) {
    const char *cert = getenv("TLS_CERT"), *key = getenv("TLS_KEY");
    context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (!cert || !key || SSL_CTX_use_certificate_file(context, cert, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        fprintf(stderr, "token_server: TLS_CERT and TLS_KEY name no certificate and key\n");
        exit(2);
    }
}
#else
static long take(Conn *c, char *to, size_t size) {
    ssize_t got = recv(c->fd, to, size, 0);
    return got >= 0 ? got : errno == EAGAIN ? -1 : 0;
}
static long give(Conn *c, const char *from, size_t size) {
    ssize_t wrote = send(c->fd, from, size, MSG_NOSIGNAL);
    return wrote >= 0 ? wrote : errno == EAGAIN ? -1 : 0;
}
#endif

static void place(int at, Conn *c) { heap[at] = c; c->heap_at = at; }

static void sift_up(int at, Conn *c) {
    while (at > 0 && heap[(at - 1) / 2]->due > c->due) { place(at, heap[(at - 1) / 2]); at = (at - 1) / 2; }
    place(at, c);
}

static void sift_down(int at, Conn *c) {
    for (;;) {
        int child = 2 * at + 1;
        if (child >= heap_used) break;
        if (child + 1 < heap_used && heap[child + 1]->due < heap[child]->due) child++;
        if (heap[child]->due >= c->due) break;
        place(at, heap[child]);
        at = child;
    }
    place(at, c);
}

static void schedule(Conn *c) {
    if (heap_used == heap_size) heap = realloc(heap, (heap_size = heap_size * 2 + 64) * sizeof *heap);
    sift_up(heap_used++, c);
}

static void unschedule(Conn *c) {
    if (c->heap_at < 0) return;
    Conn *last = heap[--heap_used];
    int at = c->heap_at;
    c->heap_at = -1;
    if (last == c) return;
    sift_up(at, last);
    sift_down(last->heap_at, last);
}

static void hang_up(Conn *c) {
    if (c->tokens) count_open--;
    unschedule(c);
#ifdef TLS
    SSL_free(c->ssl);
#endif
    close(c->fd);
    free(c->in);
    free(c->out);
    free(c);
}

/* Write now what the socket takes, keep the rest for EPOLLOUT. 0: the client is gone. */
static int say(Conn *c, const char *bytes, size_t size) {
    long wrote = c->out_used ? -1 : give(c, bytes, size);
    if (wrote == 0) return 0;
    if (wrote < 0) wrote = 0;
    if ((size_t)wrote == size) return 1;
    size_t rest = size - wrote;
    if (c->out_used + rest > c->out_size) c->out = realloc(c->out, c->out_size = c->out_used + rest + 4096);
    memcpy(c->out + c->out_used, bytes + wrote, rest);
    c->out_used += rest;
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT, .data.ptr = c};
    epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &e);
    return 1;
}

static int flush(Conn *c) {
    long wrote = give(c, c->out, c->out_used);
    if (wrote <= 0) return wrote < 0;
    memmove(c->out, c->out + wrote, c->out_used - wrote);
    c->out_used -= wrote;
    if (!c->out_used) {
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &e);
    }
    return 1;
}

static int event(Conn *c, char *to, const char *delta, const char *finish) {
    char body[600];
    int size = sprintf(body,
        "data: {\"id\":\"chatcmpl-%08x%08x\",\"object\":\"chat.completion.chunk\",\"created\":%ld,\"model\":\"bench\","
        "\"choices\":[{\"index\":0,\"delta\":{%s},\"logprobs\":null,\"finish_reason\":%s}]}\n\n",
        c->id, c->id * 2654435761u, c->received / 1000000000L, delta, finish);
    return sprintf(to, "%x\r\n%s\r\n", size, body);
}

static int last_events(Conn *c, char *to) {
    char body[400];
    int at = event(c, to, "", "\"length\"");
    int size = sprintf(body,
        "data: {\"id\":\"chatcmpl-%08x%08x\",\"object\":\"chat.completion.chunk\",\"created\":%ld,"
        "\"model\":\"t-%ld-%ld-%ld\",\"choices\":[],\"usage\":{\"prompt_tokens\":64,\"total_tokens\":%d,"
        "\"completion_tokens\":%d}}\n\n",
        c->id, c->id * 2654435761u, c->received / 1000000000L, c->received, c->first, c->last, c->tokens + 64, c->tokens);
    at += sprintf(to + at, "%x\r\n%s\r\n", size, body);
    return at + sprintf(to + at, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
}

/* The token that is due, and the next due time. 0: the client is gone. */
static int speak(Conn *c) {
    char buffer[2400], delta[80];
    int size = 0;
    if (c->sent == 0) {
        size += sprintf(buffer, "HTTP/1.1 200 OK\r\nserver: token-server\r\n"
                                "content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n");
        size += event(c, buffer + size, "\"role\":\"assistant\",\"content\":\"\"", "null");
    }
    sprintf(delta, "\"content\":\"%s\"", WORDS[(c->id + c->sent) % WORD_COUNT]);
    size += event(c, buffer + size, delta, "null");
    c->sent++;
    count_tokens++;
    c->last = clock_ns(CLOCK_REALTIME);
    if (c->sent == 1) c->first = c->last;
    if (!say(c, buffer, size)) return 0;
    if (c->sent == c->tokens) {
        size = last_events(c, buffer);
        c->tokens = 0;
        count_open--;
        return say(c, buffer, size);
    }
    c->due = c->start + ttft + c->sent * itl;
    schedule(c);
    return 1;
}

static int answer_json(Conn *c, const char *body) {
    char buffer[700];
    return say(c, buffer, sprintf(buffer,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n%s", strlen(body), body));
}

static int tell_count(Conn *c) {
    char body[300];
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    double cpu = u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
    sprintf(body, "{\"requests\":%ld,\"tokens\":%ld,\"open\":%ld,\"cpu_s\":%.4f,\"at_ns\":%ld}", count_requests,
            count_tokens, count_open, cpu, clock_ns(CLOCK_REALTIME));
    return answer_json(c, body);
}

/* A whole request lies in c->in. */
static int answer(Conn *c) {
    if (strncmp(c->in, "GET /count", 10) == 0) return tell_count(c);
    if (strncmp(c->in, "GET /v1/models", 14) == 0)
        return answer_json(c, "{\"object\":\"list\",\"data\":[{\"id\":\"bench\",\"object\":\"model\"}]}");
    if (strncmp(c->in, "GET /health", 11) == 0) return answer_json(c, "{}");
    if (strncmp(c->in, "POST /v1/chat/completions ", 26) != 0) {
        const char *no = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
        return say(c, no, strlen(no));
    }
    char *asked = memmem(c->in, c->in_used, "\"max_tokens\":", 13);
    if (!asked) asked = memmem(c->in, c->in_used, "\"max_completion_tokens\":", 24);
    c->tokens = asked ? atoi(strchr(asked, ':') + 1) : default_tokens;
    if (c->tokens < 1) c->tokens = 1;
    c->id = (unsigned)++count_requests;
    c->sent = 0;
    count_open++;
    c->received = clock_ns(CLOCK_REALTIME);
    c->start = clock_ns(CLOCK_MONOTONIC);
    c->due = c->start + ttft;
    schedule(c);
    return 1;
}

static size_t length_of(const char *head, size_t size) {
    for (const char *line = head; (line = memchr(line, '\n', head + size - line)); line++)
        if (strncasecmp(line + 1, "content-length:", 15) == 0) return strtoul(line + 16, 0, 10);
    return 0;
}

/* All that is there: TLS may hold back bytes that epoll knows nothing of. 0: the client is gone. */
static int hear(Conn *c) {
    for (;;) {
        if (c->in_size - c->in_used < IN_BYTES) c->in = realloc(c->in, (c->in_size = c->in_size * 2 + IN_BYTES) + 1);
        long got = take(c, c->in + c->in_used, c->in_size - c->in_used);
        if (got <= 0) return got < 0;
        c->in_used += got;
        c->in[c->in_used] = 0;
        if (!c->need) {
            char *end = memmem(c->in, c->in_used, "\r\n\r\n", 4);
            if (!end) continue;
            c->need = end + 4 - c->in + length_of(c->in, end - c->in);
        }
        if (c->in_used < c->need) continue;
        int alive = answer(c);
        c->in_used = c->need = 0;
        if (c->in_size > 4 * IN_BYTES) { free(c->in); c->in = 0; c->in_size = 0; }
        if (!alive) return 0;
    }
}

static void welcome(int listener) {
    int fd, on = 1;
    while ((fd = accept4(listener, 0, 0, SOCK_NONBLOCK)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        Conn *c = calloc(1, sizeof *c);
        c->fd = fd;
        c->heap_at = -1;
#ifdef TLS
        c->ssl = SSL_new(context);
        SSL_set_fd(c->ssl, fd);
        SSL_set_accept_state(c->ssl);
#endif
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
    }
}

static int listen_on(int port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (void *)&at, size) || listen(fd, 4096)) { perror("token_server"); exit(1); }
    getsockname(fd, (void *)&at, &size);
    printf("ready http://127.0.0.1:%d\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

int main(int argc, char **argv) {
    if (argc < 5) { fprintf(stderr, "usage: token_server PORT TTFT_MS ITL_MS TOKENS\n"); return 2; }
    signal(SIGPIPE, SIG_IGN);  /* a client that hangs up under TLS */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    ttft = atof(argv[2]) * MS;
    itl = atof(argv[3]) * MS;
    default_tokens = atol(argv[4]);
#ifdef TLS
    prepare_tls();
#endif
    epoll = epoll_create1(0);
    int listener = listen_on(atoi(argv[1]));
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = 0}, ready[256];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &e);
    for (;;) {
        long now = clock_ns(CLOCK_MONOTONIC);
        while (heap_used && heap[0]->due <= now) {
            Conn *c = heap[0];
            unschedule(c);
            if (!speak(c)) hang_up(c);
        }
        struct timespec wait = {.tv_sec = 1};
        if (heap_used) {
            long left = heap[0]->due - clock_ns(CLOCK_MONOTONIC);
            if (left < 0) left = 0;
            if (left < 1000000000L) wait = (struct timespec){.tv_nsec = left};
        }
        int n = epoll_pwait2(epoll, ready, 256, &wait, 0);
        for (int i = 0; i < n; i++) {
            Conn *c = ready[i].data.ptr;
            if (!c) { welcome(listener); continue; }
            if (ready[i].events & EPOLLOUT && !flush(c)) { hang_up(c); continue; }
            if (ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !hear(c)) hang_up(c);
        }
    }
}
