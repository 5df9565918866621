/* The guest: QuickJS-ng and the few functions the host drives it with.
 *
 * Everything between the two sides goes through struct shared (below), whose
 * address cm_shared returns, and these exports:
 *
 *   cm_init()                    once, before the snapshot: runtime, context, bootstrap
 *   cm_do(DO_BUFFER, n)          makes room for n bytes in the buffer, and returns where it is
 *   cm_do(DO_START, n, name_n, input_n)  the buffer holds program, name and input (JSON)
 *   cm_do(DO_SETTLE, id, how, n) the buffer holds the answer of call id; with SETTLE_PUMP it does DO_PUMP then
 *   cm_do(DO_PUMP)               runs jobs and due timers until the run waits or has ended
 *   cm_do(DO_REST)               after a run of a session: ends all that is left of it
 *   cm_do(DO_NAMES)              between runs of a session: lists what it has declared
 *   cm_where()                   after a trap: where the program was
 *
 * One function does it all because a host keeps a native stack for each.
 *
 * The imports are codemode_call and codemode_poll, and no others. The program
 * reaches none of this: what it sees are the C functions and classes below,
 * which never look anything up through objects that a program can change.
 *
 * quickjs.c is included, not linked: the result's length, the frame of a call
 * and the random state are not in its public interface.
 */
#include "quickjs.c"
#include "bootstrap.h"

#define IMPORT(name) __attribute__((import_module("codemode"), import_name(#name)))
#define EXPORT(name) __attribute__((export_name(#name)))

/* Returns the call's id (from 1), or one of the CALL_ values. */
IMPORT(codemode_call) int32_t codemode_call(const char *name, uint32_t name_len, const char *args, uint32_t args_len);
/* Reports in. The host updates the clock, and does not return when the run is
   to stop: that traps, and nothing in the program can catch it. */
IMPORT(codemode_poll) void codemode_poll(void);

enum { CALL_TOO_MANY = -1, CALL_ENDED = -2, CALL_NO_ROOM = -3 };

enum { RUN_WAITING, RUN_RETURNED, RUN_RETURNED_UNDEFINED, RUN_THREW, RUN_REFUSED, RUN_TOO_LARGE };

enum { SETTLE_VALUE, SETTLE_UNDEFINED, SETTLE_ERROR, SETTLE_PUMP = 4 };

enum { DO_BUFFER, DO_START, DO_SETTLE, DO_PUMP, DO_REST, DO_NAMES };

/* Read and written by the host; abi.go holds the same layout. All offsets are
   multiples of 8 for 64-bit fields. */
static struct shared {
    double now_ms;            /*  0 in: wall clock, whole milliseconds */
    double mono_ms;           /*  8 in: monotonic clock, whole milliseconds */
    double next_timer_ms;     /* 16 out: when the next timer is due on the monotonic clock, or -1 */
    uint32_t status;          /* 24 out: RUN_ */
    uint32_t out;             /* 28 out: address of the result or the description of the error (JSON) */
    uint32_t out_len;         /* 32 out */
    uint32_t console;         /* 36 out: address of the console, records of level byte, u32 length, bytes */
    uint32_t console_len;     /* 40 out */
    uint32_t console_dropped; /* 44 out: bytes beyond console_max */
    uint32_t console_max;     /* 48 in */
    uint32_t args_max;        /* 52 in */
    uint32_t result_max;      /* 56 in */
    uint32_t out_of_memory;   /* 60 out: an allocation was refused in this run */
    uint32_t pending;         /* 64 out: calls that are not settled */
    uint32_t too_many;        /* 68 out: a call was refused because there were too many */
    uint32_t flags;           /* 72 in: FLAG_ */
    uint32_t line, column;    /* 76 out: where the program was, after cm_where; 0 if unknown */
    uint32_t thrown_by;       /* 84 out: the call whose error ended the run, uncaught; 0 if it was another */
    uint8_t seed[32];         /* 88 in: randomness of this run */
    uint64_t random_state;    /* 120 in: of Math.random */
    uint32_t in, in_cap;      /* 128 out: the buffer; the host writes less than that */
    uint32_t promises;        /* 136 out: after DO_REST: for how many promises something waited */
    uint32_t timers;          /* 140 out: how many timers that repeat were left */
    uint32_t counter;         /* 144 out: address of the interpreter's counter (int32) and of how often it was filled up */
    uint32_t main;            /* 148 out: MAIN_; with MAIN_THREW, out describes what the program threw */
} shared;

enum { FLAG_BIG_INTEGERS = 1, FLAG_SESSION = 2 };

/* How the program itself has ended. The run ends when what it started has ended too. */
enum { MAIN_RUNS, MAIN_RETURNED, MAIN_THREW };

_Static_assert(offsetof(struct shared, seed) == 88 && offsetof(struct shared, main) == 148, "abi.go says so");
_Static_assert(offsetof(JSContext, interrupts) == offsetof(JSContext, interrupt_counter) + 4, "steps.go says so");

static JSRuntime *rt;
static JSContext *ctx;

/* ---- memory: what the allocator refuses is a fact for the host ---- */

static void *mem_calloc(void *o, size_t n, size_t size) {
    void *p = calloc(n, size);
    if (!p) shared.out_of_memory = 1;
    return p;
}
static void *mem_malloc(void *o, size_t size) {
    void *p = malloc(size);
    if (!p) shared.out_of_memory = 1;
    return p;
}
/* What is freed during the initialisation is wiped, so that the snapshot, and
   the module that holds it, has no stale text in it. */
static bool wiping;

static void mem_free(void *o, void *p) {
    if (wiping && p) memset(p, 0, malloc_usable_size(p));
    free(p);
}
static void *mem_realloc(void *o, void *p, size_t size) {
    if (wiping && p && size) {
        size_t old = malloc_usable_size(p);
        void *q = malloc(size);
        if (!q) return NULL;
        memcpy(q, p, old < size ? old : size);
        mem_free(o, p);
        return q;
    }
    void *q = realloc(p, size);
    if (!q && size) shared.out_of_memory = 1;
    return q;
}
static size_t mem_usable(const void *p) { return malloc_usable_size((void *)p); }

static const JSMallocFunctions mem_functions = { mem_calloc, mem_malloc, mem_free, mem_realloc, mem_usable };

/* ---- clock and randomness, handed in by the host ---- */

int clock_gettime(clockid_t clock, struct timespec *ts) {
    double ms = clock == CLOCK_REALTIME ? shared.now_ms : shared.mono_ms;
    ts->tv_sec = (time_t)(ms / 1000);
    ts->tv_nsec = (long)(ms - (double)ts->tv_sec * 1000) * 1000000;
    return 0;
}

int gettimeofday(struct timeval *tv, void *tz) {
    tv->tv_sec = (time_t)(shared.now_ms / 1000);
    tv->tv_usec = (long)(shared.now_ms - (double)tv->tv_sec * 1000) * 1000;
    return 0;
}

/* ChaCha20 as in RFC 8439, section 2.3, with the run's seed as key. */
static struct { uint32_t state[16]; uint8_t block[64]; uint32_t used; } rng;

static inline uint32_t rotl(uint32_t x, int n) { return x << n | x >> (32 - n); }

static void rng_block(void) {
    uint32_t x[16];
    memcpy(x, rng.state, sizeof x);
#define QR(a, b, c, d) \
    x[a] += x[b]; x[d] = rotl(x[d] ^ x[a], 16); x[c] += x[d]; x[b] = rotl(x[b] ^ x[c], 12); \
    x[a] += x[b]; x[d] = rotl(x[d] ^ x[a], 8); x[c] += x[d]; x[b] = rotl(x[b] ^ x[c], 7)
    for (int i = 0; i < 10; i++) {
        QR(0, 4, 8, 12); QR(1, 5, 9, 13); QR(2, 6, 10, 14); QR(3, 7, 11, 15);
        QR(0, 5, 10, 15); QR(1, 6, 11, 12); QR(2, 7, 8, 13); QR(3, 4, 9, 14);
    }
#undef QR
    for (int i = 0; i < 16; i++) {
        x[i] += rng.state[i];
        memcpy(rng.block + 4 * i, &x[i], 4);
    }
    if (++rng.state[12] == 0) rng.state[13]++;
    rng.used = 0;
}

static void rng_seed(void) {
    static const uint32_t sigma[4] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };
    memset(&rng, 0, sizeof rng);
    memcpy(rng.state, sigma, 16);
    memcpy(rng.state + 4, shared.seed, 32);
    memset(shared.seed, 0, 32);
    rng.used = 64;
}

static void rng_fill(uint8_t *p, size_t n) {
    while (n > 0) {
        if (rng.used == 64) rng_block();
        size_t k = 64 - rng.used < n ? 64 - rng.used : n;
        memcpy(p, rng.block + rng.used, k);
        memset(rng.block + rng.used, 0, k);
        rng.used += k;
        p += k;
        n -= k;
    }
}

/* ---- a growing buffer with a limit ---- */

typedef struct { char *p; size_t len, cap, max; bool too_large; } Buf;

static int buf_room(Buf *b, size_t n) {
    if (n > b->max - b->len) {
        b->too_large = true;
        return -1;
    }
    if (b->len + n > b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 256;
        while (cap < b->len + n) cap *= 2;
        char *p = mem_realloc(NULL, b->p, cap);
        if (!p) return -1;
        b->p = p;
        b->cap = cap;
    }
    return 0;
}

static int buf_put(Buf *b, const char *s, size_t n) {
    if (buf_room(b, n)) return -1;
    memcpy(b->p + b->len, s, n);
    b->len += n;
    return 0;
}

static int buf_char(Buf *b, char c) {
    if (b->len < b->cap && b->len < b->max) {
        b->p[b->len++] = c;
        return 0;
    }
    return buf_put(b, &c, 1);
}

/* ---- text ---- */

/* QuickJS writes half of a surrogate pair as three bytes that are not UTF-8.
   They become U+FFFD, which has three bytes too. Reports whether there were any. */
static bool fix_surrogates(char *s, size_t n) {
    bool any = false;
    for (size_t i = 0; i + 2 < n; i++) {
        if ((uint8_t)s[i] != 0xed || (uint8_t)s[i + 1] < 0xa0) continue;
        memcpy(s + i, "\xef\xbf\xbd", 3);
        any = true;
    }
    return any;
}

/* The longest beginning of s that has at most max bytes and ends with a whole character. */
static size_t cut_text(const char *s, size_t n, size_t max) {
    if (n <= max) return n;
    while (max > 0 && ((uint8_t)s[max] & 0xc0) == 0x80) max--;
    return max;
}

/* ---- values out: JSON ---- */

/* The nesting that JSON may have in either direction. */
#define DEPTH_MAX 256

typedef struct {
    Buf b;
    const char *what; /* "argument" or "result": how paths begin */
    const char *tool; /* that gets the argument */
    int depth;
    bool skipped;     /* the value was undefined */
    JSValueConst seen[DEPTH_MAX];
    struct { JSAtom key; uint32_t index; } path[DEPTH_MAX + 1];
} Enc;

/* JSON string of n bytes of what QuickJS calls UTF-8, in which lone surrogates
   are three bytes; they become U+FFFD, so that all who read the result agree. */
static int enc_bytes(Buf *b, const char *s, size_t n) {
    static const char hex[] = "0123456789abcdef";
    if (buf_char(b, '"')) return -1;
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = s[i];
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0xed) continue;
        if (c == 0xed && (i + 1 >= n || (uint8_t)s[i + 1] < 0xa0)) continue;
        if (i > from && buf_put(b, s + from, i - from)) return -1;
        char e[6] = { '\\', 'u', '0', '0', 0, 0 };
        size_t k = 2;
        switch (c) {
        case '"': e[1] = '"'; break;
        case '\\': e[1] = '\\'; break;
        case '\n': e[1] = 'n'; break;
        case '\r': e[1] = 'r'; break;
        case '\t': e[1] = 't'; break;
        case '\b': e[1] = 'b'; break;
        case '\f': e[1] = 'f'; break;
        case 0xed: e[0] = '\xef'; e[1] = '\xbf'; e[2] = '\xbd'; k = 3; i += 2; break;
        default: e[4] = hex[c >> 4]; e[5] = hex[c & 15]; k = 6;
        }
        if (buf_put(b, e, k)) return -1;
        from = i + 1;
    }
    if (n > from && buf_put(b, s + from, n - from)) return -1;
    return buf_char(b, '"');
}

static int enc_string(Enc *e, JSValueConst v) {
    size_t n;
    const char *s = JS_ToCStringLen(ctx, &n, v);
    if (!s) return -1;
    int r = enc_bytes(&e->b, s, n);
    JS_FreeCString(ctx, s);
    return r;
}

static int enc_number(Buf *b, double d) {
    char s[128];
    JSDTOATempMem tmp;
    if (!isfinite(d)) return buf_put(b, "null", 4);
    if (d == 0) return buf_char(b, '0');
    return buf_put(b, s, js_dtoa(s, d, 10, 0, JS_DTOA_FORMAT_FREE, &tmp));
}

static int enc_int(Buf *b, int32_t v) {
    char s[12], *p = s + sizeof s;
    uint32_t u = v < 0 ? -(uint32_t)v : (uint32_t)v;
    do *--p = '0' + u % 10; while (u /= 10);
    if (v < 0) *--p = '-';
    return buf_put(b, p, s + sizeof s - p);
}

enum { PATH_HALF = 80, PATH_SIZE = 2 * PATH_HALF + 100 };

/* Where in the value it is; of a long path the beginning and the end. */
static void enc_path(const Enc *e, char path[PATH_SIZE]) {
    char *p = path;
    p += snprintf(p, PATH_HALF, "%s", e->what);
    for (int i = 0; i < e->depth; i++) {
        char key[64], step[72];
        if (e->path[i].key == JS_ATOM_NULL) snprintf(step, sizeof step, "[%u]", e->path[i].index);
        else snprintf(step, sizeof step, ".%.60s", JS_AtomGetStr(ctx, key, sizeof key, e->path[i].key));
        size_t n = strlen(step);
        if (p - path + n > PATH_HALF && i < e->depth - 3) {
            p += snprintf(p, 8, "...");
            i = e->depth - 4;
            continue;
        }
        if (p - path + n < PATH_SIZE - 1) p += snprintf(p, n + 1, "%s", step);
    }
}

/* The same as a JSON Pointer, cut where it is too long. */
static void enc_pointer(const Enc *e, char path[PATH_SIZE]) {
    size_t n = 0;
    for (int i = 0; i < e->depth && n < PATH_SIZE - 80; i++) {
        char key[64];
        path[n++] = '/';
        if (e->path[i].key == JS_ATOM_NULL) snprintf(key, sizeof key, "%u", e->path[i].index);
        else JS_AtomGetStr(ctx, key, sizeof key, e->path[i].key);
        for (const char *p = key; *p && n < PATH_SIZE - 3; p++) {
            path[n++] = *p == '~' || *p == '/' ? '~' : *p;
            if (*p == '~' || *p == '/') path[n++] = *p == '~' ? '0' : '1';
        }
    }
    path[n] = 0;
}

/* Throws a TypeError that says where in the value it is. */
static int enc_refuse(Enc *e, const char *why) {
    char path[PATH_SIZE];
    enc_path(e, path);
    char message[512]; /* JS_ThrowTypeError would cut it at 256 bytes */
    snprintf(message, sizeof message, "%.260s %.240s", path, why);
    message[cut_text(message, strlen(message), sizeof message - 1)] = 0;
    JSValue error = JS_MakeError2(ctx, JS_TYPE_ERROR, true, message);
    if (!JS_IsException(error)) JS_Throw(ctx, error);
    return -1;
}

static int enc_value(Enc *e, JSValueConst v);
static int enc_promise(Enc *e, JSValueConst v);

static int enc_array(Enc *e, JSValueConst v) {
    int64_t n;
    if (JS_GetLength(ctx, v, &n) || buf_char(&e->b, '[')) return -1;
    e->path[e->depth++].key = JS_ATOM_NULL;
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && buf_char(&e->b, ',')) return -1;
        JSValue x = JS_GetPropertyInt64(ctx, v, i);
        if (JS_IsException(x)) return -1;
        e->path[e->depth - 1].index = i;
        int r = enc_value(e, x);
        JS_FreeValue(ctx, x);
        if (r || (e->skipped && buf_put(&e->b, "null", 4))) return -1;
    }
    e->depth--;
    return buf_char(&e->b, ']');
}

/* One `"key":value`; r counts what is written already. */
static int enc_member(Enc *e, JSAtom key, JSValueConst v, bool *any) {
    size_t mark = e->b.len, n;
    if (*any && buf_char(&e->b, ',')) return -1;
    const char *s = JS_AtomToCStringLen(ctx, &n, key);
    if (!s) return -1;
    e->path[e->depth - 1].key = key;
    bool half = false; /* two keys that differ in halves of characters would become one */
    for (size_t i = 0; i + 1 < n; i++) half |= (uint8_t)s[i] == 0xed && (uint8_t)s[i + 1] >= 0xa0;
    int r = half ? enc_refuse(e, "has a name that is not valid Unicode") : enc_bytes(&e->b, s, n) || buf_char(&e->b, ':');
    JS_FreeCString(ctx, s);
    if (r) return -1;
    if (enc_value(e, v)) return -1;
    if (e->skipped) e->b.len = mark;
    else *any = true;
    return 0;
}

static bool is_error(JSValueConst v) { return JS_IsError(v) || JS_GetClassID(v) == JS_CLASS_DOM_EXCEPTION; }

/* What an error was made of, which is not enumerable either: its cause, and the errors of an AggregateError. */
static int enc_reasons(Enc *e, JSValueConst v, bool *any) {
    static const JSAtom keys[] = { JS_ATOM_cause, JS_ATOM_errors };
    for (int i = 0; i < 2; i++) {
        JSPropertyDescriptor d;
        int found = JS_GetOwnProperty(ctx, &d, v, keys[i]);
        if (found < 0) return -1;
        if (!found) continue;
        int bad = d.flags & (JS_PROP_ENUMERABLE | JS_PROP_GETSET) ? 0 : enc_member(e, keys[i], d.value, any);
        js_free_desc(ctx, &d);
        if (bad) return -1;
    }
    return 0;
}

static int enc_bare(Enc *e, JSValueConst v);

static int enc_object(Enc *e, JSValueConst v) {
    JSPropertyEnum *tab;
    uint32_t n;
    bool any = false;
    int r = -1;
    if (JS_GetOwnPropertyNames(ctx, &tab, &n, v, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY)) return -1;
    if (n == 0 && !is_error(v) && !JS_IsProxy(v)) {
        JS_FreePropertyEnum(ctx, tab, n);
        return enc_bare(e, v);
    }
    e->depth++;
    if (buf_char(&e->b, '{')) goto done;
    if (is_error(v)) {
        /* An error's name and message are not enumerable, so that JSON.stringify
           would say {}; a program that returns Promise.allSettled wants them. */
        static const JSAtom keys[] = { JS_ATOM_name, JS_ATOM_message };
        for (int i = 0; i < 2; i++) {
            JSValue x = JS_GetProperty(ctx, v, keys[i]);
            if (JS_IsException(x)) goto done;
            int bad = JS_IsString(x) ? enc_member(e, keys[i], x, &any) : 0;
            JS_FreeValue(ctx, x);
            if (bad) goto done;
        }
        if (enc_reasons(e, v, &any)) goto done;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (is_error(v) && (tab[i].atom == JS_ATOM_name || tab[i].atom == JS_ATOM_message)) continue;
        JSValue x = JS_GetProperty(ctx, v, tab[i].atom);
        if (JS_IsException(x)) goto done;
        int bad = enc_member(e, tab[i].atom, x, &any);
        JS_FreeValue(ctx, x);
        if (bad) goto done;
    }
    e->depth--;
    r = buf_char(&e->b, '}');
done:
    JS_FreePropertyEnum(ctx, tab, n);
    return r;
}

static JSAtom atom_toJSON;
static JSClassID tool_class;

#include "stringify.h"
#include "collate.h"

static int enc_element(Enc *e, JSValueConst x, uint32_t i) {
    e->path[e->depth].key = JS_ATOM_NULL;
    e->path[e->depth++].index = i;
    if (enc_value(e, x) || (e->skipped && buf_put(&e->b, "null", 4))) return -1;
    e->depth--;
    return 0;
}

/* How many values an iterator of the program may give: one without end must not run until the time is up. */
#define YIELDS_MAX 100000

/* What an iterator still gives, or an object that can be iterated, as an array. */
static int enc_iterator(Enc *e, JSValueConst v) {
    int done, r = -1;
    JSValue it = JS_GetIterator(ctx, v, false), next = JS_UNDEFINED;
    if (JS_IsException(it)) return -1;
    next = JS_GetProperty(ctx, it, JS_ATOM_next);
    if (JS_IsException(next) || buf_char(&e->b, '[')) goto done;
    for (uint32_t i = 0;; i++) {
        JSValue x = JS_IteratorNext(ctx, it, next, 0, NULL, &done);
        if (JS_IsException(x)) goto done;
        if (done) break;
        if (i == YIELDS_MAX) {
            JS_FreeValue(ctx, x);
            enc_refuse(e, "is an iterator that gave 100,000 values and has more: pass those that you need, such as [...x.take(100)]");
            goto close;
        }
        int bad = (i > 0 && buf_char(&e->b, ',')) || enc_element(e, x, i);
        JS_FreeValue(ctx, x);
        if (bad) goto close;
    }
    r = buf_char(&e->b, ']');
    goto done;
close:
    if (JS_HasException(ctx)) JS_IteratorClose(ctx, it, true);
done:
    JS_FreeValue(ctx, next);
    JS_FreeValue(ctx, it);
    return r;
}

/* A Map or Set as it is now: the program's code, which runs while its values are written, may change it. */
static JSValue *collection_items(JSMapState *m, bool map, uint32_t *n) {
    JSValue *items = js_malloc(ctx, (2 * (size_t)m->record_count + 1) * sizeof *items);
    if (!items) return NULL;
    struct list_head *el;
    *n = 0;
    list_for_each(el, &m->records) {
        JSMapRecord *r = list_entry(el, JSMapRecord, link);
        if (r->empty) continue;
        items[(*n)++] = js_dup(r->key);
        if (map) items[(*n)++] = js_dup(r->value);
    }
    return items;
}

/* A Map whose keys are all text: an object. */
static int enc_text_map(Enc *e, JSValue *items, uint32_t n) {
    bool any = false;
    if (buf_char(&e->b, '{')) return -1;
    e->depth++;
    for (uint32_t i = 0; i < n; i += 2) {
        JSAtom key = JS_ValueToAtom(ctx, items[i]);
        if (key == JS_ATOM_NULL) return -1;
        int bad = enc_member(e, key, items[i + 1], &any);
        JS_FreeAtom(ctx, key);
        if (bad) return -1;
    }
    e->depth--;
    return buf_char(&e->b, '}');
}

/* Any other Map: an array of its [key, value] pairs. A Set: an array. */
static int enc_list(Enc *e, JSValue *items, uint32_t n, bool map) {
    if (e->depth + 1 >= DEPTH_MAX) return enc_refuse(e, "is nested too deeply");
    if (buf_char(&e->b, '[')) return -1;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && buf_char(&e->b, ',')) return -1;
        if (!map && enc_element(e, items[i], i)) return -1;
        if (!map) continue;
        e->path[e->depth].key = JS_ATOM_NULL;
        e->path[e->depth].index = i / 2;
        e->seen[e->depth + 1] = e->seen[e->depth]; /* the pair is no object of the program's */
        e->depth++;
        if (buf_char(&e->b, '[') || enc_element(e, items[i], 0) || buf_char(&e->b, ',')) return -1;
        if (enc_element(e, items[++i], 1) || buf_char(&e->b, ']')) return -1;
        e->depth--;
    }
    return buf_char(&e->b, ']');
}

static int enc_collection(Enc *e, JSValueConst v, bool map) {
    JSMapState *m = JS_VALUE_GET_OBJ(v)->u.map_state;
    uint32_t n;
    JSValue *items = collection_items(m, map, &n);
    if (!items) return -1;
    bool text = map;
    for (uint32_t i = 0; i < n; i += 2) text = text && JS_IsString(items[i]);
    int r = text ? enc_text_map(e, items, n) : enc_list(e, items, n, map);
    for (uint32_t i = 0; i < n; i++) JS_FreeValue(ctx, items[i]);
    js_free(ctx, items);
    return r;
}

static int enc_typed_array(Enc *e, JSValueConst v) {
    JSObject *p = JS_VALUE_GET_OBJ(v);
    if (typed_array_is_oob(p)) return enc_refuse(e, "is a typed array whose buffer was transferred or made smaller");
    uint32_t n = p->u.array.count;
    if (buf_char(&e->b, '[')) return -1;
    for (uint32_t i = 0; i < n; i++) {
        size_t len;
        JSValue x = JS_GetPropertyInt64(ctx, v, i);
        if (JS_IsException(x) || (i > 0 && buf_char(&e->b, ','))) return -1;
        int bad;
        if (JS_VALUE_GET_TAG(x) == JS_TAG_INT) bad = enc_int(&e->b, JS_VALUE_GET_INT(x));
        else if (JS_IsNumber(x)) bad = enc_number(&e->b, JS_VALUE_GET_FLOAT64(x));
        else {
            const char *s = JS_ToCStringLen(ctx, &len, x); /* of a BigInt64Array */
            bad = !s || buf_put(&e->b, s, len);
            if (s) JS_FreeCString(ctx, s);
        }
        JS_FreeValue(ctx, x);
        if (bad) return -1;
    }
    return buf_char(&e->b, ']');
}

static int enc_array_buffer(Enc *e, JSValueConst v) {
    JSArrayBuffer *a = JS_VALUE_GET_OBJ(v)->u.array_buffer;
    if (a->detached) return enc_refuse(e, "is an ArrayBuffer that was transferred");
    if (buf_char(&e->b, '[')) return -1;
    for (int i = 0; i < a->byte_length; i++)
        if ((i > 0 && buf_char(&e->b, ',')) || enc_int(&e->b, a->data[i])) return -1;
    return buf_char(&e->b, ']');
}

/* Whether an object has private fields, or inherits properties or getters: a program would take them for its contents. */
static bool holds_more(JSValueConst v) {
    JSObject *p = JS_VALUE_GET_OBJ(v), *last = JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_OBJECT]);
    for (int hops = 0; p && p != last && hops < 100; hops++, p = p->shape->proto) {
        if (p->is_exotic && !p->fast_array) return true;
        JSShapeProperty *prs = get_shape_prop(p->shape);
        for (int i = 0; i < p->shape->prop_count; i++, prs++) {
            if (prs->atom == JS_ATOM_NULL) continue;
            if (JS_AtomGetKind(ctx, prs->atom) == JS_ATOM_KIND_PRIVATE) return true;
            if (hops == 0 || JS_AtomGetKind(ctx, prs->atom) == JS_ATOM_KIND_SYMBOL) continue;
            if ((prs->flags & JS_PROP_ENUMERABLE) || (prs->flags & JS_PROP_TMASK) == JS_PROP_GETSET) return true;
        }
    }
    return false;
}

/* An object without a property that JSON would write: what it yields, or {} if it is empty, and no {} for what is not. */
static int enc_bare(Enc *e, JSValueConst v) {
    static const JSAtom iterators[] = { JS_ATOM_Symbol_iterator, JS_ATOM_Symbol_asyncIterator };
    for (int i = 0; i < 2; i++) {
        JSValue f = JS_GetProperty(ctx, v, iterators[i]);
        if (JS_IsException(f)) return -1;
        bool is = JS_IsFunction(ctx, f);
        JS_FreeValue(ctx, f);
        if (!is) continue;
        return i == 0 ? enc_iterator(e, v) : enc_refuse(e, "is an async iterator: use await Array.fromAsync(x)");
    }
    if (holds_more(v))
        return enc_refuse(e, "is an object whose contents JSON cannot see (private, inherited or behind getters): "
                             "give its class a toJSON(), or pass the properties that are meant");
    return buf_put(&e->b, "{}", 2);
}

/* What is neither an object nor an array nor iterable, and so has no form in JSON. */
static int enc_refuse_class(Enc *e, JSValueConst v, int id) {
    char why[160], name[64];
    switch (id) {
    case JS_CLASS_REGEXP: return enc_refuse(e, "is a regular expression: use x.source, or String(x)");
    case JS_CLASS_SYMBOL: return enc_refuse(e, "is a symbol, which JSON cannot carry");
    case JS_CLASS_DATE: return enc_refuse(e, "is a Date without its toJSON: use x.toISOString()");
    case JS_CLASS_DATAVIEW: return enc_refuse(e, "is a DataView: use new Uint8Array(x.buffer)");
    case JS_CLASS_WEAKMAP:
    case JS_CLASS_WEAKSET: return enc_refuse(e, "is a WeakMap or WeakSet, whose contents cannot be listed: use a Map or Set");
    case JS_CLASS_ASYNC_GENERATOR: return enc_refuse(e, "is an async iterator: use await Array.fromAsync(x)");
    }
    snprintf(why, sizeof why, "is a %s, which JSON cannot carry", JS_AtomGetStr(ctx, name, sizeof name, rt->class_array[id].class_name));
    return enc_refuse(e, why);
}

static int enc_proxy(Enc *e, JSValueConst v) {
    JSValueConst t = v;
    for (int i = 0; i < 100 && JS_IsProxy(t); i++) {
        JSProxyData *d = JS_GetOpaque(t, JS_CLASS_PROXY);
        if (d->is_revoked) break;
        t = d->target;
    }
    int array = js_is_array(ctx, v), id = JS_GetClassID(t);
    if (array < 0) return -1;
    if (array) return enc_array(e, v);
    if (id == JS_CLASS_OBJECT || id == JS_CLASS_ERROR || id == JS_CLASS_PROXY) return enc_object(e, v);
    return enc_refuse(e, "is a Proxy of what is no plain object or array, which JSON cannot carry");
}

static int enc_container(Enc *e, JSValueConst v) {
    int id = JS_GetClassID(v);
    if (id == tool_class || JS_IsFunction(ctx, v))
        return enc_refuse(e, "is a function, which JSON cannot carry: call it, or leave it out");
    if (e->depth >= DEPTH_MAX) return enc_refuse(e, "is nested too deeply");
    if (js_check_stack_overflow(rt, 4096)) { JS_ThrowStackOverflow(ctx); return -1; }
    for (int i = 0; i < e->depth; i++)
        if (JS_VALUE_GET_OBJ(e->seen[i]) == JS_VALUE_GET_OBJ(v)) return enc_refuse(e, "is a cycle: it contains itself");
    e->seen[e->depth] = v;
    switch (id) {
    case JS_CLASS_ARRAY:
    case JS_CLASS_ARGUMENTS:
    case JS_CLASS_MAPPED_ARGUMENTS: return enc_array(e, v);
    case JS_CLASS_MAP: return enc_collection(e, v, true);
    case JS_CLASS_SET: return enc_collection(e, v, false);
    case JS_CLASS_ARRAY_BUFFER: return enc_array_buffer(e, v);
    case JS_CLASS_PROXY: return enc_proxy(e, v);
    case JS_CLASS_ITERATOR_CONCAT:
    case JS_CLASS_ITERATOR_HELPER:
    case JS_CLASS_ITERATOR_WRAP:
    case JS_CLASS_MAP_ITERATOR:
    case JS_CLASS_SET_ITERATOR:
    case JS_CLASS_ARRAY_ITERATOR:
    case JS_CLASS_STRING_ITERATOR:
    case JS_CLASS_REGEXP_STRING_ITERATOR:
    case JS_CLASS_GENERATOR: return enc_iterator(e, v);
    case JS_CLASS_OBJECT:
    case JS_CLASS_ERROR:
    case JS_CLASS_DOM_EXCEPTION:
    case JS_CLASS_ITERATOR: /* of a class of the program's */
    case JS_CLASS_RAWJSON:
    case JS_CLASS_PROMISE: return enc_object(e, v);
    }
    if (id >= JS_CLASS_UINT8C_ARRAY && id <= JS_CLASS_FLOAT64_ARRAY) return enc_typed_array(e, v);
    return enc_refuse_class(e, v, id);
}

/* Whether a Number cannot hold an integer. Limbs have 32 bits. */
static bool js_bigint_is_large(JSValueConst v) {
    int64_t n;
    if (JS_VALUE_GET_TAG(v) == JS_TAG_SHORT_BIG_INT) n = JS_VALUE_GET_SHORT_BIG_INT(v);
    else {
        JSBigInt *r = JS_VALUE_GET_PTR(v);
        if (r->len > 2) return true;
        n = (int64_t)((uint64_t)(r->len > 1 ? r->tab[1] : (js_slimb_t)r->tab[0] < 0 ? -1 : 0) << 32 | r->tab[0]);
    }
    return n > MAX_SAFE_INTEGER || n < -MAX_SAFE_INTEGER;
}

/* Integers that a Number cannot hold come from the host as BigInt and go back
   with all their digits. A smaller BigInt is a program's own, and more likely a
   mistake than a wish. */
static int enc_bigint(Enc *e, JSValueConst v) {
    if (!js_bigint_is_large(v)) return enc_refuse(e, "is a BigInt, which JSON cannot carry: use Number(x) or String(x)");
    size_t n;
    const char *s = JS_ToCStringLen(ctx, &n, v);
    if (!s) return -1;
    int r = buf_put(&e->b, s, n);
    JS_FreeCString(ctx, s);
    return r;
}

/* Every property is read once. Sets e->skipped when the value is undefined and
   nothing was written. */
static int enc_value(Enc *e, JSValueConst v) {
    JSValue own = JS_UNDEFINED;
    int r;
    e->skipped = false;
    if (JS_IsObject(v) || JS_IsBigInt(v)) {
        JSValue f = JS_GetProperty(ctx, v, atom_toJSON);
        if (JS_IsException(f)) return -1;
        if (JS_IsFunction(ctx, f) && !(JS_IsObject(v) && JS_GetClassID(v) == tool_class)) {
            own = JS_Call(ctx, f, v, 0, NULL);
            JS_FreeValue(ctx, f);
            if (JS_IsException(own)) return -1;
            v = own;
        } else {
            JS_FreeValue(ctx, f);
        }
    }
    if (JS_IsObject(v) && JS_GetClassID(v) == JS_CLASS_PROMISE) {
        r = enc_promise(e, v); /* sets e->skipped */
        JS_FreeValue(ctx, own);
        return r;
    }
    if (JS_IsObject(v)) {
        JSObject *p = JS_VALUE_GET_OBJ(v);
        switch (p->class_id) {
        case JS_CLASS_NUMBER:
        case JS_CLASS_STRING:
        case JS_CLASS_BOOLEAN:
        case JS_CLASS_BIG_INT:
            v = p->u.object_data;
        }
    }
    switch (JS_VALUE_GET_NORM_TAG(v)) {
    case JS_TAG_NULL: r = buf_put(&e->b, "null", 4); break;
    case JS_TAG_BOOL: r = JS_VALUE_GET_BOOL(v) ? buf_put(&e->b, "true", 4) : buf_put(&e->b, "false", 5); break;
    case JS_TAG_INT: r = enc_int(&e->b, JS_VALUE_GET_INT(v)); break;
    case JS_TAG_FLOAT64: r = enc_number(&e->b, JS_VALUE_GET_FLOAT64(v)); break;
    case JS_TAG_STRING:
    case JS_TAG_STRING_ROPE: r = enc_string(e, v); break;
    case JS_TAG_OBJECT: r = enc_container(e, v); break;
    case JS_TAG_UNDEFINED: e->skipped = true; r = 0; break;
    case JS_TAG_SYMBOL: r = enc_refuse(e, "is a symbol, which JSON cannot carry"); break;
    case JS_TAG_BIG_INT:
    case JS_TAG_SHORT_BIG_INT: r = enc_bigint(e, v); break;
    default: r = enc_refuse(e, "is nothing that JSON can carry");
    }
    JS_FreeValue(ctx, own);
    if (JS_VALUE_GET_NORM_TAG(v) != JS_TAG_UNDEFINED) e->skipped = false;
    return r;
}

/* ---- values in: JSON ---- */

/* The host hands in valid JSON in valid UTF-8 (it checks); this reader only has
   to stay inside its bounds whatever comes. p[end] is NUL. */
typedef struct { const char *p, *end; int depth; } Dec;

static JSValue dec_value(Dec *d);

static JSValue dec_fail(void) { return JS_ThrowSyntaxError(ctx, "what the host gave is not JSON"); }

static void dec_space(Dec *d) {
    while (*d->p == ' ' || *d->p == '\n' || *d->p == '\r' || *d->p == '\t') d->p++;
}

static int dec_hex4(Dec *d) {
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int h = from_hex(d->p[i]);
        if (h < 0) return -1;
        v = v << 4 | h;
    }
    d->p += 4;
    return v;
}

/* The string after the opening quote as bytes; *owned is to be freed if set. */
static int dec_string(Dec *d, const char **s, size_t *n, char **owned) {
    const char *from = d->p;
    *owned = NULL;
    while (d->p < d->end && *d->p != '"' && *d->p != '\\') d->p++;
    if (d->p >= d->end) return -1;
    if (*d->p == '"') {
        *s = from;
        *n = d->p++ - from;
        return 0;
    }
    const char *close = d->p;
    while (close < d->end && *close != '"') close += *close == '\\' ? 2 : 1;
    if (close >= d->end) return -1;
    char *out = mem_malloc(NULL, close - from + 1), *w = out;
    if (!out) return -1;
    while (*d->p != '"' || d->p < from) {
        if (w == out) { memcpy(w, from, d->p - from); w += d->p - from; from = d->p; if (*d->p == '"') break; }
        if (*d->p != '\\') { *w++ = *d->p++; continue; }
        d->p++;
        char c = *d->p++;
        int u, v;
        switch (c) {
        case 'n': *w++ = '\n'; break;
        case 't': *w++ = '\t'; break;
        case 'r': *w++ = '\r'; break;
        case 'b': *w++ = '\b'; break;
        case 'f': *w++ = '\f'; break;
        case '"': case '\\': case '/': *w++ = c; break;
        case 'u':
            u = dec_hex4(d);
            if (u < 0) goto bad;
            if (u >= 0xd800 && u < 0xdc00 && d->p[0] == '\\' && d->p[1] == 'u') {
                const char *back = d->p;
                d->p += 2;
                v = dec_hex4(d);
                if (v >= 0xdc00 && v < 0xe000) u = 0x10000 + ((u - 0xd800) << 10) + (v - 0xdc00);
                else d->p = back;
            }
            if (u >= 0xd800 && u < 0xe000) u = 0xfffd;
            w += utf8_encode((uint8_t *)w, u);
            break;
        default: goto bad;
        }
        if (d->p > close) goto bad;
    }
    d->p++;
    *s = out;
    *n = w - out;
    *owned = out;
    return 0;
bad:
    free(out);
    return -1;
}

static JSValue dec_number(Dec *d) {
    const char *from = d->p;
    bool integer = true;
    int64_t v = 0;
    int digits = 0;
    if (*d->p == '-') d->p++;
    for (;; d->p++) {
        char c = *d->p;
        if (c >= '0' && c <= '9') { if (digits++ < 18) v = v * 10 + (c - '0'); }
        else if (c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-') integer = false;
        else break;
    }
    if (digits == 0) return dec_fail();
    if (integer && digits <= 15) return *from == '-' ? (v ? JS_NewInt64(ctx, -v) : JS_NewFloat64(ctx, -0.0)) : JS_NewInt64(ctx, v);
    if (integer && (shared.flags & FLAG_BIG_INTEGERS)) {
        if (digits <= 18) {
            if (v <= MAX_SAFE_INTEGER) return JS_NewInt64(ctx, *from == '-' ? -v : v);
            return JS_NewBigInt64(ctx, *from == '-' ? -v : v);
        }
        char *text = mem_malloc(NULL, d->p - from + 1);
        if (!text) return JS_ThrowOutOfMemory(ctx);
        memcpy(text, from, d->p - from);
        text[d->p - from] = 0;
        bool negative = *text == '-';
        JSBigInt *r = js_bigint_from_string(ctx, text + negative, 10);
        free(text);
        if (!r) return JS_EXCEPTION;
        JSValue big = JS_CompactBigInt(ctx, r);
        if (!negative) return big;
        JSValue zero = JS_NewBigInt64(ctx, 0), neg;
        JSValue sp[2] = { zero, big };
        if (js_binary_arith_slow(ctx, sp + 2, OP_sub)) return JS_EXCEPTION;
        neg = sp[0];
        return neg;
    }
    JSATODTempMem tmp;
    const char *next;
    double x = js_atod(from, &next, 10, 0, &tmp);
    return JS_NewFloat64(ctx, x);
}

static JSValue dec_array(Dec *d) {
    JSValue arr = JS_NewArray(ctx);
    if (JS_IsException(arr)) return arr;
    dec_space(d);
    if (*d->p == ']') { d->p++; return arr; }
    for (int64_t i = 0;; i++) {
        JSValue x = dec_value(d);
        if (JS_IsException(x) || JS_DefinePropertyValueInt64(ctx, arr, i, x, JS_PROP_C_W_E) < 0) goto fail;
        dec_space(d);
        char c = *d->p++;
        if (c == ']') return arr;
        if (c != ',') { dec_fail(); goto fail; }
    }
fail:
    JS_FreeValue(ctx, arr);
    return JS_EXCEPTION;
}

static JSValue dec_object(Dec *d) {
    JSValue obj = JS_NewObject(ctx);
    if (JS_IsException(obj)) return obj;
    dec_space(d);
    if (*d->p == '}') { d->p++; return obj; }
    for (;;) {
        const char *s;
        size_t n;
        char *owned;
        dec_space(d);
        if (*d->p++ != '"' || dec_string(d, &s, &n, &owned)) { dec_fail(); goto fail; }
        JSAtom key = JS_NewAtomLen(ctx, s, n);
        free(owned);
        if (key == JS_ATOM_NULL) goto fail;
        dec_space(d);
        if (*d->p++ != ':') { JS_FreeAtom(ctx, key); dec_fail(); goto fail; }
        JSValue x = dec_value(d);
        int r = JS_IsException(x) ? -1 : JS_DefinePropertyValue(ctx, obj, key, x, JS_PROP_C_W_E);
        JS_FreeAtom(ctx, key);
        if (r < 0) goto fail;
        dec_space(d);
        char c = *d->p++;
        if (c == '}') return obj;
        if (c != ',') { dec_fail(); goto fail; }
    }
fail:
    JS_FreeValue(ctx, obj);
    return JS_EXCEPTION;
}

static JSValue dec_value(Dec *d) {
    JSValue v;
    dec_space(d);
    if (d->p >= d->end) return dec_fail();
    switch (*d->p) {
    case '{':
    case '[':
        if (d->depth >= DEPTH_MAX) return JS_ThrowRangeError(ctx, "the value is nested deeper than %d", DEPTH_MAX);
        d->depth++;
        v = *d->p++ == '{' ? dec_object(d) : dec_array(d);
        d->depth--;
        return v;
    case '"': {
        const char *s;
        size_t n;
        char *owned;
        d->p++;
        if (dec_string(d, &s, &n, &owned)) return dec_fail();
        v = JS_NewStringLen(ctx, s, n);
        free(owned);
        return v;
    }
    case 't': if (d->end - d->p >= 4 && !memcmp(d->p, "true", 4)) { d->p += 4; return JS_TRUE; } return dec_fail();
    case 'f': if (d->end - d->p >= 5 && !memcmp(d->p, "false", 5)) { d->p += 5; return JS_FALSE; } return dec_fail();
    case 'n': if (d->end - d->p >= 4 && !memcmp(d->p, "null", 4)) { d->p += 4; return JS_NULL; } return dec_fail();
    default: return dec_number(d);
    }
}

static JSValue dec_json(const char *s, size_t n) {
    Dec d = { s, s + n, 0 };
    JSValue v = dec_value(&d);
    if (JS_IsException(v)) return v;
    dec_space(&d);
    if (d.p == d.end) return v;
    JS_FreeValue(ctx, v);
    return dec_fail();
}

/* ---- calls ---- */

/* What waits for an answer: call id is in slot id & (cap-1). Ids grow by one, so
   that two live ones collide only when the table is too small, and it grows. */
typedef struct { int32_t id; uint32_t pc; JSValue promise, func; } Slot;

static struct { Slot *slots; uint32_t cap; } calls;

static Slot *slot_find(int32_t id) {
    if (!calls.cap) return NULL;
    Slot *s = &calls.slots[(uint32_t)id & (calls.cap - 1)];
    return s->id == id ? s : NULL;
}

static Slot *slot_take(int32_t id) {
    for (;;) {
        if (calls.cap) {
            Slot *s = &calls.slots[(uint32_t)id & (calls.cap - 1)];
            if (!s->id) return s;
        }
        uint32_t cap = calls.cap ? calls.cap * 2 : 32;
        Slot *slots = mem_calloc(NULL, cap, sizeof *slots);
        if (!slots) return NULL;
        for (uint32_t i = 0; i < calls.cap; i++)
            if (calls.slots[i].id) slots[(uint32_t)calls.slots[i].id & (cap - 1)] = calls.slots[i];
        free(calls.slots);
        calls.slots = slots;
        calls.cap = cap;
    }
}

static bool ended; /* the run has its result */

static void track_rejection(JSContext *c, JSValueConst promise, JSValueConst reason, bool handled, void *opaque);

static JSValue new_promise(void) {
    JSValue obj = JS_NewObjectClass(ctx, JS_CLASS_PROMISE);
    if (JS_IsException(obj)) return obj;
    JSPromiseData *s = js_mallocz(ctx, sizeof *s);
    if (!s) {
        JS_FreeValue(ctx, obj);
        return JS_EXCEPTION;
    }
    s->promise_state = JS_PROMISE_PENDING;
    for (int i = 0; i < 2; i++) init_list_head(&s->promise_reactions[i]);
    s->promise_result = JS_UNDEFINED;
    JS_SetOpaqueInternal(obj, s);
    return obj;
}

static JSValue throw_class(const char *name, const char *message, const char *reason, const char *tool, size_t tool_len);

/* The reason of the promise that refused a value, and where in the value it is. */
static JSValue rejected_reason;
static char rejected_path[PATH_SIZE];

/* In the result of the run, when all that the program started has ended, a promise stands for
   its value. In an argument it is a mistake, which would be sent as {}. */
static int enc_promise(Enc *e, JSValueConst v) {
    char path[PATH_SIZE], text[PATH_SIZE + 300];
    if (js_check_stack_overflow(rt, 4096)) { JS_ThrowStackOverflow(ctx); return -1; }
    if (e->tool) {
        enc_path(e, path);
        snprintf(text, sizeof text, "%.180s of %.100s is a promise: await it before the call, which was not made", path, e->tool);
        throw_class("InvalidArgumentsError", text, "promise", e->tool, strlen(e->tool));
        enc_pointer(e, path);
        JS_DefinePropertyValueStr(ctx, rt->current_exception, "path", JS_NewString(ctx, path), JS_PROP_C_W_E);
        return -1;
    }
    JSPromiseStateEnum state = JS_PromiseState(ctx, v);
    if (state == JS_PROMISE_PENDING) return enc_refuse(e, "is a promise that nothing settles any more");
    JSValue x = JS_PromiseResult(ctx, v);
    if (state == JS_PROMISE_FULFILLED) {
        int r = enc_value(e, x);
        JS_FreeValue(ctx, x);
        return r;
    }
    JS_FreeValue(ctx, rejected_reason);
    rejected_reason = x;
    enc_path(e, rejected_path);
    track_rejection(ctx, v, x, true, NULL);
    return enc_refuse(e, "was rejected"); /* the reason is told instead */
}

/* codemode.background(promise): its failure is none of the run. */
static JSValue background(int argc, JSValueConst *argv) {
    if (argc < 1 || !JS_IsObject(argv[0]) || JS_GetClassID(argv[0]) != JS_CLASS_PROMISE)
        return JS_ThrowTypeError(ctx, "codemode.background takes a promise, such as that of a call");
    JSPromiseData *s = JS_GetOpaque(argv[0], JS_CLASS_PROMISE);
    s->is_handled = true;
    track_rejection(ctx, argv[0], JS_UNDEFINED, true, NULL);
    return JS_UNDEFINED;
}

/* The arguments of a call: the first one, or an array of both for the functions
   that take two, codemode.read_resource(server, uri) and codemode.load(handle, part). */
static int enc_arguments(Enc *e, const char *name, int argc, JSValueConst *argv) {
    e->skipped = true;
    if (argc < 2 || (strcmp(name, "read_resource") && strcmp(name, "load"))) return argc > 0 ? enc_value(e, argv[0]) : 0;
    int r = 0;
    for (int i = 0; !r && i < 2; i++) {
        r = buf_put(&e->b, i ? "," : "[", 1);
        if (!r) r = enc_value(e, argv[i]);
        if (!r && e->skipped) r = buf_put(&e->b, "null", 4);
    }
    e->skipped = false;
    return r ? r : buf_put(&e->b, "]", 1);
}

static JSValue do_call(const char *name, size_t name_len, int argc, JSValueConst *argv) {
    if (ended) return JS_ThrowTypeError(ctx, "codemode: the run has ended");
    static Enc e; /* large; nested uses (a call in toJSON) save and restore it */
    Enc *saved = NULL;
    if (e.what) {
        saved = mem_malloc(NULL, sizeof e);
        if (!saved) return JS_ThrowOutOfMemory(ctx);
        *saved = e;
    }
    static Buf kept; /* from call to call */
    e.b = kept;
    kept = (Buf){ 0 };
    e.b.len = 0;
    e.b.too_large = false;
    e.b.max = shared.args_max;
    e.what = "argument";
    e.tool = name;
    e.depth = 0;
    int r = enc_arguments(&e, name, argc, argv);
    if (!r && e.skipped) r = buf_put(&e.b, "null", 4);
    Buf b = e.b;
    if (saved) {
        e = *saved;
        free(saved);
    } else {
        e.what = NULL;
    }
    if (r) {
        free(b.p);
        if (b.too_large) {
            JS_FreeValue(ctx, JS_GetException(ctx));
            return JS_ThrowRangeError(ctx, "codemode: the argument is larger than %u bytes of JSON", shared.args_max);
        }
        if (!JS_HasException(ctx)) JS_ThrowOutOfMemory(ctx);
        return JS_EXCEPTION;
    }
    JSValue promise = new_promise();
    if (JS_IsException(promise)) {
        free(b.p);
        return promise;
    }
    int32_t id = ended ? CALL_ENDED : codemode_call(name, name_len, b.p, b.len);
    if (b.cap <= 4096 && !kept.p) kept = b;
    else free(b.p);
    Slot *s = id > 0 ? slot_take(id) : NULL;
    if (!s) {
        JS_FreeValue(ctx, promise);
        if (id == CALL_TOO_MANY) {
            shared.too_many = 1;
            return throw_class("ToolCallDeniedError", "the run has made as many calls as it may", "limit", name, name_len);
        }
        if (id == CALL_NO_ROOM)
            return JS_ThrowRangeError(ctx, "codemode: no memory is left to hold the argument of %.100s (%u bytes) beside those of the calls that have no answer yet: await some of them first", name, (unsigned)b.len);
        if (id > 0) return JS_ThrowOutOfMemory(ctx);
        return JS_ThrowTypeError(ctx, "codemode: the run has ended");
    }
    s->id = id;
    s->promise = js_dup(promise);
    s->func = JS_UNDEFINED;
    for (JSStackFrame *sf = rt->current_stack_frame; sf; sf = sf->prev_frame) {
        if (!JS_IsObject(sf->cur_func)) continue;
        JSObject *p = JS_VALUE_GET_OBJ(sf->cur_func);
        if (!js_class_has_bytecode(p->class_id) || !sf->cur_pc) continue;
        s->func = js_dup(sf->cur_func);
        s->pc = sf->cur_pc - p->u.func.function_bytecode->byte_code_buf - 1;
        break;
    }
    shared.pending++;
    return promise;
}

/* ---- names ---- */

/* What a program asks about names is no call: the name of the function is a NUL, one of these and
   the name in question, and the arguments are room for the answer. The host returns the answer's
   length, and writes it if there is room, or returns -1 if it knows no names. names.go has the same. */
enum { ASK_NAME = 'n', ASK_GLOBAL = 'g', ASK_LIST = 'l' };
/* How an answer begins. What follows is the name that is meant, a hint, the list or why there is none. */
enum { NAME_TOOL = 't', NAME_CALLER = 'c', NAME_MISSING = 'm', NAME_LIST = 'l', NAME_LATER = 'w' };

enum { LONGEST_NAME = 256 }; /* no tool has a longer name. A larger room would need one more page of the stack */
typedef struct { char text[2 * LONGEST_NAME]; } Answer;

/* The answer to a question, which ends with a NUL, or NULL. The caller gives room, and frees what is not that. */
static char *ask(char what, const char *name, size_t n, Answer *room, uint32_t *len) {
    char question[LONGEST_NAME + 2];
    if (n > LONGEST_NAME) return NULL;
    question[0] = 0;
    question[1] = what;
    memcpy(question + 2, name, n);
    char *p = room->text;
    for (uint32_t cap = sizeof room->text; p;) {
        int32_t k = codemode_call(question, n + 2, p, cap - 1);
        if (k > 0 && (uint32_t)k < cap) {
            p[*len = k] = 0;
            return p;
        }
        if (p != room->text) free(p);
        if (k <= 0) break;
        p = mem_malloc(NULL, cap = k + 1);
    }
    return NULL;
}

/* codemode, and what codemode.x gives: an object whose properties are tools. */
typedef struct {
    bool caller; /* codemode.call and its like: the tool is in the arguments */
    char name[]; /* so far, "" for codemode itself */
} Tool;

static const char *tool_name(JSValueConst v) { return ((Tool *)JS_GetOpaque(v, tool_class))->name; }

static void tool_finalizer(JSRuntime *r, JSValueConst v) { js_free_rt(r, JS_GetOpaque(v, tool_class)); }

static JSValue tool_dispatch(int argc, JSValueConst *argv);

static JSValue tool_call(JSContext *c, JSValueConst f, JSValueConst this_val, int argc, JSValueConst *argv, int flags) {
    const char *name = tool_name(f);
    if (flags & JS_CALL_FLAG_CONSTRUCTOR) return JS_ThrowTypeError(c, "a tool is called without new");
    if (((Tool *)JS_GetOpaque(f, tool_class))->caller) return tool_dispatch(argc, argv);
    if (!*name) return JS_ThrowTypeError(c, "codemode is not a function: call codemode.<server>__<tool>(arguments); Object.keys(codemode) are the names of the tools");
    if (!strcmp(name, "background")) return background(argc, argv);
    return do_call(name, strlen(name), argc, argv);
}

static JSValue tool_new(const char *prefix, const char *name, size_t n) {
    JSValue proto = JS_GetFunctionProto(ctx);
    JSValue obj = JS_NewObjectProtoClass(ctx, proto, tool_class);
    JS_FreeValue(ctx, proto);
    if (JS_IsException(obj)) return obj;
    size_t k = strlen(prefix);
    Tool *t = js_malloc(ctx, sizeof *t + k + n + 3);
    if (!t) {
        JS_FreeValue(ctx, obj);
        return JS_EXCEPTION;
    }
    char *s = t->name;
    t->caller = false;
    memcpy(s, prefix, k);
    if (k) { memcpy(s + k, "__", 2); k += 2; }
    memcpy(s + k, name, n);
    s[k + n] = 0;
    fix_surrogates(s + k, n);
    JS_SetOpaque(obj, t);
    return obj;
}

static bool has_separator(const char *s) { return strstr(s, "__") != NULL; }

/* Names that JavaScript itself asks an object for: a tool of such a name is
   reached as codemode["server__then"]. */
static bool is_plain(const char *s) {
    static const char *const names[] = { "then", "toJSON", "toString", "valueOf", "toLocaleString", "constructor", "prototype", "__proto__",
        "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__" };
    for (size_t i = 0; i < countof(names); i++)
        if (!strcmp(s, names[i])) return true;
    return false;
}

/* The tools that were asked for, so that codemode.x is the same object each
   time. An entry owns what it holds, so that an address in it cannot come to mean
   something else. Of a program that makes up names without end, KNOWN_MAX are kept. */
typedef struct { JSValue obj, tool; JSAtom atom; } Known;
enum { KNOWN_FEW = 32, KNOWN_MAX = 4096 };
static Known known_few[KNOWN_FEW];
static struct { Known *p; uint32_t len, cap; } known = { known_few, 0, KNOWN_FEW };

/* The entry of a name, or where it goes: a free one while less than all are taken. */
static Known *known_find(JSValueConst obj, JSAtom atom) {
    uint32_t i = atom + ((uint32_t)(uintptr_t)JS_VALUE_GET_OBJ(obj) >> 4);
    for (;; i++) {
        Known *k = &known.p[i & (known.cap - 1)];
        if (!k->atom || (k->atom == atom && JS_VALUE_GET_OBJ(k->obj) == JS_VALUE_GET_OBJ(obj))) return k;
    }
}

/* Half of the entries stay free. What does not fit is forgotten. */
static bool known_grow(void) {
    if (known.len < known.cap / 2) return true;
    if (known.len >= KNOWN_MAX) return false;
    Known *p = calloc(known.cap * 2, sizeof *p), *old = known.p; /* nobody has to know if there is no room */
    if (!p) return false;
    uint32_t n = known.cap;
    known.p = p;
    known.cap *= 2;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].atom) *known_find(old[i].obj, old[i].atom) = old[i];
    if (old != known_few) free(old);
    return true;
}

static void known_add(JSValueConst obj, JSAtom atom, JSValueConst v) {
    if (JS_IsException(v) || !known_grow()) return;
    *known_find(obj, atom) = (Known){ js_dup(obj), js_dup(v), JS_DupAtom(ctx, atom) };
    known.len++;
}

static JSValue tool_make(JSContext *c, JSValueConst obj, JSAtom atom, JSValueConst receiver);

/* A name that no tool has is like undefined to every check (typeof, if, ==, ?., ??). Called, it says what may be meant. */
static bool is_missing(JSValueConst v) { return JS_IsObject(v) && JS_VALUE_GET_OBJ(v)->is_HTMLDDA; }

static JSValue tool_get(JSContext *c, JSValueConst obj, JSAtom atom, JSValueConst receiver) {
    Known *k = known_find(obj, atom);
    if (k->atom) return js_dup(k->tool);
    JSValue v = tool_make(c, obj, atom, receiver);
    if (JS_IsObject(v) && JS_GetClassID(v) == tool_class && !is_missing(v)) known_add(obj, atom, v);
    return v;
}

static JSValue codemode_object = JS_UNDEFINED;

/* The tool of a name that the host gave, which may be another one than the program wrote. */
static JSValue tool_meant(const char *name, size_t n) {
    if (!n) return js_dup(codemode_object);
    JSAtom atom = JS_NewAtomLen(ctx, name, n);
    if (atom == JS_ATOM_NULL) return JS_EXCEPTION;
    Known *k = known_find(codemode_object, atom);
    JSValue v = k->atom ? js_dup(k->tool) : tool_new("", name, n);
    if (!k->atom) known_add(codemode_object, atom, v);
    JS_FreeAtom(ctx, atom);
    return v;
}

static JSValue tool_of(const char *answer, uint32_t len) {
    if (*answer != NAME_CALLER) return tool_meant(answer + 1, len - 1);
    JSValue v = tool_new("", "", 0);
    if (!JS_IsException(v)) ((Tool *)JS_GetOpaque(v, tool_class))->caller = true;
    return v;
}

/* The tool of a name, as it is written or as the host says that it is meant. */
static JSValue tool_named(const char *prefix, const char *s, size_t n) {
    JSValue v = tool_new(prefix, s, n);
    if (JS_IsException(v)) return v;
    Answer room;
    uint32_t len;
    const char *name = tool_name(v);
    char *answer = ask(ASK_NAME, name, strlen(name), &room, &len);
    if (answer && *answer == NAME_MISSING) JS_VALUE_GET_OBJ(v)->is_HTMLDDA = true;
    else if (answer && (*answer == NAME_CALLER || strcmp(answer + 1, name))) {
        JS_FreeValue(ctx, v);
        v = tool_of(answer, len);
    }
    if (answer != room.text) free(answer);
    return v;
}

/* A name that nothing declares. With fail, one that means nothing is a ReferenceError, else undefined. */
static JSValue cm_global(JSContext *c, JSAtom atom, bool fail) {
    Known *k = known_find(c->global_obj, atom);
    if (k->atom) return js_dup(k->tool);
    size_t n;
    const char *s = wiping || !JS_IsObject(codemode_object) ? NULL : JS_AtomToCStringLen(c, &n, atom);
    if (!s) return fail ? JS_ThrowReferenceErrorNotDefined(c, atom) : JS_UNDEFINED;
    Answer room;
    uint32_t len;
    JSValue v = JS_UNDEFINED;
    char *answer = ask(ASK_GLOBAL, s, n, &room, &len);
    if (answer && *answer != NAME_MISSING) {
        v = tool_of(answer, len);
        known_add(c->global_obj, atom, v);
    } else if (fail) {
        v = JS_ThrowReferenceErrorNotDefined(c, atom);
        if (len > 1 && answer) {
            JSValue e = JS_GetException(c), m = JS_NewStringLen(c, answer + 1, len - 1);
            JS_DefinePropertyValue(c, e, JS_ATOM_message, m, JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
            JS_Throw(c, e);
        }
    }
    JS_FreeCString(c, s);
    if (answer != room.text) free(answer);
    return v;
}

static JSValue tool_make(JSContext *c, JSValueConst obj, JSAtom atom, JSValueConst receiver) {
    const char *prefix = tool_name(obj);
    bool whole = has_separator(prefix) || ((Tool *)JS_GetOpaque(obj, tool_class))->caller;
    JSValue proto_value = JS_UNDEFINED;
    JSValue key = JS_AtomToValue(c, atom);
    if (JS_IsException(key)) return key;
    if (JS_IsSymbol(key)) {
        JS_FreeValue(c, key);
        if (!*prefix) return JS_UNDEFINED;
        goto proto;
    }
    size_t n;
    const char *s = JS_ToCStringLen(c, &n, key);
    JS_FreeValue(c, key);
    if (!s) return JS_EXCEPTION;
    if (n != strlen(s)) { /* a NUL inside: no tool has such a name */
        JS_FreeCString(c, s);
        return JS_UNDEFINED;
    }
    if (is_plain(s) || whole) {
        bool none = !*prefix && !whole && strcmp(s, "hasOwnProperty") && strcmp(s, "propertyIsEnumerable");
        JS_FreeCString(c, s);
        if (none) return JS_UNDEFINED;
        goto proto;
    }
    JSValue v = tool_named(prefix, s, n);
    JS_FreeCString(c, s);
    return v;
proto:
    proto_value = JS_GetFunctionProto(c);
    JSValue r = JS_GetPropertyInternal(c, proto_value, atom, receiver, false);
    JS_FreeValue(c, proto_value);
    return r;
}

/* The first of some members that an argument has. Their getters run, once each. */
static JSValue member_of(JSValueConst v, const char *const *names) {
    JSValue r = JS_UNDEFINED;
    for (; *names && JS_IsUndefined(r); names++) r = JS_GetPropertyStr(ctx, v, *names);
    return r;
}

/* codemode.call("crm__x", arguments), (server, tool, arguments) or ({name, arguments}): the call that is meant. */
static JSValue tool_dispatch(int argc, JSValueConst *argv) {
    static const char *const names[] = { "name", "tool", "toolName", "tool_name", NULL }, *const servers[] = { "server", "serverName", "server_name", NULL },
        *const arguments[] = { "arguments", "args", "input", "params", "parameters", NULL };
    JSValue server = JS_UNDEFINED, name = JS_UNDEFINED, args = JS_UNDEFINED, r = JS_EXCEPTION;
    if (argc > 0 && JS_IsString(argv[0])) {
        int at = argc > 1 && JS_IsString(argv[1]) && argc > 2;
        if (at) server = js_dup(argv[0]);
        name = js_dup(argv[at]);
        if (argc > at + 1) args = js_dup(argv[at + 1]);
    } else if (argc > 0 && JS_IsObject(argv[0])) {
        name = member_of(argv[0], names);
        if (!JS_IsException(name)) server = member_of(argv[0], servers);
        if (!JS_IsException(name) && !JS_IsException(server)) args = member_of(argv[0], arguments);
    }
    Answer room;
    uint32_t len = 0;
    char text[LONGEST_NAME + 1], *answer = NULL;
    size_t la = 0, lb = 0;
    const char *a = JS_IsString(server) ? JS_ToCStringLen(ctx, &la, server) : NULL, *b = JS_IsString(name) ? JS_ToCStringLen(ctx, &lb, name) : NULL;
    if (JS_IsException(name) || JS_IsException(server) || JS_IsException(args) || JS_HasException(ctx)) goto end;
    size_t n = b ? (size_t)snprintf(text, sizeof text, "%s%s%s", a ? a : "", a ? "__" : "", b) : sizeof text;
    if (n >= sizeof text || !n || n != la + lb + (a ? 2 : 0)) { /* no name, or none that a tool can have */
        JS_ThrowTypeError(ctx, "call a tool as codemode.<server>__<tool>(arguments), or as codemode.call(\"<server>__<tool>\", arguments)");
        goto end;
    }
    fix_surrogates(text, n);
    answer = ask(ASK_NAME, text, n, &room, &len);
    bool meant = answer && *answer == NAME_TOOL && len > 1;
    r = do_call(meant ? answer + 1 : text, meant ? len - 1 : n, !JS_IsUndefined(args), (JSValueConst *)&args);
end:
    if (answer != room.text) free(answer);
    JS_FreeCString(ctx, a);
    JS_FreeCString(ctx, b);
    JS_FreeValue(ctx, name);
    JS_FreeValue(ctx, server);
    JS_FreeValue(ctx, args);
    return r;
}

/* The tools behind codemode or a server, of this moment: own properties, and all but the servers and functions
   of codemode are enumerable. */
static int tool_names(JSContext *c, JSPropertyEnum **tab, uint32_t *n, JSValueConst obj) {
    const char *prefix = tool_name(obj);
    Answer room;
    uint32_t len = 0;
    *tab = NULL;
    *n = 0;
    if (has_separator(prefix) || is_missing(obj) || ((Tool *)JS_GetOpaque(obj, tool_class))->caller) return 0;
    char *answer = ask(ASK_LIST, prefix, strlen(prefix), &room, &len), *p = answer;
    int r = 0;
    if (answer && *answer == NAME_LATER) {
        JS_ThrowTypeError(c, "%.200s", answer + 1);
        r = -1;
    } else if (answer && len > 1) {
        uint32_t count = 1;
        for (p = answer + 1; *p; p++) count += *p == '\n';
        r = (*tab = js_malloc(c, count * sizeof **tab)) ? 0 : -1;
        for (p = answer; !r && p; ) {
            char *end = strchr(++p, '\n');
            JSAtom a = JS_NewAtomLen(c, p, end ? (size_t)(end - p) : strlen(p));
            if (a == JS_ATOM_NULL) r = -1;
            else (*tab)[(*n)++] = (JSPropertyEnum){ .atom = a };
            p = end;
        }
        if (r && *tab) {
            js_free_prop_enum(c, *tab, *n);
            *tab = NULL;
        }
    }
    if (answer != room.text) free(answer);
    return r;
}

static int tool_own(JSContext *c, JSPropertyDescriptor *desc, JSValueConst obj, JSAtom prop) {
    const char *prefix = tool_name(obj), *name;
    if (has_separator(prefix) || is_missing(obj)) return 0;
    JSValue v = tool_get(c, obj, prop, obj);
    if (JS_IsException(v)) return -1;
    /* those that the host knows by this very name */
    size_t k = strlen(prefix), n;
    Answer room;
    uint32_t len;
    char *answer = NULL;
    const char *s = JS_GetClassID(v) == tool_class && !is_missing(v) && *(name = tool_name(v)) ? JS_AtomToCStringLen(c, &n, prop) : NULL;
    bool own = s && !strncmp(name, prefix, k) && (!k || !strncmp(name + k, "__", 2)) && !strcmp(name + (k ? k + 2 : 0), s);
    own = own && (answer = ask(ASK_NAME, name, strlen(name), &room, &len)) && *answer == NAME_TOOL && !strcmp(answer + 1, name);
    if (s) JS_FreeCString(c, s);
    if (answer != room.text) free(answer);
    if (own && desc) {
        desc->flags = JS_PROP_CONFIGURABLE | (k || has_separator(name) ? JS_PROP_ENUMERABLE : 0);
        desc->value = js_dup(v);
        desc->getter = desc->setter = JS_UNDEFINED;
    }
    JS_FreeValue(c, v);
    return own;
}

static int tool_has(JSContext *c, JSValueConst obj, JSAtom prop) {
    JSValue v = tool_get(c, obj, prop, obj);
    int r = JS_IsException(v) ? -1 : !JS_IsUndefined(v) && !is_missing(v);
    if (r > 0 && JS_GetClassID(v) == tool_class && *tool_name(v)) { /* of this moment, and not when it was first read */
        Answer room;
        uint32_t len;
        const char *name = tool_name(v);
        char *answer = ask(ASK_NAME, name, strlen(name), &room, &len);
        if (answer && *answer == NAME_MISSING) r = 0;
        if (answer != room.text) free(answer);
    }
    JS_FreeValue(c, v);
    return r;
}

static int tool_readonly(JSContext *c, JSValueConst obj, JSAtom prop) { JS_ThrowTypeError(c, "codemode is read-only"); return -1; }

static int tool_define(JSContext *c, JSValueConst obj, JSAtom prop, JSValueConst val, JSValueConst g, JSValueConst s, int flags) {
    return tool_readonly(c, obj, prop);
}

static int tool_set(JSContext *c, JSValueConst obj, JSAtom prop, JSValueConst v, JSValueConst receiver, int flags) {
    return tool_readonly(c, obj, prop);
}

static const JSClassExoticMethods tool_exotic = {
    .get_own_property = tool_own, .get_own_property_names = tool_names, .delete_property = tool_readonly,
    .define_own_property = tool_define, .has_property = tool_has, .get_property = tool_get, .set_property = tool_set,
};

static const JSClassDef tool_def = { "Tool", .finalizer = tool_finalizer, .call = tool_call, .exotic = (JSClassExoticMethods *)&tool_exotic };

/* ---- errors from the host ---- */

static JSValue error_classes; /* name -> constructor, from the bootstrap */
static JSValue kept_forever;  /* what the bootstrap returned: errors, and functions whose shapes programs need */

/* The prototype of a class of errors that JavaScript itself has and hosts use, or undefined. */
static JSValueConst native_error(const char *name) {
    if (!strcmp(name, "RangeError")) return ctx->native_error_proto[JS_RANGE_ERROR];
    if (!strcmp(name, "TypeError")) return ctx->native_error_proto[JS_TYPE_ERROR];
    if (!strcmp(name, "SyntaxError")) return ctx->native_error_proto[JS_SYNTAX_ERROR];
    return JS_UNDEFINED;
}

/* A new error of class name, or an Error of that name if there is no such class. */
static JSValue new_error(const char *name, JSValueConst message) {
    JSAtom atom = JS_NewAtom(ctx, name);
    JSValue ctor = JS_GetProperty(ctx, error_classes, atom);
    JSValue obj;
    if (JS_IsFunction(ctx, ctor)) {
        JSValue proto = JS_GetProperty(ctx, ctor, JS_ATOM_prototype);
        obj = JS_NewObjectProtoClass(ctx, proto, JS_CLASS_ERROR);
        JS_FreeValue(ctx, proto);
    } else if (JS_IsObject(native_error(name))) {
        obj = JS_NewObjectProtoClass(ctx, native_error(name), JS_CLASS_ERROR);
    } else {
        obj = JS_NewError(ctx);
        if (!JS_IsException(obj)) JS_DefinePropertyValue(ctx, obj, JS_ATOM_name, JS_AtomToString(ctx, atom), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    }
    JS_FreeValue(ctx, ctor);
    JS_FreeAtom(ctx, atom);
    if (!JS_IsException(obj)) JS_DefinePropertyValue(ctx, obj, JS_ATOM_message, js_dup(message), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    return obj;
}

static JSValue throw_class(const char *name, const char *message, const char *reason, const char *tool, size_t tool_len) {
    JSValue m = JS_NewString(ctx, message);
    JSValue e = new_error(name, m);
    JS_FreeValue(ctx, m);
    if (JS_IsException(e)) return e;
    JS_DefinePropertyValueStr(ctx, e, "toolName", JS_NewStringLen(ctx, tool, tool_len), JS_PROP_C_W_E);
    JS_DefinePropertyValueStr(ctx, e, "reason", JS_NewString(ctx, reason), JS_PROP_C_W_E);
    JS_DefinePropertyValueStr(ctx, e, "retryable", JS_FALSE, JS_PROP_C_W_E);
    return JS_Throw(ctx, e);
}

/* One line of a stack. */
static void put_frame(char *at, size_t n, JSValueConst func, uint32_t pc) {
    JSFunctionBytecode *b = JS_VALUE_GET_OBJ(func)->u.func.function_bytecode;
    int col, line = find_line_num(ctx, b, pc, &col);
    char file[128], fn[64];
    snprintf(at, n, "    at %s (%s:%d:%d)\n", b->func_name ? JS_AtomGetStr(ctx, fn, sizeof fn, b->func_name) : "<anonymous>",
             JS_AtomGetStr(ctx, file, sizeof file, b->filename), line, col);
}

/* {"class","message","props"} as the host sends it, with the place of the call as its stack. */
static JSValue host_error(JSValueConst d, Slot *s) {
    JSValue cls = JS_GetPropertyStr(ctx, d, "class"), msg = JS_GetPropertyStr(ctx, d, "message"), props = JS_GetPropertyStr(ctx, d, "props");
    const char *name = JS_ToCString(ctx, cls);
    JSValue e = name ? new_error(name, msg) : JS_EXCEPTION;
    if (name) JS_FreeCString(ctx, name);
    if (!JS_IsException(e) && JS_IsObject(props)) {
        JSPropertyEnum *tab;
        uint32_t n;
        if (!JS_GetOwnPropertyNames(ctx, &tab, &n, props, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY)) {
            for (uint32_t i = 0; i < n; i++)
                JS_DefinePropertyValue(ctx, e, tab[i].atom, JS_GetProperty(ctx, props, tab[i].atom), JS_PROP_C_W_E);
            JS_FreePropertyEnum(ctx, tab, n);
        }
    }
    if (!JS_IsException(e) && JS_IsObject(s->func)) {
        char at[256];
        put_frame(at, sizeof at, s->func, s->pc);
        JS_DefinePropertyValueStr(ctx, e, "stack", JS_NewString(ctx, at), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    }
    JS_FreeValue(ctx, cls);
    JS_FreeValue(ctx, msg);
    JS_FreeValue(ctx, props);
    return e;
}

/* The errors that the host raised, so that it can be told which of them ended
   the run, whatever the program did to them. */
typedef struct { JSValue error; int32_t id; } Raised;
static struct { Raised *p; uint32_t len, cap; } raised;

static void raise_record(JSValueConst error, int32_t id) {
    if (raised.len == raised.cap) {
        uint32_t cap = raised.cap ? raised.cap * 2 : 8;
        Raised *p = mem_realloc(NULL, raised.p, cap * sizeof *p);
        if (!p) return;
        raised.p = p;
        raised.cap = cap;
    }
    raised.p[raised.len++] = (Raised){ js_dup(error), id };
}

static uint32_t raised_by(JSValueConst error) {
    if (JS_IsObject(error))
        for (uint32_t i = 0; i < raised.len; i++)
            if (JS_VALUE_GET_OBJ(raised.p[i].error) == JS_VALUE_GET_OBJ(error)) return raised.p[i].id;
    return 0;
}

/* ---- timers: a heap ordered by time, then by age ---- */

typedef struct { double when, every; int32_t id; JSValue func; int argc; JSValue *argv; } Timer;

static struct {
    Timer *heap;
    uint32_t len, cap;
    uint32_t once;   /* that do not repeat */
    int32_t last;
    int32_t running; /* the timer whose function runs, which is not in the heap; 0 once it was cleared */
} timers;

static bool timer_less(const Timer *a, const Timer *b) { return a->when != b->when ? a->when < b->when : a->id < b->id; }

static void timer_up(uint32_t i) {
    for (; i > 0 && timer_less(&timers.heap[i], &timers.heap[(i - 1) / 2]); i = (i - 1) / 2) {
        Timer t = timers.heap[i];
        timers.heap[i] = timers.heap[(i - 1) / 2];
        timers.heap[(i - 1) / 2] = t;
    }
}

static void timer_down(uint32_t i) {
    for (;;) {
        uint32_t m = i, l = 2 * i + 1;
        if (l < timers.len && timer_less(&timers.heap[l], &timers.heap[m])) m = l;
        if (l + 1 < timers.len && timer_less(&timers.heap[l + 1], &timers.heap[m])) m = l + 1;
        if (m == i) return;
        Timer t = timers.heap[i];
        timers.heap[i] = timers.heap[m];
        timers.heap[m] = t;
        i = m;
    }
}

static Timer timer_remove(uint32_t i) {
    Timer t = timers.heap[i];
    if (!t.every) timers.once--;
    timers.heap[i] = timers.heap[--timers.len];
    if (i < timers.len) {
        timer_down(i);
        timer_up(i);
    }
    return t;
}

static int timer_add(Timer t) {
    if (timers.len == timers.cap) {
        uint32_t cap = timers.cap ? timers.cap * 2 : 16;
        Timer *p = mem_realloc(NULL, timers.heap, cap * sizeof *p);
        if (!p) return -1;
        timers.heap = p;
        timers.cap = cap;
    }
    if (!t.every) timers.once++;
    timers.heap[timers.len] = t;
    timer_up(timers.len++);
    return 0;
}

static void timer_free(Timer t) {
    JS_FreeValue(ctx, t.func);
    for (int i = 0; i < t.argc; i++) JS_FreeValue(ctx, t.argv[i]);
    free(t.argv);
}

static JSValue js_set_timer(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv, int repeat) {
    double ms = 0;
    if (argc < 1 || !JS_IsFunction(c, argv[0])) return JS_ThrowTypeError(c, "the first argument of a timer must be a function");
    if (argc > 1 && JS_ToFloat64(c, &ms, argv[1])) return JS_EXCEPTION;
    if (!(ms >= 1)) ms = 1; /* as HTML clamps it in effect, and NaN */
    if (ms > 2147483647) ms = 1;
    Timer t = { shared.mono_ms + floor(ms), repeat ? floor(ms) : 0, ++timers.last, js_dup(argv[0]), argc > 2 ? argc - 2 : 0, NULL };
    if (t.argc) {
        t.argv = mem_malloc(NULL, t.argc * sizeof *t.argv);
        if (!t.argv) {
            JS_FreeValue(c, t.func);
            return JS_ThrowOutOfMemory(c);
        }
        for (int i = 0; i < t.argc; i++) t.argv[i] = js_dup(argv[i + 2]);
    }
    if (timer_add(t)) {
        timer_free(t);
        return JS_ThrowOutOfMemory(c);
    }
    return JS_NewInt32(c, t.id);
}

static JSValue js_clear_timer(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) {
    if (argc > 0 && JS_IsNumber(argv[0])) {
        int32_t id;
        if (JS_ToInt32(c, &id, argv[0])) return JS_EXCEPTION;
        if (id == timers.running) timers.running = 0;
        for (uint32_t i = 0; i < timers.len; i++)
            if (timers.heap[i].id == id) {
                timer_free(timer_remove(i));
                break;
            }
    }
    return JS_UNDEFINED;
}

/* ---- console ---- */

static Buf console;

static const char *const levels[] = { "log", "info", "warn", "error", "debug" };

static void console_put(int level, const char *s, size_t n) {
    console.max = shared.console_max;
    size_t room = console.max > console.len ? console.max - console.len : 0;
    size_t keep = n;
    if (n + 5 > room) {
        keep = room > 5 + 32 ? cut_text(s, n, room - 5) : 0;
        shared.console_dropped += n - keep;
        if (!keep) return;
    }
    char head[5] = { (char)level, (char)keep, (char)(keep >> 8), (char)(keep >> 16), (char)(keep >> 24) };
    if (buf_room(&console, keep + 5) == 0) {
        buf_put(&console, head, 5);
        buf_put(&console, s, keep);
        fix_surrogates(console.p + console.len - keep, keep);
    }
    shared.console = (uint32_t)(uintptr_t)console.p;
    shared.console_len = console.len;
}

static JSValue native_log(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) {
    const char *level = JS_ToCString(c, argv[0]);
    if (!level) return JS_EXCEPTION;
    int k = 0;
    for (int i = 0; i < (int)countof(levels); i++)
        if (!strcmp(level, levels[i])) k = i;
    JS_FreeCString(c, level);
    size_t n;
    const char *s = JS_ToCStringLen(c, &n, argv[1]);
    if (!s) return JS_EXCEPTION;
    console_put(k, s, n);
    JS_FreeCString(c, s);
    return JS_UNDEFINED;
}

/* ---- what the bootstrap needs of C ---- */

static JSValue native_encode(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) {
    size_t n;
    const char *s = JS_ToCStringLen(c, &n, argv[0]);
    if (!s) return JS_EXCEPTION;
    JSValue v = JS_NewUint8ArrayCopy(c, (const uint8_t *)s, n);
    JS_FreeCString(c, s);
    if (JS_IsException(v)) return v;
    uint8_t *p = JS_GetUint8Array(c, &n, v);
    for (size_t i = 0; p && i + 2 < n; i++)
        if (p[i] == 0xed && p[i + 1] >= 0xa0) {
            p[i] = 0xef;
            p[i + 1] = 0xbf;
            p[i + 2] = 0xbd;
            i += 2;
        }
    return v;
}

/* Length of the longest valid prefix of a UTF-8 sequence at p (Unicode 15, table
   3-7); *ok says whether it is a whole character. */
static size_t utf8_step(const uint8_t *p, size_t n, bool *ok) {
    uint8_t c = p[0];
    *ok = false;
    if (c < 0x80) { *ok = true; return 1; }
    int need = c >= 0xc2 && c <= 0xdf ? 1 : c >= 0xe0 && c <= 0xef ? 2 : c >= 0xf0 && c <= 0xf4 ? 3 : 0;
    uint8_t lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80, hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (!need) return 1;
    for (int i = 1; i <= need; i++) {
        if ((size_t)i >= n || p[i] < lo || p[i] > hi) return i;
        lo = 0x80;
        hi = 0xbf;
    }
    *ok = true;
    return need + 1;
}

static JSValue native_decode(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) {
    size_t n;
    const uint8_t *p = JS_GetUint8Array(c, &n, argv[0]);
    if (!p && n) return JS_EXCEPTION;
    bool fatal = JS_ToBool(c, argv[1]), ignore_bom = JS_ToBool(c, argv[2]);
    if (!ignore_bom && n >= 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf) { p += 3; n -= 3; }
    Buf b = { .max = SIZE_MAX / 2 };
    size_t i = 0, from = 0;
    while (i < n) {
        bool ok;
        size_t k = utf8_step(p + i, n - i, &ok);
        if (!ok) {
            if (fatal) {
                free(b.p);
                return JS_ThrowTypeError(c, "the encoded data is not valid UTF-8");
            }
            if (buf_put(&b, (const char *)p + from, i - from) || buf_put(&b, "\xef\xbf\xbd", 3)) goto oom;
            from = i + k;
        }
        i += k;
    }
    JSValue v;
    if (from == 0) {
        v = JS_NewStringLen(c, (const char *)p, n);
    } else {
        if (buf_put(&b, (const char *)p + from, n - from)) goto oom;
        v = JS_NewStringLen(c, b.p, b.len);
    }
    free(b.p);
    return v;
oom:
    free(b.p);
    return JS_ThrowOutOfMemory(c);
}

static JSValue native_random(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) {
    size_t n;
    uint8_t *p = JS_GetUint8Array(c, &n, argv[0]);
    if (!p && n) return JS_EXCEPTION;
    rng_fill(p, n);
    return js_dup(argv[0]);
}

static JSValue native_now(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) { return JS_NewFloat64(c, shared.now_ms); }

static JSValue native_kind(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) {
    const char *k = "object";
    if (JS_IsObject(argv[0])) {
        int id = JS_GetClassID(argv[0]);
        switch (id) {
        case JS_CLASS_ARRAY: k = "array"; break;
        case JS_CLASS_MAP: k = "map"; break;
        case JS_CLASS_SET: k = "set"; break;
        case JS_CLASS_DATE: k = "date"; break;
        case JS_CLASS_REGEXP: k = "regexp"; break;
        case JS_CLASS_ERROR: k = "error"; break;
        case JS_CLASS_PROMISE: k = "promise"; break;
        case JS_CLASS_PROXY: k = "proxy"; break;
        case JS_CLASS_NUMBER: case JS_CLASS_STRING: case JS_CLASS_BOOLEAN: case JS_CLASS_SYMBOL: case JS_CLASS_BIG_INT: k = "boxed"; break;
        case JS_CLASS_ARRAY_BUFFER: case JS_CLASS_SHARED_ARRAY_BUFFER: k = "arraybuffer"; break;
        case JS_CLASS_WEAKMAP: k = "weakmap"; break;
        case JS_CLASS_WEAKSET: k = "weakset"; break;
        case JS_CLASS_WEAK_REF: k = "weakref"; break;
        case JS_CLASS_GENERATOR: k = "generator"; break;
        case JS_CLASS_ARGUMENTS: case JS_CLASS_MAPPED_ARGUMENTS: k = "arguments"; break;
        default:
            if (id == tool_class) k = *tool_name(argv[0]) ? "function" : "object";
            else if ((id >= JS_CLASS_UINT8C_ARRAY && id <= JS_CLASS_DATAVIEW)) k = "typedarray";
            else if (JS_IsFunction(c, argv[0])) k = "function";
        }
    }
    return JS_NewString(c, k);
}

static JSValue native_promise_state(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) {
    JSValue r = JS_NewArray(c);
    if (JS_IsException(r)) return r;
    JSPromiseStateEnum st = JS_PromiseState(c, argv[0]);
    JS_DefinePropertyValueInt64(c, r, 0, JS_NewInt32(c, st == JS_PROMISE_FULFILLED ? 1 : st == JS_PROMISE_REJECTED ? 2 : 0), JS_PROP_C_W_E);
    JS_DefinePropertyValueInt64(c, r, 1, st == JS_PROMISE_PENDING ? JS_UNDEFINED : JS_PromiseResult(c, argv[0]), JS_PROP_C_W_E);
    return r;
}

static JSValue native_own_keys(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) {
    JSPropertyEnum *tab;
    uint32_t n;
    JSValue r = JS_NewArray(c);
    if (JS_IsException(r) || !JS_IsObject(argv[0]) || JS_IsProxy(argv[0])) return r;
    if (JS_GetOwnPropertyNames(c, &tab, &n, argv[0], JS_GPN_STRING_MASK | JS_GPN_SYMBOL_MASK)) {
        JS_FreeValue(c, r);
        return JS_EXCEPTION;
    }
    for (uint32_t i = 0; i < n; i++) JS_DefinePropertyValueInt64(c, r, i, JS_AtomToValue(c, tab[i].atom), JS_PROP_C_W_E);
    JS_FreePropertyEnum(c, tab, n);
    return r;
}

static JSValue native_get_own(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) {
    if (!JS_IsObject(argv[0]) || JS_IsProxy(argv[0])) return JS_UNDEFINED;
    JSAtom a = JS_ValueToAtom(c, argv[1]);
    if (a == JS_ATOM_NULL) return JS_EXCEPTION;
    JSPropertyDescriptor d;
    int found = JS_GetOwnProperty(c, &d, argv[0], a);
    JS_FreeAtom(c, a);
    if (found <= 0) return found < 0 ? JS_EXCEPTION : JS_UNDEFINED;
    JSValue r = JS_NewObjectProto(c, JS_NULL);
    if (d.flags & JS_PROP_GETSET) {
        JS_DefinePropertyValueStr(c, r, "get", d.getter, JS_PROP_C_W_E);
        JS_DefinePropertyValueStr(c, r, "set", d.setter, JS_PROP_C_W_E);
        JS_FreeValue(c, d.value);
    } else {
        JS_DefinePropertyValueStr(c, r, "value", d.value, JS_PROP_C_W_E);
    }
    JS_DefinePropertyValueStr(c, r, "enumerable", JS_NewBool(c, d.flags & JS_PROP_ENUMERABLE), JS_PROP_C_W_E);
    return r;
}

/* ---- the run ---- */

static JSValue main_promise, main_script, main_function; /* the latter are never freed: the memory is thrown away whole */
static char *buffer; /* what the host writes into: shared.in */

/* The errors that nobody has handled so far: reasons of promises, and what functions of
   timers threw, where promise is undefined. */
typedef struct { JSValue promise, reason; } Failure;
static struct { Failure *p; uint32_t len, cap, more; } failures;
enum { FAILURES_MAX = 4096, FAILURES_TOLD = 8 };

static void failure_free(Failure f) {
    JS_FreeValue(ctx, f.promise);
    JS_FreeValue(ctx, f.reason);
}

static void failure_add(JSValueConst promise, JSValueConst reason) {
    if (failures.len == failures.cap) {
        uint32_t cap = failures.cap ? failures.cap * 2 : 8;
        Failure *p = cap > FAILURES_MAX ? NULL : mem_realloc(NULL, failures.p, cap * sizeof *p);
        if (!p) {
            failures.more++;
            return;
        }
        failures.p = p;
        failures.cap = cap;
    }
    failures.p[failures.len++] = (Failure){ js_dup(promise), js_dup(reason) };
}

static void track_rejection(JSContext *c, JSValueConst promise, JSValueConst reason, bool handled, void *opaque) {
    if (!handled) {
        failure_add(promise, reason);
        return;
    }
    for (uint32_t i = 0; i < failures.len; i++)
        if (JS_IsObject(failures.p[i].promise) && JS_VALUE_GET_PTR(failures.p[i].promise) == JS_VALUE_GET_PTR(promise)) {
            Failure f = failures.p[i];
            failures.p[i] = failures.p[--failures.len];
            failure_free(f);
            return;
        }
}

static int interrupt(JSRuntime *r, void *opaque) {
    codemode_poll();
    return 0;
}

/* The C library's output goes nowhere: there is no WASI behind it. */
#define NO_WASI(name, ...) int32_t __imported_wasi_snapshot_preview1_##name(__VA_ARGS__) { return 8; /* EBADF */ }
NO_WASI(fd_close, int32_t a)
NO_WASI(fd_fdstat_get, int32_t a, int32_t b)
NO_WASI(fd_seek, int32_t a, int64_t b, int32_t c, int32_t d)
NO_WASI(fd_write, int32_t a, int32_t b, int32_t c, int32_t d)

static void out_set(Buf *b, int status) {
    shared.out = (uint32_t)(uintptr_t)b->p;
    shared.out_len = b->len;
    shared.status = status;
    ended = true;
}

/* A property that is plain data, of v or of what it inherits from: reading it runs nothing of the program's. */
static JSValue data_property(JSValueConst v, JSAtom atom) {
    for (int hops = 0; hops < 16 && JS_IsObject(v); hops++) {
        JSObject *p = JS_VALUE_GET_OBJ(v);
        if (p->is_exotic && !p->fast_array) break; /* a proxy, for one */
        JSProperty *pr;
        JSShapeProperty *prs = find_own_property(&pr, p, atom);
        if (prs) return (prs->flags & JS_PROP_TMASK) == JS_PROP_NORMAL ? js_dup(pr->u.value) : JS_UNDEFINED;
        if (!p->shape->proto) break;
        v = JS_MKPTR(JS_TAG_OBJECT, p->shape->proto);
    }
    return JS_UNDEFINED;
}

static JSValue describe_thrown; /* of the bootstrap: {error, name, message, shown} of what was thrown */

/* The place where a value that has no stack was thrown, or came out of an await: the first of its way. */
static struct { JSValue value, func; uint32_t pc; } noted;

static bool has_stack(JSValueConst v) {
    if (!JS_IsObject(v) || JS_GetClassID(v) != JS_CLASS_ERROR) return false;
    JSValueConst stack = JS_VALUE_GET_OBJ(v)->u.object_data;
    return JS_IsString(stack) && JS_VALUE_GET_STRING(stack)->len > 0;
}

static void forget_throw(void) {
    JS_FreeValue(ctx, noted.value);
    JS_FreeValue(ctx, noted.func);
    noted.value = noted.func = JS_UNDEFINED;
}

static void js_note_throw(JSStackFrame *sf, JSValueConst v, const uint8_t *pc) {
    if (has_stack(v) || (JS_IsObject(v) && JS_IsObject(noted.value) && JS_VALUE_GET_OBJ(v) == JS_VALUE_GET_OBJ(noted.value))) return;
    forget_throw();
    noted.value = js_dup(v);
    noted.func = js_dup(sf->cur_func);
    noted.pc = pc - JS_VALUE_GET_OBJ(sf->cur_func)->u.func.function_bytecode->byte_code_buf - 1;
}

/* Puts `,"key":"text"` for a property of plain data that is a string or number; whatever goes wrong leaves it out. */
static void describe_member(Buf *b, JSValueConst v, const char *key) {
    JSAtom atom = JS_NewAtom(ctx, key);
    JSValue x = data_property(v, atom);
    JS_FreeAtom(ctx, atom);
    size_t n, mark = b->len;
    const char *s = JS_IsString(x) || JS_IsNumber(x) ? JS_ToCStringLen(ctx, &n, x) : NULL;
    if (s) {
        if (buf_char(b, ',') || enc_bytes(b, key, strlen(key)) || buf_char(b, ':') || enc_bytes(b, s, cut_text(s, n, 16384))) b->len = mark;
        JS_FreeCString(ctx, s);
    }
    JS_FreeValue(ctx, x);
    if (JS_HasException(ctx)) JS_FreeValue(ctx, JS_GetException(ctx));
}

/* The stack of what was thrown, or the place that was noted for it. */
static void describe_stack(Buf *b, JSValueConst v) {
    char at[256];
    size_t mark = b->len;
    if (has_stack(v)) {
        size_t n;
        const char *s = JS_ToCStringLen(ctx, &n, JS_VALUE_GET_OBJ(v)->u.object_data);
        if (s && (buf_put(b, ",\"stack\":", 9) || enc_bytes(b, s, cut_text(s, n, 16384)))) b->len = mark;
        if (s) JS_FreeCString(ctx, s);
    } else if (JS_IsObject(v)) {
        describe_member(b, v, "stack");
    }
    if (b->len > mark || !JS_IsObject(noted.func) || !js_same_value(ctx, v, noted.value)) return;
    put_frame(at, sizeof at, noted.func, noted.pc);
    if (buf_put(b, ",\"stack\":", 9) || enc_bytes(b, at, strlen(at))) b->len = mark;
}

/* What was thrown, without running any of the program's code: {"kind":"error"|"value", name, message, shown, stack, toolName,
   reason, detail}. */
static void describe(Buf *b, JSValueConst v) {
    static const char *const told[] = { "name", "message", "shown" }, *const props[] = { "toolName", "reason", "detail" };
    b->max = 128 << 10;
    JSValue d = JS_IsFunction(ctx, describe_thrown) ? JS_Call(ctx, describe_thrown, JS_UNDEFINED, 1, &v) : JS_UNDEFINED;
    if (JS_IsException(d)) JS_FreeValue(ctx, JS_GetException(ctx)); /* no memory is left, for one */
    JSValue error = JS_IsObject(d) ? JS_GetPropertyStr(ctx, d, "error") : js_bool(JS_IsObject(v));
    bool is = JS_ToBoolFree(ctx, error);
    buf_put(b, is ? "{\"kind\":\"error\"" : "{\"kind\":\"value\"", 15);
    for (size_t i = 0; i < countof(told); i++)
        if (JS_IsObject(d) || JS_IsObject(v)) describe_member(b, JS_IsObject(d) ? d : v, told[i]);
    describe_stack(b, v);
    for (size_t i = 0; is && i < countof(props); i++) describe_member(b, v, props[i]);
    buf_char(b, '}');
    JS_FreeValue(ctx, d);
}

static Buf thrown; /* the description of what ended the run */

/* Describes v in thrown, a JSON object. */
static void describe_failure(JSValueConst v) {
    ended = true; /* what is read of v may be the program's own getters */
    thrown.len = 0;
    shared.thrown_by = raised_by(v);
    describe(&thrown, v);
    shared.out = (uint32_t)(uintptr_t)thrown.p;
    shared.out_len = thrown.len;
}

static void finish_throw(JSValue v, int status) {
    describe_failure(v);
    JS_FreeValue(ctx, v);
    out_set(&thrown, status);
}

/* Puts `"key":"text"` if v is text or the like. Reading it runs nothing of the program's. Frees v. */
static void put_plain(Buf *b, const char *key, JSValue v, size_t max) {
    size_t n, mark = b->len;
    const char *s = JS_IsObject(v) || JS_IsSymbol(v) || JS_IsUndefined(v) ? NULL : JS_ToCStringLen(ctx, &n, v);
    if (s) {
        if (b->p[mark - 1] != '{') buf_char(b, ',');
        if (enc_bytes(b, key, strlen(key)) || buf_char(b, ':') || enc_bytes(b, s, cut_text(s, n, max))) b->len = mark;
        JS_FreeCString(ctx, s);
    }
    JS_FreeValue(ctx, v);
    if (JS_HasException(ctx)) JS_FreeValue(ctx, JS_GetException(ctx));
}

/* The stack of an error. Reading it runs nothing of the program's. */
static JSValue data_stack(JSValueConst v) {
    if (has_stack(v)) return js_dup(JS_VALUE_GET_OBJ(v)->u.object_data);
    return data_property(v, JS_ATOM_stack);
}

/* A failure as data: {name, message, shown, stack}. None of the program's code runs for that. */
static void put_failure(Buf *b, const Failure *f) {
    JSValueConst v = f->reason;
    JSValue d = JS_Call(ctx, describe_thrown, JS_UNDEFINED, 1, &v);
    buf_char(b, '{');
    if (JS_IsException(d)) {
        JS_FreeValue(ctx, JS_GetException(ctx));
    } else {
        put_plain(b, "name", JS_GetPropertyStr(ctx, d, "name"), 80);
        put_plain(b, "message", JS_GetPropertyStr(ctx, d, "message"), 1000);
        put_plain(b, "shown", JS_GetPropertyStr(ctx, d, "shown"), 1000);
        JS_FreeValue(ctx, d);
    }
    if (JS_IsObject(v)) put_plain(b, "stack", data_stack(v), 1000);
    buf_char(b, '}');
}

/* The place in the program that the first line of a stack names: line and column; the largest for none. */
static uint64_t failure_place(const Failure *f) {
    uint64_t place = UINT64_MAX;
    JSValue v = JS_IsObject(f->reason) ? data_stack(f->reason) : JS_UNDEFINED;
    const char *s = JS_IsString(v) ? JS_ToCString(ctx, v) : NULL;
    JS_FreeValue(ctx, v);
    if (!s) return place;
    const char *end = strchr(s, '\n'), *p = end ? end : s + strlen(s);
    while (p > s && (p[-1] < '0' || p[-1] > '9')) p--;
    while (p > s && p[-1] >= '0' && p[-1] <= '9') p--;
    if (p > s && p[-1] == ':') {
        uint32_t column = strtoul(p, NULL, 10);
        for (p--; p > s && p[-1] >= '0' && p[-1] <= '9'; p--) {}
        place = (uint64_t)strtoul(p, NULL, 10) << 32 | column;
    }
    JS_FreeCString(ctx, s);
    return place;
}

static int failure_text_order(const Failure *a, const Failure *b) {
    const char *s[2];
    for (int i = 0; i < 2; i++) {
        JSValueConst v = (i ? b : a)->reason;
        JSValue m = JS_IsObject(v) ? data_property(v, JS_ATOM_message) : js_dup(v);
        s[i] = JS_IsString(m) || JS_IsNumber(m) ? JS_ToCString(ctx, m) : NULL;
        JS_FreeValue(ctx, m);
    }
    int r = s[0] && s[1] ? strcmp(s[0], s[1]) : !s[0] - !s[1];
    for (int i = 0; i < 2; i++)
        if (s[i]) JS_FreeCString(ctx, s[i]);
    return r;
}

/* Moves the failures that are told to the front, in the order of the program's text and of their
   own: in which order servers answer is chance. */
static void order_failures(void) {
    uint64_t *places = mem_malloc(NULL, (failures.len + 1) * sizeof *places);
    for (uint32_t i = 0; places && i < failures.len; i++) places[i] = failure_place(&failures.p[i]);
    for (uint32_t k = 0; places && k < FAILURES_TOLD && k < failures.len; k++) {
        uint32_t first = k;
        for (uint32_t i = k + 1; i < failures.len; i++)
            if (places[i] < places[first] ||
                (places[i] == places[first] && failure_text_order(&failures.p[i], &failures.p[first]) < 0))
                first = i;
        Failure f = failures.p[k];
        uint64_t place = places[k];
        failures.p[k] = failures.p[first];
        places[k] = places[first];
        failures.p[first] = f;
        places[first] = place;
    }
    free(places);
    if (JS_HasException(ctx)) JS_FreeValue(ctx, JS_GetException(ctx));
}

/* Adds to the description of what ended the run the other failures. how says what it was itself:
   "promise", "timer", or the path of a promise in the result. */
static void finish_failed(uint32_t from, const char *how) {
    Buf *b = &thrown;
    uint32_t told = failures.len < FAILURES_TOLD ? failures.len : FAILURES_TOLD;
    size_t mark = b->len;
    if (mark) b->len--; /* the brace */
    b->max = 256 << 10;
    if (how && (buf_put(b, ",\"how\":", 7) || enc_bytes(b, how, strlen(how)))) goto whole;
    if (told > from) {
        buf_put(b, ",\"others\":[", 11);
        for (uint32_t i = from; i < told; i++) {
            if (i > from) buf_char(b, ',');
            put_failure(b, &failures.p[i]);
        }
        char more[32];
        snprintf(more, sizeof more, "],\"more\":%u", failures.len - told + failures.more);
        buf_put(b, more, strlen(more));
    }
    if (buf_char(b, '}') == 0 && mark) {
        out_set(b, RUN_THREW);
        return;
    }
whole: /* no room: what ended it is told alone */
    b->len = mark;
    if (mark) b->p[mark - 1] = '}';
    out_set(b, RUN_THREW);
}

/* The first failure ends the run. */
static void finish_failure(void) {
    describe_failure(failures.p[0].reason);
    finish_failed(1, JS_IsObject(failures.p[0].promise) ? "promise" : "timer");
}

static void finish_return(JSValue v) {
    static Enc e;
    ended = true; /* toJSON may be the program's own */
    free(e.b.p); /* of the last run of a session */
    memset(&e.b, 0, sizeof e.b);
    e.what = "result";
    e.depth = 0;
    e.b.max = shared.result_max;
    int r = enc_value(&e, v);
    JS_FreeValue(ctx, v);
    JSValue x = r ? JS_GetException(ctx) : JS_UNDEFINED;
    order_failures();
    if (!r && failures.len) {
        finish_failure();
    } else if (!r) {
        out_set(&e.b, e.skipped ? RUN_RETURNED_UNDEFINED : RUN_RETURNED);
    } else if (e.b.too_large && !failures.len) {
        e.b.len = 0;
        out_set(&e.b, RUN_TOO_LARGE);
    } else if (e.b.too_large) {
        finish_failure();
    } else if (*rejected_path) {
        describe_failure(rejected_reason);
        finish_failed(0, rejected_path);
    } else {
        describe_failure(x);
        finish_failed(0, NULL);
    }
    JS_FreeValue(ctx, x);
}

/* Notes how the program itself has ended. */
static void check_main(void) {
    if (shared.main || ended) return;
    JSPromiseStateEnum st = JS_PromiseState(ctx, main_promise);
    if (st == JS_PROMISE_PENDING) return;
    shared.main = st == JS_PROMISE_FULFILLED ? MAIN_RETURNED : MAIN_THREW;
    if (st == JS_PROMISE_FULFILLED) return;
    JSValue v = JS_PromiseResult(ctx, main_promise);
    track_rejection(ctx, main_promise, v, true, NULL);
    describe_failure(v);
    JS_FreeValue(ctx, v);
    if (shared.out_of_memory) out_set(&thrown, RUN_THREW); /* a limit: the rest is stopped */
    else ended = false;
}

/* The run ends when nothing that the program started can go on: no call is open and no timer is
   left, but for those that repeat once the program itself has ended. */
static bool check_end(void) {
    if (ended) return true;
    if (shared.pending || timers.once || (!shared.main && timers.len)) return false;
    shared.timers = timers.len;
    if (shared.main == MAIN_RETURNED) {
        finish_return(JS_PromiseResult(ctx, main_promise));
    } else if (shared.main == MAIN_THREW) {
        ended = true;
        order_failures();
        finish_failed(0, NULL);
    } else if (failures.len) { /* the program waits for what an error has prevented */
        order_failures();
        finish_failure();
    }
    return ended;
}

EXPORT(cm_shared) struct shared *cm_shared(void) { return &shared; }

/* Makes room for n bytes and a NUL. */
static char *cm_buffer(uint32_t n) {
    if (n >= shared.in_cap) {
        free(buffer);
        shared.in = shared.in_cap = 0;
        buffer = mem_malloc(NULL, (size_t)n + 1);
        if (!buffer) return NULL;
        shared.in = (uint32_t)(uintptr_t)buffer;
        shared.in_cap = n + 1;
    }
    return buffer;
}

static void cm_pump(void) {
    JS_UpdateStackTop(rt);
    for (;;) {
        JSContext *c;
        int r;
        check_main();
        while ((r = JS_ExecutePendingJob(rt, &c)) != 0) {
            if (r < 0) JS_FreeValue(ctx, JS_GetException(ctx));
            check_main();
        }
        if (check_end()) return;
        if (!timers.len || timers.heap[0].when > shared.mono_ms) break;
        Timer t = timer_remove(0);
        timers.running = t.id;
        JSValue v = JS_Call(ctx, t.func, JS_UNDEFINED, t.argc, (JSValueConst *)t.argv);
        bool threw = JS_IsException(v);
        if (threw) {
            v = JS_GetException(ctx);
            failure_add(JS_UNDEFINED, v);
        }
        JS_FreeValue(ctx, v);
        if (t.every > 0 && timers.running == t.id && !threw) {
            t.when = shared.mono_ms + t.every;
            if (timer_add(t)) timer_free(t);
        } else {
            timer_free(t);
        }
        timers.running = 0;
    }
    shared.next_timer_ms = timers.len ? timers.heap[0].when : -1;
    shared.status = RUN_WAITING;
}

static void cm_settle(int32_t id, int32_t how, uint32_t n) {
    Slot *s = slot_find(id);
    if (!s || ended) return;
    JS_UpdateStackTop(rt);
    Slot call = *s;
    s->id = 0;
    shared.pending--;
    buffer[n] = 0;
    JSValue v = how == SETTLE_UNDEFINED ? JS_UNDEFINED : dec_json(buffer, n);
    bool failed = how == SETTLE_ERROR;
    if (failed && !JS_IsException(v)) {
        JSValue e = host_error(v, &call);
        JS_FreeValue(ctx, v);
        v = e;
        if (!JS_IsException(v)) raise_record(v, id);
    }
    if (JS_IsException(v)) {
        failed = true;
        v = JS_GetException(ctx);
    }
    /* Not through promise resolution: a `then` in the answer is data. */
    fulfill_or_reject_promise(ctx, call.promise, v, failed);
    JS_FreeValue(ctx, v);
    JS_FreeValue(ctx, call.promise);
    JS_FreeValue(ctx, call.func);
}

/* Finds the innermost frame of the program. It is called in a guest that has
   trapped: it only reads, and does not follow more than a few links. */
EXPORT(cm_where) void cm_where(void) {
    shared.line = shared.column = 0;
    JSStackFrame *sf = rt->current_stack_frame;
    JSAtom file = JS_ATOM_NULL;
    if (JS_IsObject(main_function)) file = JS_VALUE_GET_OBJ(main_function)->u.func.function_bytecode->filename;
    for (int i = 0; sf && i < 64; i++, sf = sf->prev_frame) {
        if (!JS_IsObject(sf->cur_func)) continue;
        JSObject *p = JS_VALUE_GET_OBJ(sf->cur_func);
        if (!js_class_has_bytecode(p->class_id) || !sf->cur_pc) continue;
        JSFunctionBytecode *b = p->u.func.function_bytecode;
        if (file && b->filename != file) continue; /* of an earlier program of the session, for one */
        int col;
        shared.line = find_line_num(ctx, b, sf->cur_pc - b->byte_code_buf - 1, &col);
        shared.column = col;
        return;
    }
}

/* Not in parentheses: to tell an arrow function, the parser would read all that
   is between them an additional time. */
#define WRAP_BEFORE "0,"
#define WRAP_HEAD "async function () {\n"
#define WRAP_TAIL "\n}"

/* The program is the body of the one function in 0,async function () { body }.
   A text such as `}); evil(); (async () => {` would close it early: then the
   wrapper holds another number of functions, or one that ends elsewhere. */
static bool is_body(JSValueConst script, size_t len) {
    if (JS_VALUE_GET_TAG(script) != JS_TAG_FUNCTION_BYTECODE) return false;
    JSFunctionBytecode *b = JS_VALUE_GET_PTR(script);
    int found = 0;
    for (int i = 0; i < b->cpool_count; i++) {
        if (JS_VALUE_GET_TAG(b->cpool[i]) != JS_TAG_FUNCTION_BYTECODE) continue;
        JSFunctionBytecode *f = JS_VALUE_GET_PTR(b->cpool[i]);
        found += f->source_len == (int)len ? 1 : 2;
    }
    return found == 1;
}

/* ---- sessions ---- */

/* The function that holds the program, of its script: the variables of the session are around it. */
static JSValue session_function(JSValue script) {
    JSVarRef **refs = js_malloc(ctx, (js_session.count + 1) * sizeof *refs);
    if (!refs) {
        JS_FreeValue(ctx, script);
        return JS_EXCEPTION;
    }
    for (int i = 0; i < js_session.count; i++) refs[i] = js_session.vars[i].ref; /* last are the program's new ones: NULL */
    JSValue f = JS_EvalFunctionInternal(ctx, script, ctx->global_obj, refs, NULL);
    js_free(ctx, refs);
    return f;
}

/* Makes the program's variables those of the session. One that the session has
   moves into the frame, with its value, and out again when the frame ends. */
static int session_bind(JSStackFrame *sf) {
    JSFunctionBytecode *b = JS_VALUE_GET_OBJ(sf->cur_func)->u.func.function_bytecode;
    for (int i = 0; i < js_session.count; i++) {
        JSSessionVar *v = &js_session.vars[i];
        if (v->var_idx < 0) continue;
        if (!v->ref) {
            v->ref = get_var_ref(ctx, sf, v->var_idx, false);
            if (!v->ref) return -1;
            continue;
        }
        JSVarDef *vd = &b->vardefs[b->arg_count + v->var_idx];
        JSVarRef *r = v->ref;
        JSValue *slot = &sf->var_buf[v->var_idx];
        *slot = r->value; /* the frame is new: it holds undefined */
        if (JS_IsUninitialized(*slot) && !vd->is_lexical) *slot = JS_UNDEFINED;
        r->is_detached = false;
        r->is_coro = true;
        r->pvalue = slot;
        r->var_ref_idx = vd->var_ref_idx;
        r->stack_frame = sf;
        sf->var_refs[vd->var_ref_idx] = r;
        JS_REF_COUNT(sf->cur_gc_obj)++;
    }
    return 0;
}

/* js_async_function_call, with session_bind before the first instruction. */
static JSValue session_call(JSValueConst f) {
    JSAsyncFunctionData *s = js_mallocz(ctx, sizeof *s);
    if (!s) return JS_EXCEPTION;
    JS_REF_COUNT(s) = 1;
    add_gc_object(rt, &s->header, JS_GC_OBJ_TYPE_ASYNC_FUNCTION);
    s->promise = JS_UNDEFINED;
    JSValue promise = js_promise_new(ctx, JS_UNDEFINED, NULL);
    bool ok = !JS_IsException(promise);
    if (ok) {
        s->promise = js_dup(promise);
        ok = !async_func_init(ctx, &s->func_state, f, JS_UNDEFINED, 0, NULL);
    }
    if (ok) {
        s->is_active = true;
        s->func_state.frame.cur_gc_obj = &s->header;
        ok = !session_bind(&s->func_state.frame) && js_async_function_resume(ctx, s);
    }
    js_async_function_free(rt, s);
    if (ok) return promise;
    JS_FreeValue(ctx, promise);
    return JS_EXCEPTION;
}

/* A program that timers ended may be in the middle: its variables leave its frame. */
static void session_leave(void) {
    for (int i = 0; i < js_session.count; i++) {
        JSVarRef *r = js_session.vars[i].ref;
        if (!r || r->is_detached) continue;
        r->stack_frame->var_refs[r->var_ref_idx] = NULL;
        close_var_ref(rt, r);
    }
}

/* Ends what waits for promises: it would run when a later program settles them. */
static void drop_reactions(void) {
    struct list_head all, *el, *el1, *el2;
    shared.promises = 0;
    if (!js_reactions) return;
    init_list_head(&all);
    list_for_each(el, &rt->gc_obj_list) {
        JSGCObjectHeader *gp = list_entry(el, JSGCObjectHeader, link);
        if (JS_GC_TYPE(gp) != JS_GC_OBJ_TYPE_JS_OBJECT) continue;
        JSObject *p = (JSObject *)gp;
        JSPromiseData *s = p->class_id == JS_CLASS_PROMISE ? p->u.opaque : NULL;
        if (!s || list_empty(&s->promise_reactions[0])) continue;
        shared.promises++;
        for (int i = 0; i < 2; i++)
            list_for_each_safe(el1, el2, &s->promise_reactions[i]) {
                list_del(el1);
                list_add_tail(el1, &all);
            }
    }
    list_for_each_safe(el, el1, &all)
        promise_reaction_data_free(rt, list_entry(el, JSPromiseReactionData, link));
}

static void drop_jobs(void) {
    struct list_head *el, *el1;
    list_for_each_safe(el, el1, &rt->job_list) {
        JSJobEntry *e = list_entry(el, JSJobEntry, link);
        list_del(el);
        for (int i = 0; i < e->argc; i++) JS_FreeValue(ctx, e->argv[i]);
        js_free(ctx, e);
    }
}

/* A buffer is kept for the next program unless it is large. */
static void buf_rest(Buf *b) {
    b->len = 0;
    if (b->cap <= 4096) return;
    free(b->p);
    b->p = NULL;
    b->cap = 0;
}

static size_t base_size;     /* of the heap before any program */
static JSValue base_globals; /* an object with the names of the global object before any program */

/* The name of the class of an object, as far as reading it runs nothing of the program's. */
static int put_class(Buf *b, JSValueConst v) {
    JSValue ctor = data_property(v, JS_ATOM_constructor), name = JS_UNDEFINED;
    if (JS_IsFunction(ctx, ctor)) name = data_property(ctor, JS_ATOM_name);
    JS_FreeValue(ctx, ctor);
    size_t n;
    const char *s = JS_IsString(name) ? JS_ToCStringLen(ctx, &n, name) : NULL;
    JS_FreeValue(ctx, name);
    if (!s) return 0;
    int r = buf_put(b, ",\"class\":", 9) || enc_bytes(b, s, cut_text(s, n, 100));
    JS_FreeCString(ctx, s);
    return r;
}

/* Whether it is a class: only its source begins with that word. */
static bool is_class(JSValueConst v) {
    JSObject *p = JS_VALUE_GET_OBJ(v);
    if (p->class_id != JS_CLASS_BYTECODE_FUNCTION) return false;
    JSFunctionBytecode *b = p->u.func.function_bytecode;
    return b->source && b->source_len > 5 && !memcmp(b->source, "class", 5);
}

static const char *type_of(JSValueConst v) {
    switch (JS_VALUE_GET_NORM_TAG(v)) {
    case JS_TAG_UNDEFINED: return "undefined";
    case JS_TAG_NULL: return "null";
    case JS_TAG_BOOL: return "boolean";
    case JS_TAG_INT: case JS_TAG_FLOAT64: return "number";
    case JS_TAG_STRING: case JS_TAG_STRING_ROPE: return "string";
    case JS_TAG_BIG_INT: case JS_TAG_SHORT_BIG_INT: return "bigint";
    case JS_TAG_SYMBOL: return "symbol";
    }
    if (JS_GetClassID(v) == tool_class || JS_IsFunction(ctx, v)) return is_class(v) ? "class" : "function";
    return "object";
}

/* One name: {"name","kind","type","class"}. */
static int put_name(Buf *b, JSAtom atom, const char *kind, JSValueConst v) {
    size_t n;
    const char *s = JS_AtomToCStringLen(ctx, &n, atom), *type = type_of(v);
    if (!s) return -1;
    int r = buf_put(b, b->len > 1 ? "," : "", b->len > 1) || buf_put(b, "{\"name\":", 8) || enc_bytes(b, s, n)
        || buf_put(b, ",\"kind\":\"", 9) || buf_put(b, kind, strlen(kind))
        || buf_put(b, "\",\"type\":\"", 10) || buf_put(b, type, strlen(type)) || buf_char(b, '"');
    JS_FreeCString(ctx, s);
    if (!r && !strcmp(type, "object")) r = put_class(b, v);
    return r || buf_char(b, '}') ? -1 : 0;
}

/* What a program of the session can use besides what every program can. */
static void cm_names(void) {
    static Buf names;
    Buf *b = &names;
    JS_UpdateStackTop(rt);
    b->len = 0;
    b->max = 4 << 20;
    int r = buf_char(b, '[');
    for (int i = 0; !r && i < js_session.count; i++) {
        JSSessionVar *v = &js_session.vars[i];
        if (!v->ref || JS_IsUninitialized(*v->ref->pvalue)) continue;
        r = put_name(b, v->name, v->is_const ? "const" : v->is_lexical ? "let" : "var", *v->ref->pvalue);
    }
    JSObject *g = JS_VALUE_GET_OBJ(ctx->global_obj), *base = JS_VALUE_GET_OBJ(base_globals);
    JSShapeProperty *prs = get_shape_prop(g->shape);
    for (uint32_t i = 0; !r && i < g->shape->prop_count; i++, prs++) {
        JSProperty *pr;
        uint32_t index;
        if (prs->atom == JS_ATOM_NULL || JS_AtomIsArrayIndex(ctx, &index, prs->atom)) continue;
        if (find_own_property(&pr, base, prs->atom)) continue;
        JSValue name = JS_AtomToValue(ctx, prs->atom);
        bool data = (prs->flags & JS_PROP_TMASK) == JS_PROP_NORMAL;
        if (JS_IsString(name)) r = put_name(b, prs->atom, "global", data ? g->prop[i].u.value : JS_UNDEFINED);
        JS_FreeValue(ctx, name);
    }
    shared.out = (uint32_t)(uintptr_t)b->p;
    shared.out_len = r || buf_char(b, ']') ? 0 : b->len;
}

/* What a session may grow by before its cycles are collected. All of it is kept, and charged. */
#define GARBAGE_MAX (128 << 10)

static void collect_garbage(void) {
    static size_t last; /* the size after the last time, at first that of the snapshot */
    if (!last) last = base_size;
    if (rt->malloc_state.malloc_size < last + GARBAGE_MAX) return;
    JS_RunGC(rt);
    last = rt->malloc_state.malloc_size;
}

/* The host has read what the run gave. Nothing of it runs any more. */
static void cm_rest(void) {
    JS_UpdateStackTop(rt);
    if (JS_HasException(ctx)) JS_FreeValue(ctx, JS_GetException(ctx));
    session_leave();
    JS_FreeValue(ctx, main_promise);
    JS_FreeValue(ctx, main_function);
    JS_FreeValue(ctx, main_script);
    main_promise = main_function = main_script = JS_UNDEFINED;
    shared.timers = timers.len;
    timers.running = 0;
    while (timers.len) timer_free(timer_remove(timers.len - 1));
    drop_jobs();
    drop_reactions();
    for (uint32_t i = 0; i < failures.len; i++) failure_free(failures.p[i]);
    for (uint32_t i = 0; i < raised.len; i++) JS_FreeValue(ctx, raised.p[i].error);
    failures.len = failures.more = raised.len = 0;
    JS_FreeValue(ctx, rejected_reason);
    rejected_reason = JS_UNDEFINED;
    *rejected_path = 0;
    forget_throw();
    collect_garbage();
    drop_jobs(); /* what was freed may have been registered for that */
    memset(&rng, 0, sizeof rng);
    buf_rest(&console);
    if (shared.in_cap > 4096) {
        free(buffer);
        shared.in = shared.in_cap = 0;
        buffer = NULL;
    }
    shared.console_len = shared.console_dropped = 0;
    shared.out_of_memory = shared.pending = shared.too_many = shared.thrown_by = shared.line = shared.column = shared.main = 0;
    shared.next_timer_ms = -1;
    ended = false;
    shared.out = shared.out_len = 0;
}

static void cm_start(uint32_t n, uint32_t name_n, uint32_t input_n) {
    JS_UpdateStackTop(rt);
    bool session = shared.flags & FLAG_SESSION;
    shared.status = RUN_WAITING; /* the last program of a session has left its own */
    rng_seed();
    ctx->random_state = shared.random_state | 1; /* zero would stay zero */
    shared.random_state = 0;
    ctx->time_origin = shared.mono_ms;

    size_t len = strlen(WRAP_HEAD) + n + strlen(WRAP_TAIL);
    char *text = js_malloc(ctx, len + 3), *p = text;
    JSValue script = JS_EXCEPTION, f = JS_EXCEPTION;
    if (!text) goto thrown;
    p = memcpy(p, WRAP_BEFORE, strlen(WRAP_BEFORE)) + strlen(WRAP_BEFORE);
    p = memcpy(p, WRAP_HEAD, strlen(WRAP_HEAD)) + strlen(WRAP_HEAD);
    p = memcpy(p, buffer, n) + n;
    memcpy(p, WRAP_TAIL, strlen(WRAP_TAIL) + 1);

    char name[128];
    size_t k = name_n < sizeof name - 1 ? name_n : sizeof name - 1;
    memcpy(name, buffer + n, k);
    name[k] = 0;
    JSEvalOptions o = { JS_EVAL_OPTIONS_VERSION, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY, name, 0 };
    if (session) o.eval_flags |= JS_EVAL_FLAG_SESSION;
    script = JS_EvalThis2(ctx, ctx->global_obj, text, strlen(WRAP_BEFORE) + len, &o);
    js_free(ctx, text);
    if (JS_IsException(script)) {
        finish_throw(JS_GetException(ctx), RUN_REFUSED);
        return;
    }
    if (!is_body(script, len)) {
        JS_FreeValue(ctx, script);
        JS_ThrowSyntaxError(ctx, "the program closes the function it is the body of: a } without its {");
        finish_throw(JS_GetException(ctx), RUN_REFUSED);
        return;
    }
    if (input_n || session) {
        buffer[n + name_n + input_n] = 0;
        JSValue v = input_n ? dec_json(buffer + n + name_n, input_n) : JS_UNDEFINED;
        if (JS_IsException(v)) goto thrown;
        if (JS_DefinePropertyValueStr(ctx, ctx->global_obj, "input", v, JS_PROP_C_W_E) <= 0 && session) {
            JS_FreeValue(ctx, script);
            JS_ThrowTypeError(ctx, "an earlier program of the session has made globalThis.input read-only: "
                                   "this program cannot get its own");
            goto thrown;
        }
    }
    main_script = js_dup(script);
    f = session ? session_function(script) : JS_EvalFunction(ctx, script);
    if (JS_IsException(f)) goto thrown;
    main_function = f;
    main_promise = session ? session_call(f) : JS_Call(ctx, f, JS_UNDEFINED, 0, NULL);
    if (JS_IsException(main_promise)) goto thrown;
    cm_pump();
    return;
thrown:
    finish_throw(JS_GetException(ctx), RUN_THREW);
}

static const JSCFunctionListEntry native_functions[] = {
    JS_CFUNC_DEF("log", 2, native_log),
    JS_CFUNC_DEF("utf8Encode", 1, native_encode),
    JS_CFUNC_DEF("utf8Decode", 3, native_decode),
    JS_CFUNC_DEF("randomFill", 1, native_random),
    JS_CFUNC_DEF("now", 0, native_now),
    JS_CFUNC_DEF("inspectKind", 1, native_kind),
    JS_CFUNC_DEF("promiseState", 1, native_promise_state),
    JS_CFUNC_DEF("ownKeys", 1, native_own_keys),
    JS_CFUNC_DEF("getOwn", 2, native_get_own),
};

static const JSCFunctionListEntry global_functions[] = {
    JS_CFUNC_MAGIC_DEF("setTimeout", 2, js_set_timer, 0),
    JS_CFUNC_MAGIC_DEF("setInterval", 2, js_set_timer, 1),
    JS_CFUNC_DEF("clearTimeout", 1, js_clear_timer),
    JS_CFUNC_DEF("clearInterval", 1, js_clear_timer),
};

EXPORT(cm_do) uint32_t cm_do(uint32_t what, uint32_t a, uint32_t b, uint32_t c) {
    switch (what) {
    case DO_BUFFER: return (uint32_t)(uintptr_t)cm_buffer(a);
    case DO_START: cm_start(a, b, c); break;
    case DO_SETTLE:
        cm_settle(a, b & ~SETTLE_PUMP, c);
        if (b & SETTLE_PUMP) cm_pump();
        break;
    case DO_PUMP: cm_pump(); break;
    case DO_REST: cm_rest(); break;
    case DO_NAMES: cm_names(); break;
    }
    return 0;
}

/* The bootstrap's functions need not show their source, and their memory is
   worth more to programs. */
static void forget_sources(void) {
    struct list_head *el;
    list_for_each(el, &rt->gc_obj_list) {
        JSGCObjectHeader *gp = list_entry(el, JSGCObjectHeader, link);
        if (JS_GC_TYPE(gp) != JS_GC_OBJ_TYPE_FUNCTION_BYTECODE) continue;
        JSFunctionBytecode *b = (JSFunctionBytecode *)gp;
        js_free_rt(rt, b->source);
        b->source = NULL;
        b->source_len = 0;
    }
}

static JSValue json_parse; /* as QuickJS has it */

/* JSON.parse, which says so of what is no text any more: tools give values. */
static JSValue js_parse(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) {
    JSValue r = JS_Call(c, json_parse, this_val, argc, argv);
    JSPropertyEnum *tab;
    uint32_t n;
    if (!JS_IsException(r) || argc < 1 || !JS_IsObject(argv[0])) return r;
    int id = JS_GetClassID(argv[0]);
    if (id != JS_CLASS_OBJECT && id != JS_CLASS_ARRAY) return r;
    char text[400], key[64];
    size_t len = 0;
    if (id == JS_CLASS_OBJECT && !JS_GetOwnPropertyNames(c, &tab, &n, argv[0], JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY)) {
        for (uint32_t i = 0; i < n && len < sizeof text - sizeof key - 8; i++)
            len += snprintf(text + len, sizeof text - len, "%s%s", i ? ", " : "", JS_AtomGetStr(c, key, sizeof key, tab[i].atom));
        JS_FreePropertyEnum(c, tab, n);
    }
    text[len] = 0;
    char message[600];
    snprintf(message, sizeof message, "JSON.parse takes a text, and this is already an %s%s%s%s: use it as it is",
             id == JS_CLASS_ARRAY ? "array" : "object", len ? " {" : "", text, len ? "}" : "");
    JSValue e = JS_GetException(c);
    JS_DefinePropertyValue(c, e, JS_ATOM_message, JS_NewString(c, message), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    return JS_Throw(c, e);
}

static int keep_globals(void) {
    JSPropertyEnum *tab;
    uint32_t n;
    base_globals = JS_NewObjectProto(ctx, JS_NULL);
    if (JS_IsException(base_globals)) return -1;
    if (JS_GetOwnPropertyNames(ctx, &tab, &n, ctx->global_obj, JS_GPN_STRING_MASK)) return -1;
    for (uint32_t i = 0; i < n; i++) JS_DefinePropertyValue(ctx, base_globals, tab[i].atom, JS_TRUE, 0);
    JS_FreePropertyEnum(ctx, tab, n);
    return 0;
}

/* Whether cm_init has run: preinit wrote its result into the module. */
EXPORT(cm_ready) int32_t cm_ready(void) { return ctx != NULL; }

/* Where the stack ends when nothing runs: all below is free. */
EXPORT(cm_stack) void *cm_stack(void) { return __builtin_frame_address(0); }

/* Takes what is free between what is used, and keeps it, so that what a run
   allocates lies together, behind all that is there. A page of which a run changes one
   byte is a page to copy back after it, and to hold while it waits. What lies behind is
   zeroed: an image has the difference to it, and a difference to zeros packs best. */
static void fill_holes(void) {
    char *behind = calloc(256 << 10, 1), *p; /* larger than any hole, and than what was used behind them */
    free(behind);
    for (size_t n = 128 << 10; n >= 8; n = n > 64 ? n - n / 8 : n - 4) {
        while ((p = malloc(n)) && p < behind)
            memset(p, 0, n);
        free(p);
    }
}

EXPORT(cm_init) int32_t cm_init(uint32_t stack_size, uint32_t gc_threshold) {
    wiping = true;
    rt = JS_NewRuntime2(&mem_functions, NULL);
    if (!rt) return 1;
    JS_SetMaxStackSize(rt, stack_size);
    JS_SetGCThreshold(rt, gc_threshold);
    JS_SetInterruptHandler(rt, interrupt, NULL);
    JS_SetHostPromiseRejectionTracker(rt, track_rejection, NULL);
    ctx = JS_NewContext(rt);
    if (!ctx) return 2;
    shared.counter = (uint32_t)(uintptr_t)&ctx->interrupt_counter;
    atom_toJSON = JS_NewAtom(ctx, "toJSON");
    JS_NewClassID(rt, &tool_class);
    if (JS_NewClass(rt, tool_class, &tool_def)) return 3;
    JS_SetPropertyFunctionList(ctx, ctx->global_obj, global_functions, countof(global_functions));

    JSValue native = JS_NewObjectProto(ctx, JS_NULL);
    JS_SetPropertyFunctionList(ctx, native, native_functions, countof(native_functions));
    JSValue boot = JS_Eval(ctx, bootstrap_js, sizeof bootstrap_js - 1, "codemode:bootstrap", JS_EVAL_TYPE_GLOBAL);
    if (JS_IsException(boot)) goto fail;
    JSValueConst args[2] = { native, ctx->global_obj };
    JSValue r = JS_Call(ctx, boot, JS_UNDEFINED, 2, args);
    JS_FreeValue(ctx, boot);
    JS_FreeValue(ctx, native);
    if (JS_IsException(r)) goto fail;
    error_classes = JS_GetPropertyStr(ctx, r, "errors");
    describe_thrown = JS_GetPropertyStr(ctx, r, "describe");
    collation = JS_GetPropertyStr(ctx, r, "collation");
    JS_DefinePropertyValueStr(ctx, ctx->class_proto[JS_CLASS_STRING], "localeCompare", JS_NewCFunction(ctx, js_locale_compare, "localeCompare", 1), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    noted.value = noted.func = JS_UNDEFINED;
    kept_forever = r;

    JSValue json = JS_GetPropertyStr(ctx, ctx->global_obj, "JSON");
    JS_DefinePropertyValueStr(ctx, json, "stringify", JS_NewCFunction(ctx, js_stringify, "stringify", 3), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    json_parse = JS_GetPropertyStr(ctx, json, "parse");
    JS_DefinePropertyValueStr(ctx, json, "parse", JS_NewCFunction(ctx, js_parse, "parse", 2), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    JS_FreeValue(ctx, json);

    JSValue codemode = tool_new("", "", 0);
    if (JS_IsException(codemode)) return 5;
    codemode_object = js_dup(codemode);
    JS_DefinePropertyValueStr(ctx, ctx->global_obj, "codemode", codemode, 0);
    memset(bootstrap_js, 0, sizeof bootstrap_js);
    forget_sources();
    if (js_autoinit_all(ctx)) return 6;
    if (keep_globals()) return 9;
    JS_RunGC(rt);
    fill_holes();
    if (!cm_buffer(4095)) return 8;
    main_promise = main_function = main_script = rejected_reason = JS_UNDEFINED;
    if (js_arena_pack(rt)) return 7;
    base_size = rt->malloc_state.malloc_size;
    wiping = false;
    return 0;
fail:
    finish_throw(JS_GetException(ctx), RUN_THREW);
    return 4;
}
