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
    uint32_t timers;          /* 140 out: how many timers were set */
    uint32_t counter;         /* 144 out: address of the interpreter's counter (int32) and of how often it was filled up */
} shared;

enum { FLAG_BIG_INTEGERS = 1, FLAG_SESSION = 2 };

_Static_assert(offsetof(struct shared, seed) == 88 && offsetof(struct shared, counter) == 144, "abi.go says so");
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

/* Throws a TypeError that says where in the value it is; of a long path the
   beginning and the end. */
static int enc_refuse(Enc *e, const char *why) {
    enum { HALF = 80 };
    char path[2 * HALF + 100], *p = path;
    p += snprintf(p, HALF, "%s", e->what);
    for (int i = 0; i < e->depth; i++) {
        char key[64], step[72];
        if (e->path[i].key == JS_ATOM_NULL) snprintf(step, sizeof step, "[%u]", e->path[i].index);
        else snprintf(step, sizeof step, ".%.60s", JS_AtomGetStr(ctx, key, sizeof key, e->path[i].key));
        size_t n = strlen(step);
        if (p - path + n > HALF && i < e->depth - 3) {
            p += snprintf(p, 8, "...");
            i = e->depth - 4;
            continue;
        }
        if (p - path + n < sizeof path - 1) p += snprintf(p, n + 1, "%s", step);
    }
    JS_ThrowTypeError(ctx, "%.180s %.70s", path, why);
    return -1;
}

static int enc_value(Enc *e, JSValueConst v);

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

static int enc_object(Enc *e, JSValueConst v) {
    JSPropertyEnum *tab;
    uint32_t n;
    bool any = false;
    int r = -1;
    if (JS_GetOwnPropertyNames(ctx, &tab, &n, v, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY)) return -1;
    e->depth++;
    if (buf_char(&e->b, '{')) goto done;
    if (JS_IsError(v)) {
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
    }
    for (uint32_t i = 0; i < n; i++) {
        if (JS_IsError(v) && (tab[i].atom == JS_ATOM_name || tab[i].atom == JS_ATOM_message)) continue;
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

static int enc_container(Enc *e, JSValueConst v) {
    if (JS_GetClassID(v) == tool_class || JS_IsFunction(ctx, v)) return enc_refuse(e, "is a function, which JSON cannot carry");
    if (e->depth >= DEPTH_MAX) return enc_refuse(e, "is nested too deeply");
    if (js_check_stack_overflow(rt, 4096)) { JS_ThrowStackOverflow(ctx); return -1; }
    for (int i = 0; i < e->depth; i++)
        if (JS_VALUE_GET_OBJ(e->seen[i]) == JS_VALUE_GET_OBJ(v)) return enc_refuse(e, "is a cycle: it contains itself");
    e->seen[e->depth] = v;
    int array = JS_IsArray(v);
    if (JS_IsProxy(v)) {
        array = js_is_array(ctx, v);
        if (array < 0) return -1;
    }
    return array ? enc_array(e, v) : enc_object(e, v);
}

/* Integers that a Number cannot hold come from the host as BigInt and go back
   with all their digits. A smaller BigInt is a program's own, and more likely a
   mistake than a wish. */
static int enc_bigint(Enc *e, JSValueConst v) {
    static const char max_safe[] = "9007199254740991";
    size_t n;
    const char *s = JS_ToCStringLen(ctx, &n, v);
    if (!s) return -1;
    const char *digits = s + (*s == '-');
    size_t len = n - (digits - s);
    int r;
    if (len > sizeof max_safe - 1 || (len == sizeof max_safe - 1 && strcmp(digits, max_safe) > 0)) r = buf_put(&e->b, s, n);
    else r = enc_refuse(e, "is a BigInt, which JSON cannot carry: use Number(x) or String(x)");
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

static JSValue dec_fail(void) { return JS_ThrowSyntaxError(ctx, "invalid JSON from the host"); }

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

/* codemode, and what codemode.x gives: an object whose properties are tools.
   Its opaque is the name so far, "" for codemode itself. */
static void tool_finalizer(JSRuntime *r, JSValueConst v) { js_free_rt(r, JS_GetOpaque(v, tool_class)); }

static JSValue tool_call(JSContext *c, JSValueConst f, JSValueConst this_val, int argc, JSValueConst *argv, int flags) {
    const char *name = JS_GetOpaque(f, tool_class);
    if (flags & JS_CALL_FLAG_CONSTRUCTOR) return JS_ThrowTypeError(c, "a tool is called without new");
    if (!*name) return JS_ThrowTypeError(c, "codemode is not a function: call codemode.<server>__<tool>(arguments)");
    return do_call(name, strlen(name), argc, argv);
}

static JSValue tool_new(const char *prefix, const char *name, size_t n) {
    JSValue proto = JS_GetFunctionProto(ctx);
    JSValue obj = JS_NewObjectProtoClass(ctx, proto, tool_class);
    JS_FreeValue(ctx, proto);
    if (JS_IsException(obj)) return obj;
    size_t k = strlen(prefix);
    char *s = js_malloc(ctx, k + n + 3);
    if (!s) {
        JS_FreeValue(ctx, obj);
        return JS_EXCEPTION;
    }
    memcpy(s, prefix, k);
    if (k) { memcpy(s + k, "__", 2); k += 2; }
    memcpy(s + k, name, n);
    s[k + n] = 0;
    fix_surrogates(s + k, n);
    JS_SetOpaque(obj, s);
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

static JSValue tool_make(JSContext *c, JSValueConst obj, JSAtom atom, JSValueConst receiver);

static JSValue tool_get(JSContext *c, JSValueConst obj, JSAtom atom, JSValueConst receiver) {
    Known *k = known_find(obj, atom);
    if (k->atom) return js_dup(k->tool);
    JSValue v = tool_make(c, obj, atom, receiver);
    if (!JS_IsObject(v) || JS_GetClassID(v) != tool_class || !known_grow()) return v;
    *known_find(obj, atom) = (Known){ js_dup(obj), js_dup(v), JS_DupAtom(c, atom) };
    known.len++;
    return v;
}

static JSValue tool_make(JSContext *c, JSValueConst obj, JSAtom atom, JSValueConst receiver) {
    const char *prefix = JS_GetOpaque(obj, tool_class);
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
    if (is_plain(s) || (*prefix && has_separator(prefix))) {
        JS_FreeCString(c, s);
        if (!*prefix) return JS_UNDEFINED;
        goto proto;
    }
    JSValue v = tool_new(prefix, s, n);
    JS_FreeCString(c, s);
    return v;
proto:
    proto_value = JS_GetFunctionProto(c);
    JSValue r = JS_GetPropertyInternal(c, proto_value, atom, receiver, false);
    JS_FreeValue(c, proto_value);
    return r;
}

static int tool_none(JSContext *c, JSPropertyEnum **tab, uint32_t *n, JSValueConst obj) {
    *tab = NULL;
    *n = 0;
    return 0;
}

static int tool_own(JSContext *c, JSPropertyDescriptor *desc, JSValueConst obj, JSAtom prop) { return 0; }

static int tool_has(JSContext *c, JSValueConst obj, JSAtom prop) {
    JSValue v = tool_get(c, obj, prop, obj);
    int r = !JS_IsUndefined(v);
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
    .get_own_property = tool_own, .get_own_property_names = tool_none, .delete_property = tool_readonly,
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
        JSFunctionBytecode *b = JS_VALUE_GET_OBJ(s->func)->u.func.function_bytecode;
        int col, line = find_line_num(ctx, b, s->pc, &col);
        char at[256], file[128], fn[64];
        snprintf(at, sizeof at, "    at %s (%s:%d:%d)\n", b->func_name ? JS_AtomGetStr(ctx, fn, sizeof fn, b->func_name) : "<anonymous>",
                 JS_AtomGetStr(ctx, file, sizeof file, b->filename), line, col);
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
            if (id == tool_class) k = *(char *)JS_GetOpaque(argv[0], tool_class) ? "function" : "object";
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

typedef struct { JSValue promise, reason; } Rejection;
static struct { Rejection *p; uint32_t len, cap; } rejections; /* unhandled so far */

static void track_rejection(JSContext *c, JSValueConst promise, JSValueConst reason, bool handled, void *opaque) {
    if (handled) {
        for (uint32_t i = 0; i < rejections.len; i++)
            if (JS_VALUE_GET_PTR(rejections.p[i].promise) == JS_VALUE_GET_PTR(promise)) {
                JS_FreeValue(c, rejections.p[i].promise);
                JS_FreeValue(c, rejections.p[i].reason);
                rejections.p[i] = rejections.p[--rejections.len];
                return;
            }
        return;
    }
    if (rejections.len >= 64) return; /* more than anybody reads */
    if (rejections.len == rejections.cap) {
        uint32_t cap = rejections.cap ? rejections.cap * 2 : 8;
        Rejection *p = mem_realloc(NULL, rejections.p, cap * sizeof *p);
        if (!p) return;
        rejections.p = p;
        rejections.cap = cap;
    }
    rejections.p[rejections.len++] = (Rejection){ js_dup(promise), js_dup(reason) };
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

/* Puts `,"key":"text"` for a property that is a string or number; whatever goes wrong leaves it out. */
static void describe_member(Buf *b, JSValueConst v, const char *key) {
    JSValue x = JS_GetPropertyStr(ctx, v, key);
    size_t n, mark = b->len;
    const char *s = JS_IsString(x) || JS_IsNumber(x) ? JS_ToCStringLen(ctx, &n, x) : NULL;
    if (s) {
        if (buf_char(b, ',') || enc_bytes(b, key, strlen(key)) || buf_char(b, ':') || enc_bytes(b, s, cut_text(s, n, 16384))) b->len = mark;
        JS_FreeCString(ctx, s);
    }
    JS_FreeValue(ctx, x);
    if (JS_HasException(ctx)) JS_FreeValue(ctx, JS_GetException(ctx));
}

/* {"kind":"error"|"value", name, message, stack, toolName, reason, detail} of what was thrown. */
static void describe(Buf *b, JSValueConst v) {
    b->max = 128 << 10;
    if (JS_IsObject(v) && !JS_IsFunction(ctx, v)) {
        buf_put(b, "{\"kind\":\"error\"", 15);
        static const char *const keys[] = { "name", "message", "stack", "toolName", "reason", "detail" };
        for (size_t i = 0; i < countof(keys); i++) describe_member(b, v, keys[i]);
    } else {
        buf_put(b, "{\"kind\":\"value\",\"message\":", 26);
        size_t n = 0, mark = b->len;
        const char *s = JS_IsSymbol(v) ? NULL : JS_ToCStringLen(ctx, &n, v);
        if (!s || enc_bytes(b, s, cut_text(s, n, 16384))) {
            b->len = mark;
            buf_put(b, "\"\"", 2);
        }
        if (s) JS_FreeCString(ctx, s);
        if (JS_HasException(ctx)) JS_FreeValue(ctx, JS_GetException(ctx));
    }
    buf_char(b, '}');
}

static void finish_throw(JSValue v, int status) {
    static Buf b;
    b.len = 0;
    ended = true; /* what is read of v may be the program's own getters */
    shared.thrown_by = raised_by(v);
    describe(&b, v);
    JS_FreeValue(ctx, v);
    out_set(&b, status);
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
    if (r) {
        JSValue x = JS_GetException(ctx);
        if (e.b.too_large) {
            JS_FreeValue(ctx, x);
            e.b.len = 0;
            out_set(&e.b, RUN_TOO_LARGE);
        } else {
            finish_throw(x, RUN_THREW);
        }
        return;
    }
    out_set(&e.b, e.skipped ? RUN_RETURNED_UNDEFINED : RUN_RETURNED);
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

/* Puts a value that is no object and no symbol into a line of n bytes so far. */
static size_t put_plain(char *line, size_t n, size_t max, JSValue v, const char *after) {
    const char *s = JS_IsObject(v) || JS_IsSymbol(v) || JS_IsUndefined(v) ? NULL : JS_ToCString(ctx, v);
    if (s) {
        snprintf(line + n, max, "%.*s%s", (int)(max - 8), s, after);
        n += strlen(line + n);
        JS_FreeCString(ctx, s);
    } else if (JS_HasException(ctx)) {
        JS_FreeValue(ctx, JS_GetException(ctx));
    }
    JS_FreeValue(ctx, v);
    return n;
}

/* The run has its result: what is left of the program's rejections goes to the
   console, and none of its code runs for that. */
static void report_rejections(void) {
    for (uint32_t i = 0; i < rejections.len && i < 8; i++) {
        JSValueConst v = rejections.p[i].reason;
        char line[1100];
        size_t n = snprintf(line, sizeof line, "Unhandled rejection: ");
        if (JS_IsObject(v)) {
            n = put_plain(line, n, 80, data_property(v, JS_ATOM_name), ": ");
            n = put_plain(line, n, 900, data_property(v, JS_ATOM_message), "");
        } else if (JS_IsUndefined(v)) {
            n += snprintf(line + n, sizeof line - n, "undefined");
        } else {
            n = put_plain(line, n, 900, js_dup(v), "");
        }
        console_put(3, line, cut_text(line, n + 1, n));
    }
}

static bool check_main(void) {
    if (ended) return true;
    JSPromiseStateEnum st = JS_PromiseState(ctx, main_promise);
    if (st == JS_PROMISE_PENDING) return false;
    JSValue v = JS_PromiseResult(ctx, main_promise);
    /* Reading main's state is what handles its rejection. */
    track_rejection(ctx, main_promise, v, true, NULL);
    if (st == JS_PROMISE_FULFILLED) finish_return(v);
    else finish_throw(v, RUN_THREW);
    report_rejections();
    return true;
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
        if (check_main()) return;
        while ((r = JS_ExecutePendingJob(rt, &c)) != 0) {
            if (r < 0) JS_FreeValue(ctx, JS_GetException(ctx));
            if (check_main()) return;
        }
        if (!timers.len || timers.heap[0].when > shared.mono_ms) break;
        Timer t = timer_remove(0);
        timers.running = t.id;
        JSValue v = JS_Call(ctx, t.func, JS_UNDEFINED, t.argc, (JSValueConst *)t.argv);
        if (JS_IsException(v)) {
            JSValue x = JS_GetException(ctx);
            timer_free(t);
            if (JS_IsUncatchableError(x)) {
                JS_FreeValue(ctx, x);
                return;
            }
            finish_throw(x, RUN_THREW);
            return;
        }
        JS_FreeValue(ctx, v);
        if (t.every > 0 && timers.running == t.id && !ended) {
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

/* Nobody will answer these calls. A later program that awaits one learns that. */
static void drop_calls(void) {
    for (uint32_t i = 0; i < calls.cap; i++) {
        Slot *s = &calls.slots[i];
        if (!s->id) continue;
        JSPromiseData *p = JS_GetOpaque(s->promise, JS_CLASS_PROMISE);
        JSValue m = JS_NewString(ctx, "the program that made this call ended before the answer came");
        JSValue e = new_error("Error", m);
        JS_FreeValue(ctx, m);
        if (JS_IsException(e)) JS_FreeValue(ctx, JS_GetException(ctx));
        else {
            p->promise_result = e;
            p->promise_state = JS_PROMISE_REJECTED;
            p->is_handled = true;
        }
        JS_FreeValue(ctx, s->promise);
        JS_FreeValue(ctx, s->func);
        s->id = 0;
    }
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

static JSValue data_property(JSValueConst v, JSAtom atom);

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
    drop_calls();
    for (uint32_t i = 0; i < rejections.len; i++) {
        JS_FreeValue(ctx, rejections.p[i].promise);
        JS_FreeValue(ctx, rejections.p[i].reason);
    }
    for (uint32_t i = 0; i < raised.len; i++) JS_FreeValue(ctx, raised.p[i].error);
    rejections.len = raised.len = 0;
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
    shared.out_of_memory = shared.pending = shared.too_many = shared.thrown_by = shared.line = shared.column = 0;
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
    kept_forever = r;

    JSValue json = JS_GetPropertyStr(ctx, ctx->global_obj, "JSON");
    JS_DefinePropertyValueStr(ctx, json, "stringify", JS_NewCFunction(ctx, js_stringify, "stringify", 3), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    JS_FreeValue(ctx, json);

    JSValue codemode = tool_new("", "", 0);
    if (JS_IsException(codemode)) return 5;
    JS_DefinePropertyValueStr(ctx, ctx->global_obj, "codemode", codemode, 0);
    memset(bootstrap_js, 0, sizeof bootstrap_js);
    forget_sources();
    if (js_autoinit_all(ctx)) return 6;
    if (keep_globals()) return 9;
    JS_RunGC(rt);
    fill_holes();
    if (!cm_buffer(4095)) return 8;
    main_promise = main_function = main_script = JS_UNDEFINED;
    if (js_arena_pack(rt)) return 7;
    base_size = rt->malloc_state.malloc_size;
    wiping = false;
    return 0;
fail:
    finish_throw(JS_GetException(ctx), RUN_THREW);
    return 4;
}
