/* Finds the texts in reads that are nothing but whole events of one known shape.
 *
 * Knows: how HTTP frames a chunk, the bytes around an event's text. Must not know: sockets, JSON, Python.
 */
#include <stdint.h>
#include <string.h>

enum { MOST_DIGITS = 7 }; /* of a chunk's size */

struct shape { /* the fields are the same in Python */
    const char *before;
    size_t before_size;
    const char *after;
    size_t after_size;
    int chunked;
};

struct span {
    const char *begin; /* NULL: there is none */
    size_t size;
};

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* What the chunk holds that begins at `*at`; moves `*at` behind it. None when it is not there whole. */
static struct span chunk_at(const char **at, const char *until) {
    const char *header = *at, *end = header;
    size_t size = 0;
    for (; end < until && end - header < MOST_DIGITS && digit(*end) >= 0; end++) size = size << 4 | (size_t)digit(*end);
    if (end == header || (size_t)(until - end) < size + 4 || memcmp(end, "\r\n", 2)) return (struct span){0};
    struct span held = {end + 2, size};
    *at = held.begin + size + 2;
    return memcmp(*at - 2, "\r\n", 2) ? (struct span){0} : held;
}

static struct span text_of(const struct shape *shape, struct span event) {
    size_t around = shape->before_size + shape->after_size;
    if (!event.begin || event.size <= around) return (struct span){0};
    const char *text = event.begin + shape->before_size, *after = event.begin + event.size - shape->after_size;
    if (memcmp(event.begin, shape->before, shape->before_size)) return (struct span){0};
    if (memcmp(after, shape->after, shape->after_size)) return (struct span){0};
    if (memchr(text, '\n', event.size - around)) return (struct span){0}; /* stands in no JSON string */
    return (struct span){text, event.size - around};
}

/* Writes the texts of one read, a line each, to `*line` and moves that on. How many; 0 of a read that is not only
 * events of the shape, and then `*line` stays.
 */
static uint32_t texts_of(const struct shape *shape, struct span read, char **line) {
    const char *at = read.begin, *until = read.begin + read.size;
    char *next = *line;
    uint32_t events = 0;
    do {
        struct span text = text_of(shape, shape->chunked ? chunk_at(&at, until) : read);
        if (!text.begin) return 0;
        memcpy(next, text.begin, text.size);
        next += text.size;
        *next++ = '\n';
        events++;
    } while (shape->chunked && at < until);
    *line = next;
    return events;
}

/* The texts of the first reads that are events of this shape and nothing else, as they stand there, a line each in
 * `lines`, which has room for as many bytes as the reads; `counts`: the events of each read. The reads lie in `bytes`,
 * from `begin` on. Returns the number of reads, and in `size` the bytes of the lines.
 */
size_t texts_find(const struct shape *shape, const char *bytes, size_t begin, const uint32_t *sizes, size_t reads,
                  char *lines, uint32_t *counts, size_t *size) {
    char *line = lines;
    size_t found = 0;
    for (; found < reads; begin += sizes[found++]) {
        counts[found] = texts_of(shape, (struct span){bytes + begin, sizes[found]}, &line);
        if (!counts[found]) break;
    }
    *size = (size_t)(line - lines);
    return found;
}
