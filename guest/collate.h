/* String.prototype.localeCompare: the root order of CLDR, which en and some more languages have.
 *
 * A text becomes weights: which letter (rank), which accent, which form (case, and what NFKD takes away). All letters are
 * compared first, then all accents, then all forms. What has no rank here is a RangeError, not a guess: kana, and scripts
 * other than Latin, Greek, Cyrillic, Hangul and Han.
 */
#include "collation.h"

/* The levels to compare, and how. The bootstrap's `collation` gives them for locales and options. */
enum { COLL_ACCENTS = 1, COLL_FORMS = 2, COLL_CASE = 4, COLL_NUMERIC = 8, COLL_USUAL = COLL_ACCENTS | COLL_FORMS };

/* rank << 12 | accent << 4 | form. An accent has no rank; a letter has the accent 1. The form is 1 of compatibility
   characters, and 2 more of capitals. */
typedef struct { uint32_t *p; uint32_t len, cap; } Weights;

static int weights_put(Weights *w, uint32_t rank, uint32_t accent, uint32_t form) {
    if (w->len == w->cap) {
        uint32_t cap = w->cap ? w->cap * 2 : 64;
        uint32_t *p = js_realloc(ctx, w->p, cap * sizeof *p);
        if (!p) return -1;
        w->p = p;
        w->cap = cap;
    }
    w->p[w->len++] = rank << 12 | accent << 4 | form;
    return 0;
}

static bool coll_ignored(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x34f || (c >= 0x200b && c < 0x2010) || (c >= 0x202a && c < 0x202f) ||
           (c >= 0x2060 && c < 0x2070) || (c >= 0xfe00 && c < 0xfe10) || c == 0xfeff;
}

static uint32_t coll_rank(uint32_t c) {
    if (c < 128) return coll_ascii[c];
    if ((c >= 0x1100 && c < 0x1200) || (c >= 0x4e00 && c < 0xa000)) return 0x10000 + c; /* Hangul, and Han behind all */
    uint32_t lo = 0, hi = countof(coll_runs);
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (coll_runs[mid].start + coll_runs[mid].length <= c) lo = mid + 1;
        else hi = mid;
    }
    return lo < countof(coll_runs) && coll_runs[lo].start <= c ? coll_runs[lo].rank + c - coll_runs[lo].start : 0;
}

static int coll_unknown(uint32_t c) {
    char s[5] = { 0 };
    utf8_encode((uint8_t *)s, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    JS_ThrowRangeError(ctx, "String.prototype.localeCompare: the order of \"%s\" (U+%04X) is not known here: use a < b ? -1 : a > b ? 1 : 0", s, c);
    return -1;
}

/* Puts one code point that canonical decomposition leaves. */
static int weights_add(Weights *w, uint32_t c, uint32_t form) {
    uint32_t lower[LRE_CC_RES_LEN_MAX], rank;
    if (lre_case_conv(lower, c, 1) == 1 && lower[0] != c) {
        c = lower[0];
        form |= 2;
    }
    if (c >= 0x300 && c < 0x370 && coll_accents[c - 0x300]) return weights_put(w, 0, coll_accents[c - 0x300], 0);
    rank = coll_rank(c);
    if (rank) return weights_put(w, rank, 1, form);
    if (coll_ignored(c)) return 0;
    for (uint32_t i = 0; i < countof(coll_like); i++) {
        if (coll_like[i].c != c) continue;
        if (weights_put(w, coll_rank(coll_like[i].base), 1, form | coll_like[i].form)) return -1;
        return coll_like[i].accent ? weights_put(w, 0, coll_like[i].accent, 0) : 0;
    }
    for (uint32_t i = 0; i < countof(coll_pairs); i++) {
        if (coll_pairs[i].c != c) continue;
        if (!coll_pairs[i].accent) form |= 1;
        if (weights_put(w, coll_ascii[coll_pairs[i].first], 1, form)) return -1;
        if (coll_pairs[i].accent && weights_put(w, 0, COLL_ACCENT_MAX, 0)) return -1;
        return weights_put(w, coll_ascii[coll_pairs[i].second], 1, form);
    }
    if (form & 1) return coll_unknown(c);
    uint32_t *parts;
    int n = unicode_normalize(&parts, &c, 1, UNICODE_NFKD, ctx, (DynBufReallocFunc *)js_realloc), r = n < 0 ? -1 : 0;
    if (n == 1 && parts[0] == c) r = coll_unknown(c);
    for (int i = 0; !r && i < n; i++) r = weights_add(w, parts[i], form | 1);
    if (n >= 0) js_free(ctx, parts);
    return r;
}

/* A number among text: its rank is that of digits, then come how many there are, and they. */
static int weights_number(Weights *w, const uint32_t *s, int n) {
    while (n > 1 && *s == '0') s++, n--;
    if (weights_put(w, coll_ascii['0'], 1, 0) || weights_put(w, n, 1, 0)) return -1;
    for (int i = 0; i < n; i++)
        if (weights_put(w, s[i], 1, 0)) return -1;
    return 0;
}

static int weights_of(Weights *w, JSValueConst text, int how) {
    uint32_t *s, *d;
    int n = to_utf32_buf(ctx, JS_VALUE_GET_STRING(text), &s);
    if (n < 0) return -1;
    int len = unicode_normalize(&d, s, n, UNICODE_NFD, ctx, (DynBufReallocFunc *)js_realloc), r = len < 0 ? -1 : 0;
    js_free(ctx, s);
    for (int i = 0; !r && i < len; i++) {
        int k = i;
        while ((how & COLL_NUMERIC) && k < len && d[k] >= '0' && d[k] <= '9') k++;
        if (k > i) {
            r = weights_number(w, d + i, k - i);
            i = k - 1;
        } else if ((d[i] == 0x438 || d[i] == 0x418) && i + 1 < len && d[i + 1] == 0x306) { /* й is a letter */
            r = weights_put(w, COLL_SHORT_I, 1, d[i++] == 0x418 ? 2 : 0);
        } else {
            r = weights_add(w, d[i], 0);
        }
    }
    if (len >= 0) js_free(ctx, d);
    return r;
}

/* Compares one level: the bits in mask, of the weights that have some. */
static int weights_compare(const Weights *a, const Weights *b, uint32_t having, uint32_t mask) {
    for (uint32_t i = 0, j = 0;; i++, j++) {
        while (i < a->len && !(a->p[i] & having)) i++;
        while (j < b->len && !(b->p[j] & having)) j++;
        if (i >= a->len || j >= b->len) return (i < a->len) - (j < b->len);
        uint32_t x = a->p[i] & mask, y = b->p[j] & mask;
        if (x != y) return x < y ? -1 : 1;
    }
}

static int collate(JSValueConst a, JSValueConst b, int how, int *result) {
    Weights x = { 0 }, y = { 0 };
    int r = weights_of(&x, a, how) || weights_of(&y, b, how) ? -1 : 0;
    *result = r ? 0 : weights_compare(&x, &y, 0xfffff000, 0xfffff000);
    if (!r && !*result && (how & COLL_ACCENTS)) *result = weights_compare(&x, &y, 0xff0, 0xff0);
    if (!r && !*result && (how & (COLL_FORMS | COLL_CASE))) *result = weights_compare(&x, &y, 0xfffff000, how & COLL_FORMS ? 3 : 2);
    js_free(ctx, x.p);
    js_free(ctx, y.p);
    return r;
}

/* ASCII texts, without numbers to compare as such. Reports whether they were. */
static bool collate_ascii(JSString *a, JSString *b, int how, int *result) {
    if (a->is_wide_char || b->is_wide_char || (how & COLL_NUMERIC)) return false;
    const uint8_t *p = str8(a), *q = str8(b);
    uint32_t i = 0, j = 0, n = a->len, m = b->len;
    int rank = 0, form = 0;
    while (i < n && j < m) {
        uint8_t x = p[i], y = q[j];
        if ((x | y) & 0x80) return false;
        if (x == y) { i++; j++; continue; }
        if (!coll_ascii[x]) { i++; continue; }
        if (!coll_ascii[y]) { j++; continue; }
        if (!rank) rank = (coll_ascii[x] > coll_ascii[y]) - (coll_ascii[x] < coll_ascii[y]);
        if (!rank && !form) form = x < y ? 1 : -1; /* one is a capital, whose code is less */
        if (rank) break;
        i++;
        j++;
    }
    /* Behind them: an accent of what is not ASCII could change the letter before it only on a lower level, but й. */
    for (uint32_t k = i; k < n; k++) if (p[k] & 0x80) return false;
    for (uint32_t k = j; k < m; k++) if (q[k] & 0x80) return false;
    while (!rank && i < n) rank = coll_ascii[p[i++]] != 0;
    while (!rank && j < m) rank = -(coll_ascii[q[j++]] != 0);
    *result = rank ? rank : how & (COLL_FORMS | COLL_CASE) ? form : 0;
    return true;
}

static JSValue collation; /* of the bootstrap: the levels for locales and options */

static JSValue js_locale_compare(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) {
    int how = COLL_USUAL, result = 0;
    JSValue a = JS_ToStringCheckObject(c, this_val), b = JS_IsException(a) ? JS_EXCEPTION : JS_ToString(c, argv[0]);
    bool bad = JS_IsException(a) || JS_IsException(b);
    if (!bad && argc > 1 && !(JS_IsUndefined(argv[1]) && (argc < 3 || JS_IsUndefined(argv[2])))) {
        JSValue v = JS_Call(c, collation, JS_UNDEFINED, 2, (JSValueConst[]){ argv[1], argc > 2 ? argv[2] : JS_UNDEFINED });
        bad = JS_IsException(v) || JS_ToInt32Free(c, &how, v);
    }
    if (!bad && JS_VALUE_GET_STRING(a) != JS_VALUE_GET_STRING(b) && !collate_ascii(JS_VALUE_GET_STRING(a), JS_VALUE_GET_STRING(b), how, &result))
        bad = collate(a, b, how, &result);
    JS_FreeValue(c, a);
    JS_FreeValue(c, b);
    return bad ? JS_EXCEPTION : JS_NewInt32(c, result);
}
