/* What TLS records tell from outside: how long they are. A hint: the record that ends an answer is seldom as long as one
 * that brings a token.
 *
 * Knows: the headers of TLS records. Must not know: sockets, what is in them.
 */
#include <stddef.h>
#include <stdint.h>

enum { HEADER = 5, LOWEST_TYPE = 20, DATA = 23, ODDS = 2 };

struct records { /* of one stream */
    unsigned char header[HEADER];
    uint32_t got, left; /* bytes of the header that came, and that the body lacks */
    int odd; /* the record that is under way is */
    uint32_t shortest, longest; /* of those so far; 0 before the first */
    int lost; /* what came is no TLS, or began inside a record: the lengths tell nothing */
};

static int is_odd(struct records *r, uint32_t length) {
    int odd = !r->longest || length > ODDS * r->longest || ODDS * length < r->shortest;
    if (length > r->longest) r->longest = length;
    if (!r->shortest || length < r->shortest) r->shortest = length;
    return odd;
}

/* Whether a record that ends in these bytes is unlike those before it. `beginning`: of the answer; all are, and set no
 * measure.
 */
static int holds_odd(struct records *r, const char *bytes, size_t size, int beginning) {
    int odd = 0;
    for (size_t at = 0; at < size && !r->lost;) {
        if (r->left) {
            uint32_t some = size - at < r->left ? (uint32_t)(size - at) : r->left;
            r->left -= some;
            at += some;
        } else {
            r->header[r->got++] = (unsigned char)bytes[at++];
            if (r->got < HEADER) continue;
            r->got = 0;
            r->left = (uint32_t)r->header[3] << 8 | r->header[4];
            r->odd = beginning || r->header[0] != DATA || is_odd(r, r->left);
            r->lost = r->header[0] < LOWEST_TYPE || r->header[0] > DATA || r->header[1] != 3;
        }
        if (!r->left) odd |= r->odd;
    }
    return odd || r->lost;
}
