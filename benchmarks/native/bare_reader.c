/* The least a client of token streams can do on one core: epoll, read, count. The limit to measure against.
 *
 *   bare_reader PORT STREAMS TOKENS WARM_S SECONDS
 *
 * Opens STREAMS connections, starts their requests at random moments of WARM_S, and asks again when an answer is over.
 * At even distances the streams would march in step (200 over 2 s with a token every 20 ms: half of all tokens at one
 * moment), and many be read at one waking; users do not come like that. It stamps every read, as a client must, and
 * counts what it reads in the SECONDS after the warm-up. One line of JSON: streams, tokens, reads, wakings, tokens_s,
 * cpu_us_token.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double cpu(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static long occurrences(const char *bytes, size_t size, const char *word) {
    long n = 0;
    size_t length = strlen(word);
    for (const char *at = bytes; (at = memmem(at, bytes + size - at, word, length)); at += length) n++;
    return n;
}

static int earlier(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

int main(int argc, char **argv) {
    if (argc < 6) { fprintf(stderr, "usage: bare_reader PORT STREAMS TOKENS WARM_S SECONDS\n"); return 2; }
    int port = atoi(argv[1]), streams = atoi(argv[2]), started = 0;
    double warm = atof(argv[4]), seconds = atof(argv[5]);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    char body[600], request[900];
    int size = sprintf(body, "{\"model\":\"bench\",\"messages\":[{\"role\":\"user\",\"content\":\"%0300d\"}],"
                             "\"max_tokens\":%s,\"stream\":true}", 0, argv[3]);
    size = sprintf(request, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                            "Content-Length: %d\r\n\r\n%s", size, body);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int epoll = epoll_create1(0), *fds = malloc(streams * sizeof *fds);
    double *starts = malloc(streams * sizeof *starts);
    srand48(1);
    for (int i = 0; i < streams; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fds[i], (void *)&at, sizeof at)) { perror("bare_reader"); return 1; }
        struct epoll_event e = {.events = EPOLLIN, .data.fd = fds[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &e);
        starts[i] = warm * drand48();
    }
    qsort(starts, streams, sizeof *starts, earlier);
    static char buffer[65536];
    static struct epoll_event ready[256];
    volatile double stamp = 0;
    double start = now(), began = 0, used = 0;
    long tokens = 0, reads = 0, wakings = 0;
    for (;;) {
        double elapsed = now() - start;
        while (started < streams && starts[started] <= elapsed)
            if (write(fds[started++], request, size) < 0) return 1;
        if (!began && elapsed >= warm) { began = now(); used = cpu(); tokens = reads = wakings = 0; }
        if (began && now() - began >= seconds) break;
        int n = epoll_wait(epoll, ready, 256, started < streams ? 1 : 100);
        wakings += n > 0;
        for (int i = 0; i < n; i++) {
            ssize_t got = read(ready[i].data.fd, buffer, sizeof buffer);
            stamp = now();
            if (got <= 0) continue;
            reads++;
            tokens += occurrences(buffer, got, "\"delta\":{\"content\":\"");
            if (memmem(buffer, got, "[DONE]", 6) && write(ready[i].data.fd, request, size) < 0) return 1;
        }
    }
    double took = now() - began;
    printf("{\"streams\":%d,\"tokens\":%ld,\"reads\":%ld,\"wakings\":%ld,\"tokens_s\":%.1f,\"cpu_us_token\":%.3f}\n",
           streams, tokens, reads, wakings, tokens / took, (cpu() - used) / tokens * 1e6);
    return stamp < 0;
}
