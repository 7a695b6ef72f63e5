/* The streams that are read, by ids that no other stream ever has.
 *
 * Knows: what is kept of a stream. Must not know: how it is read, or who asks.
 */
#include <stdint.h>
#include <stdlib.h>

enum { FIRST_STREAMS = 32, NO_STREAM = 0 }; /* no stream: an id */

struct stream {
    int fd; /* -1: free for another stream */
    uint32_t place, epoch; /* together the id, so that a late event of an earlier stream finds none */
    struct reads reads;
    char tail[TAIL]; /* the newest bytes, taken or not */
    enum { NOTHING, HEAD, OTHER } begun; /* what was read: nothing, the head of a stream, that and more or another */
    int eager; /* there is reason to look at it whenever anything came, but what begins well */
    int sealed, odd; /* odd: of the reads that wait, one was told by its length */
    struct records records;
    int watched, ended, error;
    int due; /* there is reason to look at it */
    int listed; /* it is in the list of those that the event loop is told of */
    struct stream *next; /* in that list, or among the free ones */
};

struct streams {
    struct stream **all, *free;
    uint32_t count, places;
};

static uint64_t id_of(const struct stream *s) { return (uint64_t)s->epoch << 32 | s->place; }

static struct stream *stream_of(const struct streams *streams, uint64_t id) {
    struct stream *s = (uint32_t)id < streams->count ? streams->all[(uint32_t)id] : NULL;
    return s && s->fd >= 0 && id_of(s) == id ? s : NULL;
}

static int grow_streams(struct streams *streams) {
    uint32_t places = streams->places ? 2 * streams->places : FIRST_STREAMS;
    struct stream **all = realloc(streams->all, places * sizeof *all);
    if (!all) return 0;
    streams->all = all;
    streams->places = places;
    return 1;
}

/* One with an id of its own; NULL when there is no memory for it. */
static struct stream *new_stream(struct streams *streams) {
    struct stream *s = streams->free;
    if (s) {
        streams->free = s->next;
    } else {
        if (streams->count == streams->places && !grow_streams(streams)) return NULL;
        s = calloc(1, sizeof *s);
        if (!s) return NULL;
        s->place = streams->count;
        streams->all[streams->count++] = s;
    }
    s->epoch++;
    return s;
}

/* Its memory serves another stream. */
static void set_free(struct streams *streams, struct stream *s) {
    s->next = streams->free;
    streams->free = s;
}
