/* What bytes look like, so that a stream need only be looked at when there is something to see. Hints: a parser decides,
 * and what looks like nothing is seen a little later.
 *
 * Knows: how answers begin and end, as `reads.py` does. Must not know: sockets.
 */
#include <stddef.h>
#include <string.h>

enum { TAIL = 16 }; /* the newest bytes of a stream, which endings are looked for in; as long as the longest */

static const char *const ENDINGS[] = {"0\r\n\r\n", "[DONE]\n\n", "[DONE]\n\n\r\n", "[DONE]\r\n\r\n", "[DONE]\r\n\r\n\r\n"};

enum { ENDING_COUNT = sizeof ENDINGS / sizeof *ENDINGS };

static void move_tail(char *tail, const char *bytes, size_t size) {
    size_t new = size < TAIL ? size : TAIL;
    memmove(tail, tail + new, TAIL - new);
    memcpy(tail + TAIL - new, bytes + size - new, new);
}

static int ends_with(const char *tail, const char *ending) {
    size_t size = strlen(ending);
    return !memcmp(tail + TAIL - size, ending, size);
}

/* Of a read whose end is in the tail already: the last word, the end of the message, or of its trailers. */
static int looks_ended(const char *tail, const char *bytes, size_t size) {
    for (int i = 0; i < ENDING_COUNT; i++)
        if (ends_with(tail, ENDINGS[i])) return 1;
    if (memmem(bytes, size, "[DONE]", 6)) return 1;
    if (!ends_with(tail, "\r\n\r\n")) return 0;
    return (size > 3 && !memcmp(bytes, "0\r\n", 3)) || memmem(bytes, size, "\n0\r\n", 4);
}

/* How long the head is of a stream whose end its bytes will tell; 0 of anything else. The bytes end with a NUL. */
static size_t stream_head(char *bytes, size_t size) {
    char *end = memmem(bytes, size, "\r\n\r\n", 4);
    if (!end || strncmp(bytes, "HTTP/1.1 200 ", 13)) return 0;
    char kept = *end;
    *end = 0;
    int is = strcasestr(bytes, "text/event-stream") && !strcasestr(bytes, "content-length:");
    *end = kept;
    return is ? (size_t)(end - bytes) + 4 : 0;
}

/* Whether the bytes of a stream's body go on as it should. */
static int holds_event(const char *bytes, size_t size) { return memmem(bytes, size, "data:", 5) != NULL; }
