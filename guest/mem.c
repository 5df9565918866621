/* memcpy, memmove and memset, in pieces.
 *
 * WebAssembly's memory.copy and memory.fill run natively in one go. A program
 * that copies megabytes thousands of times between two reports of the
 * interpreter would hold its thread for seconds, so here, and nowhere else,
 * they are used on pieces small enough that the loop over them reports in
 * often enough: 100,000 pieces of 256 bytes take some milliseconds. All other files
 * are compiled without bulk memory, so that they call these functions; and
 * guest/instrument refuses the two instructions anywhere else.
 *
 * And each megabyte reports in by itself: memory that is touched for the first
 * time costs the kernel a page each 4 KiB, which makes 100,000 pieces take tenths
 * of a second when eight guests do it at once.
 *
 * Short lengths, which are most, are copied by hand: wazero calls out for
 * every memory.copy.
 */
#include <stddef.h>
#include <stdint.h>

#define PIECE 256
#define REPORT (1 << 20)

__attribute__((import_module("codemode"), import_name("codemode_poll"))) void codemode_poll(void);

static size_t worked; /* bytes since the last report of this file */

static inline void piece_done(void) {
    worked += PIECE;
    if (worked < REPORT) return;
    worked = 0;
    codemode_poll();
}

typedef uint64_t __attribute__((aligned(1), may_alias)) u64;
typedef uint32_t __attribute__((aligned(1), may_alias)) u32;
typedef uint16_t __attribute__((aligned(1), may_alias)) u16;

/* n is at most 32; all is read before anything is written, so that the areas
   may overlap. */
static inline void copy_short(char *d, const char *s, size_t n) {
    if (n > 16) {
        u64 a = *(u64 *)s, b = *(u64 *)(s + 8), y = *(u64 *)(s + n - 16), z = *(u64 *)(s + n - 8);
        *(u64 *)d = a;
        *(u64 *)(d + 8) = b;
        *(u64 *)(d + n - 16) = y;
        *(u64 *)(d + n - 8) = z;
    } else if (n >= 8) {
        u64 a = *(u64 *)s, z = *(u64 *)(s + n - 8);
        *(u64 *)d = a;
        *(u64 *)(d + n - 8) = z;
    } else if (n >= 4) {
        u32 a = *(u32 *)s, z = *(u32 *)(s + n - 4);
        *(u32 *)d = a;
        *(u32 *)(d + n - 4) = z;
    } else if (n >= 2) {
        u16 a = *(u16 *)s, z = *(u16 *)(s + n - 2);
        *(u16 *)d = a;
        *(u16 *)(d + n - 2) = z;
    } else if (n) {
        *d = *s;
    }
}

void *memmove(void *dst, const void *src, size_t n) {
    char *d = dst;
    const char *s = src;
    if (n <= 32) {
        copy_short(d, s, n);
        return dst;
    }
    if (n <= PIECE) {
        __builtin_memmove(d, s, n);
        return dst;
    }
    if ((uintptr_t)d - (uintptr_t)s >= n) { /* d is before s, or behind its end */
        for (; n > PIECE; n -= PIECE, d += PIECE, s += PIECE) {
            __builtin_memmove(d, s, PIECE);
            piece_done();
        }
        __builtin_memmove(d, s, n);
        return dst;
    }
    while (n > PIECE) {
        n -= PIECE;
        __builtin_memmove(d + n, s + n, PIECE);
        piece_done();
    }
    __builtin_memmove(d, s, n);
    return dst;
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n) {
    if (n <= 32) {
        copy_short(dst, src, n);
        return dst;
    }
    return memmove(dst, src, n);
}

void *memset(void *dst, int c, size_t n) {
    char *d = dst;
    if (n <= 32) {
        u64 v = 0x0101010101010101 * (uint8_t)c;
        if (n >= 8) {
            *(u64 *)d = v;
            if (n > 16) {
                *(u64 *)(d + 8) = v;
                *(u64 *)(d + n - 16) = v;
            }
            *(u64 *)(d + n - 8) = v;
        } else if (n >= 4) {
            *(u32 *)d = v;
            *(u32 *)(d + n - 4) = v;
        } else {
            for (size_t i = 0; i < n; i++) d[i] = c;
        }
        return dst;
    }
    for (; n > PIECE; n -= PIECE, d += PIECE) {
        __builtin_memset(d, c, PIECE);
        piece_done();
    }
    __builtin_memset(d, c, n);
    return dst;
}
