/* Reads that wait to be taken: their bytes one behind the other, and the stamp and size of each.
 *
 * Knows: memory. Must not know: sockets.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4096, FIRST_PLACES = 32, KEPT_ROOM = 65536, KEPT_PLACES = 1024 };

struct reads { /* of one stream, oldest first */
    char *bytes;
    size_t size, room;
    double *stamps;
    uint32_t *sizes;
    size_t count, places;
};

/* Room for `size` more bytes and one more read; 0 when there is no memory for it. */
static int grow(struct reads *reads, size_t size) {
    size_t room = reads->room ? reads->room : FIRST_ROOM, places = reads->places ? reads->places : FIRST_PLACES;
    while (room < reads->size + size) room *= 2;
    if (reads->count == reads->places && reads->places) places *= 2;
    char *bytes = realloc(reads->bytes, room);
    if (bytes) reads->bytes = bytes;
    double *stamps = realloc(reads->stamps, places * sizeof *stamps);
    if (stamps) reads->stamps = stamps;
    uint32_t *sizes = realloc(reads->sizes, places * sizeof *sizes);
    if (sizes) reads->sizes = sizes;
    if (!bytes || !stamps || !sizes) return 0;
    reads->room = room;
    reads->places = places;
    return 1;
}

static int keep(struct reads *reads, double stamp, const char *bytes, size_t size) {
    if ((reads->size + size > reads->room || reads->count == reads->places) && !grow(reads, size)) return 0;
    memcpy(reads->bytes + reads->size, bytes, size);
    reads->size += size;
    reads->stamps[reads->count] = stamp;
    reads->sizes[reads->count++] = (uint32_t)size;
    return 1;
}

static void forget(struct reads *reads) {
    reads->size = reads->count = 0;
    if (reads->room <= KEPT_ROOM && reads->places <= KEPT_PLACES) return;
    free(reads->bytes);
    free(reads->stamps);
    free(reads->sizes);
    *reads = (struct reads){0};
}
