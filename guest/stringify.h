/* JSON.stringify(value) for plain data, quickly.
 *
 * The engine's own asks every object for toJSON, reads each property through
 * the general path and appends characters one by one; it takes three times as
 * long as goja's. This one walks the properties where they lie. It knows plain
 * objects and arrays with the original prototypes, in which toJSON does not
 * exist, data properties, and text of 8-bit characters. At whatever else it
 * gives up, before anything in the program could notice that it was there, and
 * the engine's own begins anew: the result is the same in all cases.
 */

enum { PLAIN_OK, PLAIN_UNKNOWN };

#define PLAIN_DEPTH 128 /* deeper, or a cycle, is the engine's business */

static int plain_text(Buf *b, JSString *s) {
    static const char hex[] = "0123456789abcdef";
    if (s->is_wide_char || buf_room(b, (size_t)s->len + 2)) return PLAIN_UNKNOWN;
    const uint8_t *p = str8(s), *end = p + s->len, *from = p;
    b->p[b->len++] = '"';
    for (; p < end; p++) {
        uint8_t c = *p;
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        char e[6] = { '\\', (char)c, '0', '0', 0, 0 };
        size_t n = 2;
        switch (c) {
        case '"': case '\\': break;
        case '\b': e[1] = 'b'; break;
        case '\f': e[1] = 'f'; break;
        case '\n': e[1] = 'n'; break;
        case '\r': e[1] = 'r'; break;
        case '\t': e[1] = 't'; break;
        default: e[1] = 'u'; e[4] = hex[c >> 4]; e[5] = hex[c & 15]; n = 6;
        }
        if (buf_put(b, (const char *)from, p - from) || buf_put(b, e, n)) return PLAIN_UNKNOWN;
        from = p + 1;
    }
    return buf_put(b, (const char *)from, end - from) || buf_char(b, '"');
}

static int plain_value(Buf *b, JSValueConst v, int depth);

/* toJSON, if a program gave one to the prototypes, is found here once for all objects. */
static bool plain_prototypes(void) {
    JSObject *object = JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_OBJECT]), *array = JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_ARRAY]);
    return !object->shape->proto && array->shape->proto == object && !object->is_exotic &&
           !find_own_property1(object, atom_toJSON) && !find_own_property1(array, atom_toJSON);
}

static int plain_array(Buf *b, JSObject *p, int depth) {
    uint32_t n = p->u.array.count;
    JSValue length = p->prop[0].u.value;
    if (!p->fast_array || JS_VALUE_GET_TAG(length) != JS_TAG_INT || (uint32_t)JS_VALUE_GET_INT(length) != n) return PLAIN_UNKNOWN;
    if (p->shape->prop_count > 1 && find_own_property1(p, atom_toJSON)) return PLAIN_UNKNOWN;
    if (buf_char(b, '[')) return PLAIN_UNKNOWN;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && buf_char(b, ',')) return PLAIN_UNKNOWN;
        JSValueConst v = p->u.array.u.values[i];
        if (JS_IsUndefined(v) ? buf_put(b, "null", 4) : plain_value(b, v, depth)) return PLAIN_UNKNOWN;
    }
    return buf_char(b, ']');
}

static int plain_object(Buf *b, JSObject *p, int depth) {
    JSShapeProperty *prs = get_shape_prop(p->shape);
    bool any = false;
    if (buf_char(b, '{')) return PLAIN_UNKNOWN;
    for (int i = 0; i < p->shape->prop_count; i++, prs++) {
        if (prs->atom == JS_ATOM_NULL) continue;
        /* Array indices come first, in order, whenever they were added. */
        if (__JS_AtomIsTaggedInt(prs->atom) || prs->atom == atom_toJSON) return PLAIN_UNKNOWN;
        JSString *key = rt->atom_array[prs->atom];
        if (key->atom_type != JS_ATOM_TYPE_STRING) continue; /* a symbol */
        if (!(prs->flags & JS_PROP_ENUMERABLE)) continue;
        if ((prs->flags & JS_PROP_TMASK) != JS_PROP_NORMAL || key->is_wide_char) return PLAIN_UNKNOWN;
        if (key->len > 0 && str8(key)[0] >= '0' && str8(key)[0] <= '9') return PLAIN_UNKNOWN;
        JSValueConst v = p->prop[i].u.value;
        if (JS_IsUndefined(v)) continue;
        if ((any && buf_char(b, ',')) || plain_text(b, key) || buf_char(b, ':') || plain_value(b, v, depth)) return PLAIN_UNKNOWN;
        any = true;
    }
    return buf_char(b, '}');
}

static int plain_value(Buf *b, JSValueConst v, int depth) {
    switch (JS_VALUE_GET_NORM_TAG(v)) {
    case JS_TAG_NULL: return buf_put(b, "null", 4);
    case JS_TAG_BOOL: return JS_VALUE_GET_BOOL(v) ? buf_put(b, "true", 4) : buf_put(b, "false", 5);
    case JS_TAG_INT: return enc_int(b, JS_VALUE_GET_INT(v));
    case JS_TAG_FLOAT64: return enc_number(b, JS_VALUE_GET_FLOAT64(v));
    case JS_TAG_STRING: return plain_text(b, JS_VALUE_GET_STRING(v));
    case JS_TAG_STRING_ROPE: {
        JSValue s = js_linearize_string_rope(ctx, v);
        if (JS_IsException(s)) {
            JS_FreeValue(ctx, JS_GetException(ctx));
            return PLAIN_UNKNOWN;
        }
        int r = plain_text(b, JS_VALUE_GET_STRING(s));
        JS_FreeValue(ctx, s);
        return r;
    }
    case JS_TAG_OBJECT: {
        JSObject *p = JS_VALUE_GET_OBJ(v);
        if (depth >= PLAIN_DEPTH || js_check_stack_overflow(rt, 1024) || (p->is_exotic && p->class_id != JS_CLASS_ARRAY)) return PLAIN_UNKNOWN;
        if ((p->class_id != JS_CLASS_OBJECT && p->class_id != JS_CLASS_ARRAY) ||
            p->shape->proto != JS_VALUE_GET_OBJ(ctx->class_proto[p->class_id]))
            return PLAIN_UNKNOWN;
        return p->class_id == JS_CLASS_ARRAY ? plain_array(b, p, depth + 1) : plain_object(b, p, depth + 1);
    }
    }
    return PLAIN_UNKNOWN;
}

static JSValue js_stringify(JSContext *c, JSValueConst this_val, int argc, JSValueConst *argv) {
    if (c == ctx && argc > 0 && JS_IsObject(argv[0]) && (argc < 2 || JS_IsUndefined(argv[1]) || JS_IsNull(argv[1])) && (argc < 3 || JS_IsUndefined(argv[2]) || JS_IsNull(argv[2])) &&
        plain_prototypes()) {
        Buf b = { .max = 32 << 20 };
        JSValue v = JS_UNDEFINED;
        int known = plain_value(&b, argv[0], 0) == PLAIN_OK;
        if (known) v = js_new_string8_len(c, b.p, b.len);
        free(b.p);
        if (known && !JS_IsException(v)) return v;
        if (known) JS_FreeValue(c, JS_GetException(c)); /* no room: the engine's own may need less */
    }
    return js_json_stringify(c, this_val, argc, argv);
}
