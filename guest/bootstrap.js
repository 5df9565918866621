// The JavaScript part of the guest: console, structuredClone, text coding, URL,
// crypto, events and the error classes of DESIGN.md section 9. It runs once,
// before the snapshot is taken; programs then run in the same realm and may
// change every intrinsic. What is defined here must not notice, hence the rules:
//
//   - Built-in methods are captured below and called through `uncurry`, whose
//     bound functions look nothing up. `x.method()` is for own objects only.
//   - No for-of, spread or array destructuring (they use the iterator protocol,
//     which programs can patch), except over iterables a program hands in.
//   - Growing lists and option objects have no prototype, so that neither a
//     setter nor a default planted on Object.prototype or Array.prototype is met.
//   - No template literals with values: QuickJS makes them with the method concat it
//     finds on String.prototype.
//   - A string is indexed only where a character is; elsewhere String.prototype answers.
//   - No instanceof, and no RegExp or String method that consults a Symbol.
//
// `native` is what guest/shim.c lends; programs never see it.
(function (native, global) {
'use strict';

const { log: nativeLog, utf8Encode, utf8Decode, randomFill, now, inspectKind, promiseState, ownKeys, getOwn } = native;
const Object_ = Object, Error_ = Error, TypeError_ = TypeError, RangeError_ = RangeError;
const String_ = String, BigInt_ = BigInt, Date_ = Date, RegExp_ = RegExp;
const Map_ = Map, Set_ = Set, ArrayBuffer_ = ArrayBuffer, DataView_ = DataView, Uint8Array_ = Uint8Array, Uint16Array_ = Uint16Array;
const DOMException_ = global.DOMException;
const { construct, apply } = Reflect;
const { defineProperty, getPrototypeOf, setPrototypeOf, hasOwn, keys: objectKeys } = Object;
const { iterator: symIterator, toStringTag: symTag } = Symbol;
const { isView } = ArrayBuffer, { fromCharCode, fromCodePoint } = String;
const { min, max, floor, trunc } = Math, stringify = JSON.stringify;

const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const method = (C, name) => uncurry(C.prototype[name]);
const getter = (proto, name) => {
  const d = Object.getOwnPropertyDescriptor(proto, name);
  return d && d.get ? uncurry(d.get) : undefined;
};
const charCodeAt = method(String, 'charCodeAt'), codePointAt = method(String, 'codePointAt');
const indexOf = method(String, 'indexOf'), lastIndexOf = method(String, 'lastIndexOf');
const slice = method(String, 'slice'), toLower = method(String, 'toLowerCase'), repeat = method(String, 'repeat');
const normalize = method(String, 'normalize'), padEnd = method(String, 'padEnd');
const isWellFormed = method(String, 'isWellFormed'), toWellFormed = method(String, 'toWellFormed');
const exec = method(RegExp, 'exec'), join = method(Array, 'join'), sort = method(Array, 'sort');
const numberToString = method(Number, 'toString'), toFixed = method(Number, 'toFixed');
const functionToString = method(Function, 'toString'), symbolToString = method(Symbol, 'toString');
const dateTime = method(Date, 'getTime'), dateISO = method(Date, 'toISOString');
const mapEntries = method(Map, 'entries'), mapNext = uncurry(getPrototypeOf(new Map().entries()).next);
const mapGet = method(Map, 'get'), mapSet = method(Map, 'set'), mapSize = getter(Map.prototype, 'size');
const setValues = method(Set, 'values'), setNext = uncurry(getPrototypeOf(new Set().values()).next);
const setAdd = method(Set, 'add'), setSize = getter(Set.prototype, 'size');
const TypedArray_ = getPrototypeOf(Uint8Array);
const viewTag = getter(TypedArray_.prototype, symTag), arrayLength = getter(TypedArray_.prototype, 'length');
const arrayBuffer = getter(TypedArray_.prototype, 'buffer'), arrayOffset = getter(TypedArray_.prototype, 'byteOffset');
const arrayBytes = getter(TypedArray_.prototype, 'byteLength'), arraySet = method(TypedArray_, 'set');
const dataBuffer = getter(DataView.prototype, 'buffer'), dataOffset = getter(DataView.prototype, 'byteOffset');
const dataBytes = getter(DataView.prototype, 'byteLength');
const bufferBytes = getter(ArrayBuffer.prototype, 'byteLength'), bufferMax = getter(ArrayBuffer.prototype, 'maxByteLength');
const bufferResizable = getter(ArrayBuffer.prototype, 'resizable'), bufferDetached = getter(ArrayBuffer.prototype, 'detached');
const bufferTransfer = method(ArrayBuffer, 'transfer');
const regexpSource = getter(RegExp.prototype, 'source'), errorStack = getter(Error.prototype, 'stack');
const regexpFlags = list();
{
  const names = ['hasIndices', 'global', 'ignoreCase', 'multiline', 'dotAll', 'unicode', 'unicodeSets', 'sticky'];
  for (let i = 0; i < names.length; i++) {
    const get = getter(RegExp.prototype, names[i]);
    if (get) regexpFlags[regexpFlags.length] = { get, flag: 'dgimsuvy'[i] };
  }
}
const unbox = { __proto__: null };
{
  const C = [Number, String, Boolean, Symbol, BigInt];
  for (let i = 0; i < C.length; i++) unbox[C[i].name] = uncurry(C[i].prototype.valueOf);
}

// A list that nothing is inherited by; `l[l.length] = x` grows it.
function list() { return setPrototypeOf([], null); }

const hidden = (o, name, value) => defineProperty(o, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
const tagged = (C, name) => defineProperty(C.prototype, symTag, { __proto__: null, value: name, writable: false, enumerable: false, configurable: true });
// What a template literal would make of v.
const str = v => {
  if (typeof v === 'string') return v;
  if (typeof v === 'symbol') throw new TypeError_('a Symbol cannot become a string');
  return String_(v);
};
const isObject = v => (typeof v === 'object' && v !== null) || typeof v === 'function';
const fail = (name, message) => { throw new DOMException_(message, name); };
const flagsOf = re => {
  let s = '';
  for (let i = 0; i < regexpFlags.length; i++) if (regexpFlags[i].get(re)) s += regexpFlags[i].flag;
  return s;
};
// The bytes of a buffer or view, shared with it; undefined if it is neither.
const bytesOf = v => {
  if (!isObject(v)) return undefined;
  if (isView(v)) {
    return viewTag(v) === undefined
      ? new Uint8Array_(dataBuffer(v), dataOffset(v), dataBytes(v))
      : new Uint8Array_(arrayBuffer(v), arrayOffset(v), arrayBytes(v));
  }
  return inspectKind(v) === 'arraybuffer' ? new Uint8Array_(v) : undefined;
};
const hex = (n, width) => {
  const s = numberToString(n, 16);
  return width === 2 && n < 16 ? '0' + s : s;
};
// Replaces every `from` in s; String.prototype.replaceAll would consult Symbol.replace.
const replaceAll = (s, from, to) => {
  let i = indexOf(s, from);
  if (i < 0) return s;
  let out = '', start = 0;
  for (; i >= 0; i = indexOf(s, from, start)) {
    out += slice(s, start, i) + to;
    start = i + from.length;
  }
  return out + slice(s, start);
};

// ---- errors ----

const errors = { __proto__: null };
const errorClass = (name, Parent = Error_) => {
  // No super(): the parent of a class can be replaced by a program.
  const C = { [name]: class extends Parent {
    constructor(message, props) {
      const e = construct(Error_, message === undefined ? [] : [str(message)], new.target);
      if (isObject(props)) {
        const names = ownKeys(props);
        for (let i = 0; i < names.length; i++) {
          const d = getOwn(props, names[i]);
          if (d !== undefined && hasOwn(d, 'value')) {
            defineProperty(e, names[i], { __proto__: null, value: d.value, writable: true, enumerable: true, configurable: true });
          }
        }
      }
      return e;
    }
  } }[name];
  hidden(C.prototype, 'name', name);
  errors[name] = C;
  hidden(global, name, C);
};
errorClass('ToolCallDeniedError');
errorClass('ToolNotFoundError');
errorClass('InvalidArgumentsError');
errorClass('InvalidResultError');
errorClass('ToolError');
errorClass('UpstreamError');
errorClass('LimitError', errors.ToolCallDeniedError); // a budget refused the call until a time

// ---- console ----

const MAX_MESSAGE = 65536;  // characters of one console message; what is beyond is counted, not shown
const MAX_ITEMS = 100;      // of one array, Map or Set
const MAX_STRING = 10000;   // characters of one string inside a value
const MAX_KEYS_OF = 1000;   // arrays longer than this do not show their named properties
const DEPTH = 4, LINE = 80;

const plainKey = /^[a-zA-Z_][a-zA-Z_0-9]*$/;
const needsEscape = /[\x00-\x1f'\\\x7f-\x9f\ud800-\udfff]/;
const shortEscape = { __proto__: null, 8: '\\b', 9: '\\t', 10: '\\n', 12: '\\f', 13: '\\r', 92: '\\\\' };
const Async_ = getPrototypeOf(async function () {}), Generator_ = getPrototypeOf(function* () {});
const AsyncGenerator_ = getPrototypeOf(async function* () {});
const errorProto = Error.prototype, domProto = DOMException_.prototype, domName = getter(DOMException_.prototype, 'name'), domMessage = getter(DOMException_.prototype, 'message');

const quote = s => {
  if (exec(needsEscape, s) === null) return "'" + s + "'";
  const q = indexOf(s, "'") < 0 ? "'" : indexOf(s, '"') < 0 ? '"' : indexOf(s, '`') < 0 && indexOf(s, '${') < 0 ? '`' : "'";
  const qc = charCodeAt(q, 0);
  let out = q, start = 0;
  for (let i = 0; i < s.length; i++) {
    const c = charCodeAt(s, i);
    let e;
    if (c === qc) e = '\\' + q;
    else if (c < 32 || c === 92) e = shortEscape[c] || '\\x' + (c < 16 ? '0' : '') + hexUpper(c);
    else if (c >= 127 && c < 160) e = '\\x' + hexUpper(c);
    else if (c >= 0xd800 && c < 0xe000) {
      if (c < 0xdc00 && i + 1 < s.length && (charCodeAt(s, i + 1) & 0xfc00) === 0xdc00) { i++; continue; }
      e = '\\u' + hex(c);
    } else continue;
    out += slice(s, start, i) + e;
    start = i + 1;
  }
  return out + slice(s, start) + q;
};
const HEX = '0123456789ABCDEF';
const hexUpper = n => (n > 15 ? HEX[n >> 4] : '') + HEX[n & 15];

const more = (n, what) => '... ' + n + ' more ' + what + (n === 1 ? '' : 's');
const numberText = n => n === 0 && 1 / n < 0 ? '-0' : '' + n;

// An own property's value, without running a getter.
const ownValue = (o, key) => {
  const d = getOwn(o, key);
  return d !== undefined && hasOwn(d, 'value') ? d.value : undefined;
};
// The first data property of that name on o or its prototypes.
const inheritedValue = (o, key) => {
  for (let i = 0; i < 100 && o !== null && inspectKind(o) !== 'proxy'; i++, o = getPrototypeOf(o)) {
    const d = getOwn(o, key);
    if (d !== undefined) return hasOwn(d, 'value') ? d.value : undefined;
  }
  return undefined;
};
// The name of the class of o, or null if it has none; fallback if it cannot be told.
const className = (o, fallback) => {
  let p = o;
  for (let i = 0; i < 100; i++) {
    if (inspectKind(p) === 'proxy') return fallback;
    p = getPrototypeOf(p);
    if (p === null) return i === 0 ? null : fallback;
    if (inspectKind(p) === 'proxy') return fallback;
    const c = ownValue(p, 'constructor');
    if (typeof c !== 'function' || inspectKind(c) === 'proxy' || ownValue(c, 'prototype') !== p) continue;
    const name = ownValue(c, 'name');
    if (typeof name === 'string' && name !== '') return slice(name, 0, 200);
  }
  return fallback;
};
const classPrefix = (name, tag, fallback, size) => {
  const t = tag !== '' && tag !== (name === null ? fallback : name) ? '[' + tag + '] ' : '';
  return name === null ? '[' + fallback + size + ': null prototype] ' + t : '' + name + size + ' ' + t;
};

const primitive = (c, v) => {
  let s;
  if (typeof v === 'string') {
    const n = c.flat ? 500 : MAX_STRING;
    s = v.length > n ? quote(slice(v, 0, n)) + more(v.length - n, 'character') : quote(v);
  } else if (typeof v === 'number') s = numberText(v);
  else if (typeof v === 'bigint') s = bigText(v) + 'n';
  else if (typeof v === 'symbol') s = cut(symbolToString(v));
  else s = '' + v;
  c.left -= s.length;
  return s;
};
const cut = s => s.length > MAX_STRING ? slice(s, 0, MAX_STRING) + more(s.length - MAX_STRING, 'character') : s;
// Printing a BigInt of a million bits takes seconds, so only its size is told.
const bigText = v => v < BIG_LIMIT && v > -BIG_LIMIT ? '' + v : (v < 0n ? '-' : '') + '[over 3,000 digits]';
const BIG_LIMIT = 10n ** 3000n;

const inspect = (v, depth) => {
  const c = { __proto__: null, left: MAX_MESSAGE - 256, depth, indent: 0, at: 0, seen: list(), cycles: list(), flat: false, top: undefined };
  return format(c, v, 0);
};

function format(c, v, level) {
  if (!isObject(v)) return primitive(c, v);
  c.left -= 2;
  if (c.left <= 0) return '...';
  const kind = inspectKind(v);
  if (kind === 'proxy') return '[Proxy]';
  for (let i = 0; i < c.seen.length; i++) {
    if (c.seen[i] !== v) continue;
    let n = 0;
    while (n < c.cycles.length && c.cycles[n] !== v) n++;
    if (n === c.cycles.length) c.cycles[n] = v;
    return '[Circular *' + (n + 1) + ']';
  }
  return formatObject(c, v, kind, level);
}

function formatObject(c, v, kind, level) {
  const tagValue = inheritedValue(v, symTag), tagOwn = getOwn(v, symTag);
  const tag = typeof tagValue === 'string' && !(tagOwn !== undefined && tagOwn.enumerable) ? slice(tagValue, 0, 200) : '';
  let open = '{', close = '}', base = '', fill = null, items = false, skip = null, length = 0;
  const name = kind === 'error' || kind === 'function' ? '' : className(v, 'Object');
  switch (kind) {
  case 'array':
    length = ownValue(v, 'length');
    open = (name !== 'Array' || tag !== '' ? classPrefix(name, tag, 'Array', '(' + length + ')') : '') + '[';
    close = ']';
    items = true;
    fill = fillArray;
    break;
  case 'arguments':
    length = ownValue(v, 'length');
    if (typeof length !== 'number') length = 0;
    open = '[Arguments] [';
    close = ']';
    items = true;
    fill = fillArray;
    break;
  case 'typedarray': {
    const t = viewTag(v);
    if (t === undefined) {
      open = classPrefix(name, tag, 'DataView', '') + '{';
      fill = fillDataView;
      break;
    }
    length = arrayLength(v);
    open = classPrefix(name, tag, t, '(' + length + ')') + '[';
    close = ']';
    items = true;
    fill = fillTypedArray;
    break;
  }
  case 'map':
    length = mapSize(v);
    open = classPrefix(name, tag, 'Map', '(' + length + ')') + '{';
    fill = fillMap;
    break;
  case 'set':
    length = setSize(v);
    open = classPrefix(name, tag, 'Set', '(' + length + ')') + '{';
    fill = fillSet;
    break;
  case 'function': base = functionBase(v); break;
  case 'regexp': base = '/' + cut(regexpSource(v)) + '/' + flagsOf(v); if (name !== 'RegExp') base = classPrefix(name, tag, 'RegExp', '') + base; break;
  case 'date': {
    const t = dateTime(v);
    base = t === t ? dateISO(v) : 'Invalid Date';
    if (name !== 'Date') base = classPrefix(name, tag, 'Date', '') + base;
    break;
  }
  case 'error': {
    skip = { __proto__: null, name: false, message: true, stack: true };
    base = errorBase(c, v, skip);
    break;
  }
  case 'boxed': {
    const type = boxedType(v), p = unbox[type](v);
    base = '[' + type + (name === type ? '' : name === null ? ' (null prototype)' : ' (' + name + ')') + ': ' + primitive(c, p) + ']';
    if (typeof p === 'string') length = p.length;
    break;
  }
  case 'arraybuffer': open = classPrefix(name, tag, 'ArrayBuffer', '') + '{'; fill = fillBuffer; break;
  case 'promise': open = classPrefix(name, tag, 'Promise', '') + '{'; fill = fillPromise; break;
  case 'weakmap': open = classPrefix(name, tag, 'WeakMap', '') + '{'; fill = fillUnknown; break;
  case 'weakset': open = classPrefix(name, tag, 'WeakSet', '') + '{'; fill = fillUnknown; break;
  default:
    if (kind === 'object') {
      if (isDOMException(v)) {
        base = stackText(domName(v) + ': ' + domMessage(v), ownValue(v, 'stack'));
        skip = { __proto__: null, stack: true };
        break;
      }
      if (c.top === v) { // inherits from Error
        skip = { __proto__: null, name: true, message: true, stack: true };
        break;
      }
      if (isURL(v)) fill = fillURL;
      else if (isParams(v)) fill = fillParams;
    }
    if (name !== 'Object' || tag !== '') open = classPrefix(name, tag, 'Object', '') + '{';
  }

  // Properties: only the enumerable ones, and those of long arrays not at all.
  const names = items && length > MAX_KEYS_OF ? list() : ownKeys(v);
  const from = shownKey(v, names, 0, skip, length);
  const causes = kind === 'error' ? causesOf(v) : list();
  if (from === names.length && causes.length === 0) {
    if (base !== '') {
      c.left -= base.length;
      return indented(base, c.indent);
    }
    if (fill === null || (length === 0 && (items || kind === 'map' || kind === 'set'))) return open + close;
  }
  if (level > c.depth) return base !== '' ? indented(base, c.indent) : '[' + (name === null ? 'Object: null prototype' : name) + ']';
  if (base !== '') {
    c.left -= base.length;
    base = indented(base, c.indent);
  }

  const out = list();
  c.seen[c.seen.length] = v;
  c.at = level;
  if (fill !== null) fill(c, out, v, level + 1, length);
  for (let i = from; i < names.length; i = shownKey(v, names, i + 1, skip, length)) {
    if (c.left <= 0) {
      out[out.length] = more(names.length - i, 'key');
      break;
    }
    out[out.length] = formatProperty(c, v, names[i], level + 1, false);
  }
  for (let i = 0; i < causes.length; i++) {
    c.indent += 2;
    out[out.length] = '[' + causes[i] + ']: ' + format(c, ownValue(v, causes[i]), level + 1);
    c.indent -= 2;
  }
  c.seen.length--;
  for (let i = 0; i < c.cycles.length; i++) {
    if (c.cycles[i] === v) base = base === '' ? '<ref *' + (i + 1) + '>' : '<ref *' + (i + 1) + '> ' + base;
  }
  return layout(c, out, base, open, close, items, level);
}

// The first index from i of a key to show, or the end: enumerable, not an item.
const shownKey = (v, names, i, skip, length) => {
  for (; i < names.length; i++) {
    const k = names[i];
    if (typeof k === 'string' && ((skip !== null && skip[k]) || (length > 0 && isIndex(k, length)))) continue;
    const d = getOwn(v, k);
    if (d !== undefined && d.enumerable) break;
  }
  return i;
};

function formatProperty(c, v, k, level, inArray) {
  const d = getOwn(v, k);
  let s;
  c.left -= c.indent + 6;
  if (d === undefined) s = 'undefined';
  else if (hasOwn(d, 'value')) {
    c.indent += 2;
    s = format(c, d.value, level);
    c.indent -= 2;
  } else {
    s = d.get === undefined ? d.set === undefined ? 'undefined' : '[Setter]' : d.set === undefined ? '[Getter]' : '[Getter/Setter]';
    c.left -= s.length;
  }
  if (inArray) return s;
  const key = typeof k === 'symbol' ? '[' + cut(symbolToString(k)) + ']'
    : k === '__proto__' ? "['__proto__']"
    : exec(plainKey, k) !== null ? cut(k) : k.length > MAX_STRING ? quote(cut(k)) : quote(k);
  c.left -= key.length;
  return key + ': ' + s;
}

// Joins entries on one line when few levels are nested and it stays short;
// fills lines with the short items of a long array; else one entry a line.
function layout(c, out, base, open, close, items, level) {
  let total = out.length, longest = 0, multi = false;
  for (let i = 0; i < out.length; i++) {
    total += out[i].length;
    if (out[i].length > longest) longest = out[i].length;
    if (!multi && indexOf(out[i], '\n') >= 0) multi = true;
  }
  const lead = base === '' ? open : base + ' ' + open;
  const fillLines = items && out.length > 6 && longest <= 20 && !multi;
  if (c.flat || c.at - level < 3 && !fillLines && !multi && indexOf(base, '\n') < 0 &&
    total + out.length + c.indent + open.length + base.length + 10 <= LINE) {
    return lead + ' ' + join(out, ', ') + ' ' + close;
  }
  const line = '\n' + repeat(' ', c.indent);
  if (!fillLines) return lead + line + '  ' + join(out, ',' + line + '  ') + line + close;
  let s = lead + line + '  ', width = 0;
  for (let i = 0; i < out.length; i++) {
    const last = i + 1 === out.length;
    if (width > 0 && width + out[i].length > LINE - 4) {
      s += line + '  ';
      width = 0;
    } else if (width > 0) s += ' ';
    s += last ? out[i] : out[i] + ',';
    width += out[i].length + 2;
  }
  return s + line + close;
}

const indented = (s, n) => n > 0 ? replaceAll(s, '\n', '\n' + repeat(' ', n)) : s;
const isIndex = (k, length) => {
  if (k.length > 10 || k.length === 0) return false;
  let n = 0;
  for (let i = 0; i < k.length; i++) {
    const d = charCodeAt(k, i) - 48;
    if (d < 0 || d > 9) return false;
    n = n * 10 + d;
  }
  return n < length && (k.length === 1 || k[0] !== '0');
};

function fillArray(c, out, v, level, length) {
  let i = 0, names = null, at = 0, shown = 0;
  while (i < length && shown < MAX_ITEMS && c.left > 0) {
    if (getOwn(v, i) !== undefined) {
      out[out.length] = formatProperty(c, v, i, level, true);
      i++;
    } else {
      // A hole; the next item is the next key, which comes in ascending order.
      if (names === null) names = ownKeys(v);
      let next = length;
      for (; at < names.length; at++) {
        const k = names[at];
        if (typeof k !== 'string' || !isIndex(k, length)) break;
        if (+k >= i) { next = +k; break; }
      }
      out[out.length] = '<' + (next - i) + ' empty item' + (next - i === 1 ? '' : 's') + '>';
      i = next;
    }
    shown++;
  }
  if (i < length) out[out.length] = more(length - i, 'item');
}
function fillTypedArray(c, out, v, level, length) {
  const n = min(length, MAX_ITEMS);
  for (let i = 0; i < n; i++) out[i] = primitive(c, v[i]);
  if (n < length) out[n] = more(length - n, 'item');
}
function fillMap(c, out, v, level, length) {
  const it = mapEntries(v);
  c.indent += 2;
  for (let i = 0; i < length; i++) {
    const r = mapNext(it);
    if (r.done) break;
    if (i === MAX_ITEMS || c.left <= 0) {
      out[out.length] = more(length - i, 'item');
      break;
    }
    const k = format(c, r.value[0], level);
    out[out.length] = k + ' => ' + format(c, r.value[1], level);
  }
  c.indent -= 2;
}
function fillSet(c, out, v, level, length) {
  const it = setValues(v);
  c.indent += 2;
  for (let i = 0; i < length; i++) {
    const r = setNext(it);
    if (r.done) break;
    if (i === MAX_ITEMS || c.left <= 0) {
      out[out.length] = more(length - i, 'item');
      break;
    }
    out[out.length] = format(c, r.value, level);
  }
  c.indent -= 2;
}
function fillBuffer(c, out, v, level) {
  if (bufferDetached !== undefined && bufferDetached(v)) {
    out[0] = '(detached)';
    return;
  }
  const bytes = new Uint8Array_(v), length = arrayLength(bytes), n = min(length, 50);
  let s = '';
  for (let i = 0; i < n; i++) s += (i === 0 ? '' : ' ') + hex(bytes[i], 2);
  if (n < length) s += ' ' + more(length - n, 'byte');
  out[0] = '[Uint8Contents]: <' + s + '>';
  out[1] = 'byteLength: ' + length;
  c.left -= s.length + 40;
}
function fillDataView(c, out, v, level) {
  try {
    out[0] = 'byteLength: ' + dataBytes(v);
    out[1] = 'byteOffset: ' + dataOffset(v);
  } catch {
    out[0] = '(detached)';
    return;
  }
  c.indent += 2;
  out[2] = 'buffer: ' + format(c, dataBuffer(v), level);
  c.indent -= 2;
}
function fillPromise(c, out, v, level) {
  const r = promiseState(v);
  c.indent += 2;
  out[0] = r[0] === 0 ? '<pending>' : (r[0] === 2 ? '<rejected> ' : '') + format(c, r[1], level);
  c.indent -= 2;
}
function fillUnknown(c, out) { out[0] = '<items unknown>'; }
function fillURL(c, out, v) { out[0] = 'href: ' + primitive(c, hrefOf(v)); }
function fillParams(c, out, v) {
  const l = pairsOf(v);
  for (let i = 0; i < l.length; i++) {
    if (i === MAX_ITEMS || c.left <= 0) {
      out[i] = more(l.length - i, 'item');
      break;
    }
    const k = primitive(c, l[i].name);
    out[i] = k + ' => ' + primitive(c, l[i].value);
  }
}

const boxedType = v => {
  for (const type in unbox) {
    try {
      unbox[type](v);
      return type;
    } catch {}
  }
  return 'Object';
};
const functionBase = f => {
  const n = ownValue(f, 'name'), name = typeof n === 'string' ? cut(n) : '';
  const p = getPrototypeOf(f);
  if (typeof f === 'function' && slice(functionToString(f), 0, 5) === 'class') {
    const parent = p !== null && inspectKind(p) === 'function' ? ownValue(p, 'name') : '';
    return '[class ' + (name === '' ? '(anonymous)' : name) + (typeof parent === 'string' && parent !== '' ? ' extends ' + cut(parent) : '') + ']';
  }
  const type = p === Async_ ? 'AsyncFunction' : p === Generator_ ? 'GeneratorFunction' : p === AsyncGenerator_ ? 'AsyncGeneratorFunction' : 'Function';
  return '[' + type + (name === '' ? ' (anonymous)' : ': ' + name) + (p === null ? ' (null prototype)' : '') + ']';
};
const isDOMException = v => {
  const p = getPrototypeOf(v);
  if (p !== domProto) return false;
  try {
    domName(v);
    return true;
  } catch {
    return false;
  }
};
// The engine's stack is only the frames; others begin with the message.
const stackText = (head, stack) => {
  if (typeof stack !== 'string' || stack === '') return '[' + cut(head) + ']';
  let end = stack.length;
  while (end > 0 && charCodeAt(stack, end - 1) === 10) end--;
  if (end > MAX_STRING) end = MAX_STRING;
  stack = slice(stack, 0, end);
  const i = indexOf(stack, '\n    at ');
  if (slice(stack, 0, 7) === '    at ') return cut(head) + '\n' + stack;
  return i < 0 ? '[' + stack + ']' : stack;
};
const stackOf = v => {
  const d = getOwn(v, 'stack');
  if (d !== undefined) return hasOwn(d, 'value') ? d.value : undefined;
  return errorStack === undefined ? undefined : errorStack(v);
};
const errorName = v => {
  const n = inheritedValue(v, 'name');
  return typeof n === 'string' ? n : className(v, 'Error') || 'Error';
};
const errorHead = v => {
  const m = inheritedValue(v, 'message');
  const name = errorName(v), message = typeof m === 'string' ? m : '';
  return name === '' ? message : message === '' ? name : name + ': ' + message;
};
const errorBase = (c, v, skip) => {
  const text = stackText(errorHead(v), c.flat ? '' : stackOf(v));
  const n = ownValue(v, 'name');
  skip.name = typeof n === 'string' && indexOf(text, n) >= 0;
  return c.top === v ? '' : text;
};
const causesOf = v => {
  const out = list();
  for (let j = 0; j < 2; j++) {
    const k = j === 0 ? 'cause' : 'errors', d = getOwn(v, k);
    if (d !== undefined && !d.enumerable && hasOwn(d, 'value')) out[out.length] = k;
  }
  return out;
};

// What was thrown, as the console would show it, on one line and without stacks: {error, name, message, shown}. For an
// error, shown is what its name and message do not say: its own properties, cause and errors. A text is its message.
const describe = v => {
  if (typeof v === 'string') return { __proto__: null, error: false, name: undefined, message: v, shown: '' };
  const error = isObject(v) && isErrorLike(v), dom = error && isDOMException(v);
  const c = { __proto__: null, left: 2000, depth: DEPTH, indent: 0, at: 0, seen: list(), cycles: list(), flat: true, top: error ? v : undefined };
  let shown = dom ? '' : format(c, v, 0);
  if (error && shown === '{}') shown = '';
  if (shown.length > 3000) shown = slice(shown, 0, 3000) + more(shown.length - 3000, 'character');
  const name = dom ? domName(v) : error ? errorName(v) : undefined, m = dom ? domMessage(v) : error ? inheritedValue(v, 'message') : undefined;
  return { __proto__: null, error, name, message: error ? typeof m === 'string' ? m : '' : undefined, shown };
};
const isErrorLike = v => {
  if (inspectKind(v) === 'error') return true;
  for (let i = 0; i < 100 && v !== null && inspectKind(v) !== 'proxy'; i++, v = getPrototypeOf(v)) if (v === errorProto) return true;
  return false;
};

// The arguments of one console call as text: printf directives of a leading
// string, then the rest separated by spaces.
const message = args => {
  let out = '', next = 0;
  if (args.length > 0 && typeof args[0] === 'string') {
    const f = args[0];
    next = 1;
    let start = 0;
    for (let i = indexOf(f, '%'); args.length > 1 && i >= 0 && i + 1 < f.length && out.length <= MAX_MESSAGE; i = indexOf(f, '%', i)) {
      const d = f[i + 1];
      let s;
      if (d === '%') s = '%';
      else if (next >= args.length) { i += 2; continue; }
      else {
        const v = args[next];
        switch (d) {
        case 's': s = typeof v === 'string' ? v : isObject(v) ? inspect(v, 0) : primitive({ left: 0 }, v); break;
        case 'd': s = typeof v === 'bigint' ? bigText(v) + 'n' : isObject(v) || typeof v === 'symbol' ? 'NaN' : numberText(+v); break;
        case 'i': s = typeof v === 'bigint' ? bigText(v) + 'n' : isObject(v) || typeof v === 'symbol' ? 'NaN' : numberText(parseInt_(v)); break;
        case 'f': s = isObject(v) || typeof v === 'symbol' ? 'NaN' : numberText(parseFloat_(v)); break;
        case 'j': s = json(v); break;
        case 'o': case 'O': s = inspect(v, DEPTH); break;
        case 'c': s = ''; break;
        default: i += 2; continue;
        }
        next++;
      }
      out += slice(f, start, i) + s;
      i += 2;
      start = i;
    }
    out += start === 0 ? f : slice(f, start);
  }
  for (; next < args.length && out.length <= MAX_MESSAGE; next++) {
    const v = args[next];
    if (next > 0) out += ' ';
    out += typeof v === 'string' ? v : inspect(v, DEPTH);
  }
  return out;
};
const parseInt_ = parseInt, parseFloat_ = parseFloat;
const json = v => {
  try {
    const s = stringify(v);
    return s === undefined ? 'undefined' : s;
  } catch {
    return inspect(v, DEPTH);
  }
};

let groups = '';
const bounded = s => s.length > MAX_MESSAGE ? slice(s, 0, MAX_MESSAGE) + more(s.length - MAX_MESSAGE, 'character') : s;
const print = (level, text) => {
  text = bounded(text);
  nativeLog(level, groups === '' ? text : bounded(groups + replaceAll(text, '\n', '\n' + groups)));
};
const timers = new Map_(), counts = new Map_();
const mapHas = method(Map, 'has'), mapDelete = method(Map, 'delete');
const labelOf = v => v === undefined ? 'default' : slice(isObject(v) ? inspect(v, 0) : String_(v), 0, 1000);
const elapsed = (label, args) => {
  label = labelOf(label);
  if (!mapHas(timers, label)) return print('warn', "no timer '" + label + "': start it with console.time('" + label + "')");
  const rest = message(args);
  print('log', label + ': ' + (now() - mapGet(timers, label)) + 'ms' + (rest === '' ? '' : ' ' + rest));
};
// Rows of a table: the index or key, then a column per property of the rows.
const table = (data, only) => {
  const kind = isObject(data) ? inspectKind(data) : '';
  if (kind === '' || kind === 'proxy') return message([data]);
  const columns = list(), index = { __proto__: null }, rows = list();
  const cell = v => isObject(v) ? inspect(v, 0) : cut(primitive({ left: 0 }, v));
  const column = k => {
    if (index[k] === undefined && columns.length < MAX_ITEMS) {
      index[k] = columns.length;
      columns[columns.length] = k;
    }
    return index[k];
  };
  if (isObject(only) && inspectKind(only) === 'array') {
    const n = ownValue(only, 'length');
    for (let i = 0; i < n && i < MAX_ITEMS; i++) column(cut(String_(ownValue(only, i))));
  } else only = undefined;
  let left = MAX_MESSAGE, values = -1, total = 0;
  const row = (head, v) => {
    total++;
    if (rows.length >= MAX_ITEMS || left <= 0) return;
    const cells = list();
    if (isObject(v) && inspectKind(v) !== 'proxy' && typeof v !== 'function') {
      const k = ownKeys(v);
      for (let i = 0; i < k.length && left > 0; i++) {
        const d = getOwn(v, k[i]);
        if (typeof k[i] !== 'string' || !d.enumerable) continue;
        const at = only === undefined ? column(cut(k[i])) : index[k[i]];
        if (at === undefined) continue;
        cells[at] = hasOwn(d, 'value') ? cell(d.value) : '[Getter]';
        left -= cells[at].length;
      }
      rows[rows.length] = { head, cells, value: undefined };
    } else {
      values = 1;
      const s = cell(v);
      left -= s.length;
      rows[rows.length] = { head, cells, value: s };
    }
  };
  if (kind === 'map') {
    const it = mapEntries(data);
    for (let r = mapNext(it); !r.done; r = mapNext(it)) row(cell(r.value[0]), r.value[1]);
  } else if (kind === 'set') {
    const it = setValues(data);
    for (let r = setNext(it); !r.done; r = setNext(it)) row('' + total, r.value);
  } else {
    const k = ownKeys(data);
    for (let i = 0; i < k.length; i++) {
      const d = getOwn(data, k[i]);
      if (typeof k[i] === 'string' && d.enumerable) row(cut(k[i]), hasOwn(d, 'value') ? d.value : '[Getter]');
    }
  }
  const widths = list(), head = list();
  head[0] = '(index)';
  for (let i = 0; i < columns.length; i++) head[i + 1] = columns[i];
  if (values > 0) head[head.length] = 'Values';
  for (let j = 0; j < head.length; j++) {
    widths[j] = min(head[j].length, 60);
    for (let i = 0; i < rows.length; i++) widths[j] = min(max(widths[j], tableCell(rows[i], j, columns.length).length), 60);
  }
  let out = '', rule = '';
  for (let j = 0; j < head.length; j++) {
    out += (j > 0 ? ' | ' : '') + padEnd(head[j], widths[j]);
    rule += (j > 0 ? '-|-' : '') + repeat('-', widths[j]);
  }
  out += '\n' + rule;
  for (let i = 0; i < rows.length && out.length <= MAX_MESSAGE; i++) {
    out += '\n';
    for (let j = 0; j < head.length; j++) out += (j > 0 ? ' | ' : '') + padEnd(tableCell(rows[i], j, columns.length), widths[j]);
  }
  return total > rows.length ? out + '\n' + more(total - rows.length, 'row') : out;
};
const tableCell = (row, j, columns) =>
  j === 0 ? row.head : j > columns ? (row.value === undefined ? '' : row.value) : hasOwn(row.cells, j - 1) ? row.cells[j - 1] : '';

const console_ = {
  log(...args) { print('log', message(args)); },
  info(...args) { print('info', message(args)); },
  warn(...args) { print('warn', message(args)); },
  error(...args) { print('error', message(args)); },
  debug(...args) { print('debug', message(args)); },
  trace(...args) {
    const text = message(args), stack = stackOf(new Error_());
    const from = typeof stack === 'string' ? indexOf(stack, '    at ') : -1;
    print('log', 'Trace' + (text === '' ? '' : ': ' + text) + (from < 0 ? '' : '\n' + slice(stack, from, lastIndexOf(stack, ')') + 1)));
  },
  dir(value, options) {
    let depth = DEPTH;
    if (isObject(options)) {
      const d = options.depth;
      if (d === null) depth = 20;
      else if (typeof d === 'number') depth = min(max(d, 0), 20);
    }
    print('log', inspect(value, depth));
  },
  table(data, columns) { print('log', table(data, columns)); },
  group(...args) {
    if (args.length > 0) print('log', message(args));
    if (groups.length < 40) groups += '  ';
  },
  groupEnd() { groups = slice(groups, 2); },
  time(label) { mapSet(timers, labelOf(label), now()); },
  timeLog(label, ...args) { elapsed(label, args); },
  timeEnd(label) {
    elapsed(label, []);
    mapDelete(timers, labelOf(label));
  },
  count(label) {
    label = labelOf(label);
    const n = (mapHas(counts, label) ? mapGet(counts, label) : 0) + 1;
    mapSet(counts, label, n);
    print('log', label + ': ' + n);
  },
  countReset(label) { mapDelete(counts, labelOf(label)); },
  assert(ok, ...args) {
    if (ok) return;
    if (args.length > 0 && typeof args[0] === 'string') args[0] = 'Assertion failed: ' + args[0];
    print('error', args.length === 0 ? 'Assertion failed' : typeof args[0] === 'string' ? message(args) : 'Assertion failed ' + message(args));
  },
};
hidden(console_, 'groupCollapsed', console_.group);
hidden(console_, 'dirxml', console_.log);
defineProperty(console_, symTag, { __proto__: null, value: 'console', configurable: true });
hidden(global, 'console', console_);

// ---- structuredClone ----

const cloneable = { __proto__: null, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
const viewClasses = { __proto__: null };
{
  const C = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array,
    Float64Array, BigInt64Array, BigUint64Array, global.Float16Array];
  for (let i = 0; i < C.length; i++) if (C[i]) viewClasses[C[i].name] = C[i];
}
const objectProto = Object.prototype, arrayProto = Array.prototype;
const notCloneable = what => fail('DataCloneError', what + ' could not be cloned.');
const copyBuffer = b => {
  if (bufferDetached !== undefined && bufferDetached(b)) notCloneable('A detached ArrayBuffer');
  const n = bufferBytes(b);
  const copy = bufferResizable !== undefined && bufferResizable(b)
    ? new ArrayBuffer_(n, { __proto__: null, maxByteLength: bufferMax(b) }) : new ArrayBuffer_(n);
  arraySet(new Uint8Array_(copy), new Uint8Array_(b));
  return copy;
};

const clone = (memo, v) => {
  if (!isObject(v)) return typeof v === 'symbol' ? notCloneable(cut(symbolToString(v))) : v;
  const known = mapGet(memo, v);
  if (known !== undefined) return known;
  const kind = inspectKind(v);
  let copy;
  const keep = o => {
    mapSet(memo, v, o);
    return o;
  };
  switch (kind) {
  case 'boxed': {
    const type = boxedType(v);
    return type === 'Symbol' ? notCloneable('Object(Symbol())') : keep(Object_(unbox[type](v)));
  }
  case 'date': return keep(new Date_(dateTime(v)));
  case 'regexp': return keep(new RegExp_(regexpSource(v), flagsOf(v)));
  case 'arraybuffer': return keep(copyBuffer(v));
  case 'typedarray': {
    const type = viewTag(v);
    if (type === undefined) {
      const n = dataBytes(v), offset = dataOffset(v);
      return keep(new DataView_(clone(memo, dataBuffer(v)), offset, n));
    }
    const buffer = arrayBuffer(v), offset = arrayOffset(v), n = arrayLength(v);
    return keep(new viewClasses[type](clone(memo, buffer), offset, n));
  }
  case 'map': {
    copy = keep(new Map_());
    const entries = list(), it = mapEntries(v);
    for (let r = mapNext(it); !r.done; r = mapNext(it)) entries[entries.length] = r.value;
    for (let i = 0; i < entries.length; i++) {
      const k = clone(memo, entries[i][0]);
      mapSet(copy, k, clone(memo, entries[i][1]));
    }
    return copy;
  }
  case 'set': {
    copy = keep(new Set_());
    const items = list(), it = setValues(v);
    for (let r = setNext(it); !r.done; r = setNext(it)) items[items.length] = r.value;
    for (let i = 0; i < items.length; i++) setAdd(copy, clone(memo, items[i]));
    return copy;
  }
  case 'error': {
    const name = inheritedValue(v, 'name'), C = typeof name === 'string' && cloneable[name] || Error_;
    copy = keep(new C());
    const message = getOwn(v, 'message'), cause = getOwn(v, 'cause'), stack = stackOf(v);
    if (message !== undefined && hasOwn(message, 'value')) hidden(copy, 'message', str(message.value));
    if (typeof stack === 'string') hidden(copy, 'stack', stack);
    if (cause !== undefined && hasOwn(cause, 'value')) hidden(copy, 'cause', clone(memo, cause.value));
    return copy;
  }
  case 'array':
    copy = keep(list());
    copy.length = v.length;
    copyProperties(memo, v, copy);
    return setPrototypeOf(copy, arrayProto);
  case 'object':
    if (isDOMException(v)) return keep(new DOMException_(domMessage(v), domName(v)));
    copy = keep({ __proto__: null });
    copyProperties(memo, v, copy);
    return setPrototypeOf(copy, objectProto);
  case 'function': return notCloneable(functionBase(v));
  default: return notCloneable('[' + className(v, kind) + ']');
  }
};
// The copy has no prototype yet, so plain assignment makes own properties.
const copyProperties = (memo, v, copy) => {
  const names = objectKeys(v);
  for (let i = 0; i < names.length; i++) {
    const k = names[i];
    if (hasOwn(v, k)) copy[k] = clone(memo, v[k]);
  }
};
hidden(global, 'structuredClone', function structuredClone(value, options = undefined) {
  if (arguments.length === 0) throw new TypeError_('structuredClone needs a value');
  const memo = new Map_(), moved = list(), given = options === undefined || options === null ? undefined : options.transfer;
  if (given !== undefined) {
    for (const b of given) {
      if (!isObject(b) || inspectKind(b) !== 'arraybuffer') notCloneable('A value in transfer that is not an ArrayBuffer');
      if (mapGet(memo, b) !== undefined || bufferDetached(b)) notCloneable('An ArrayBuffer that is detached or twice in transfer');
      mapSet(memo, b, b);
      moved[moved.length] = b;
    }
    // The clone is made of the copies; the originals are emptied when it succeeded.
    for (let i = 0; i < moved.length; i++) mapSet(memo, moved[i], copyBuffer(moved[i]));
  }
  const copy = clone(memo, value);
  for (let i = 0; i < moved.length; i++) if (!bufferDetached(moved[i])) bufferTransfer(moved[i]);
  return copy;
});

// ---- text ----

const encodingOf = { __proto__: null };
{
  const labels = [
    'utf-8', 'utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8',
    'utf-16le', 'utf-16le utf-16 ucs-2 unicode csunicode iso-10646-ucs-2 unicodefeff',
    'windows-1252', 'windows-1252 latin1 l1 ascii us-ascii iso-8859-1 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 ' +
      'ansi_x3.4-1968 cp1252 cp819 csisolatin1 ibm819 iso-ir-100 x-cp1252',
  ];
  for (let i = 0; i < labels.length; i += 2) {
    const l = labels[i + 1].split(' ');
    for (let j = 0; j < l.length; j++) encodingOf[l[j]] = labels[i];
  }
}
// What windows-1252 has at 0x80 to 0x9f.
const CP1252 = '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
  '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';

const isSpace = c => c === 32 || (c >= 9 && c <= 13 && c !== 11);
const trimmed = s => {
  let a = 0, b = s.length;
  while (a < b && isSpace(charCodeAt(s, a))) a++;
  while (b > a && isSpace(charCodeAt(s, b - 1))) b--;
  return slice(s, a, b);
};
// Text of n code units, in pieces that an argument list can hold.
const unitsToString = (n, unit) => {
  let out = '';
  for (let i = 0; i < n; i += 4096) {
    const part = list(), end = min(n, i + 4096);
    for (let j = i; j < end; j++) part[j - i] = unit(j);
    out += apply(fromCharCode, undefined, part);
  }
  return out;
};
// How many bytes at the end of b begin a UTF-8 character that is not complete.
const unfinished = (b, n) => {
  for (let k = 1; k <= 3 && k <= n; k++) {
    const c = b[n - k];
    if ((c & 0xc0) === 0x80) continue;
    const need = c >= 0xc2 && c <= 0xdf ? 2 : c >= 0xe0 && c <= 0xef ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (need <= k) return 0;
    if (k > 1) {
      const d = b[n - k + 1];
      if ((c === 0xe0 && d < 0xa0) || (c === 0xed && d > 0x9f) || (c === 0xf0 && d < 0x90) || (c === 0xf4 && d > 0x8f)) return 0;
    }
    return k;
  }
  return 0;
};
const concatBytes = (a, b) => {
  const n = arrayLength(a), out = new Uint8Array_(n + arrayLength(b));
  arraySet(out, a);
  arraySet(out, b, n);
  return out;
};
const noBytes = new Uint8Array_(0);
const invalid = name => { throw new TypeError_('the encoded data is not valid ' + name); };

class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return utf8Encode(str(text)); }
  encodeInto(source, target) {
    const text = str(source);
    if (!isObject(target) || !isView(target) || viewTag(target) !== 'Uint8Array') throw new TypeError_('encodeInto needs a Uint8Array to write to');
    const room = arrayLength(target);
    let read = min(text.length, room), bytes = utf8Encode(slice(text, 0, read));
    if (read < text.length || arrayLength(bytes) > room) {
      // As many whole characters as fit.
      let used = 0;
      read = 0;
      while (read < text.length) {
        const c = codePointAt(text, read), need = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        if (used + need > room) break;
        used += need;
        read += need === 4 ? 2 : 1;
      }
      bytes = utf8Encode(slice(text, 0, read));
    }
    arraySet(target, bytes);
    return { read, written: arrayLength(bytes) };
  }
}

class TextDecoder {
  #encoding; #fatal; #ignoreBOM;
  #pending = noBytes; #started = false;
  constructor(label = 'utf-8', options = undefined) {
    const name = encodingOf[toLower(trimmed(label = str(label)))];
    if (name === undefined) throw new RangeError_("the encoding '" + label + "' is not supported: use utf-8, utf-16le or windows-1252");
    this.#encoding = name;
    this.#fatal = !!(options && options.fatal);
    this.#ignoreBOM = !!(options && options.ignoreBOM);
  }
  get encoding() { return this.#encoding; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBOM; }
  decode(input = undefined, options = undefined) {
    const stream = !!(options && options.stream);
    let bytes = noBytes;
    if (input !== undefined) {
      bytes = bytesOf(input);
      if (bytes === undefined) throw new TypeError_('decode needs an ArrayBuffer or a view of one');
    }
    if (this.#encoding === 'windows-1252') {
      const b = bytes;
      return unitsToString(arrayLength(b), i => b[i] >= 0x80 && b[i] < 0xa0 ? charCodeAt(CP1252, b[i] - 0x80) : b[i]);
    }
    if (arrayLength(this.#pending) > 0) bytes = concatBytes(this.#pending, bytes);
    const n = arrayLength(bytes), wide = this.#encoding === 'utf-16le';
    let hold = 0;
    if (stream) {
      hold = wide ? n % 2 : unfinished(bytes, n);
      if (wide && n >= 2 && (bytes[n - hold - 1] & 0xfc) === 0xd8) hold += 2;
    }
    const end = n - hold, body = hold === 0 ? bytes : new Uint8Array_(arrayBuffer(bytes), arrayOffset(bytes), end);
    const keepBOM = this.#ignoreBOM || this.#started;
    // The state is settled first: a fatal error leaves a decoder that starts anew.
    this.#pending = noBytes;
    this.#started = false;
    let text;
    if (wide) {
      const odd = end % 2;
      text = unitsToString((end - odd) / 2, i => body[2 * i] | body[2 * i + 1] << 8);
      if (odd) {
        // The lone byte and a high surrogate before it are one error.
        if (text.length > 0 && (charCodeAt(text, text.length - 1) & 0xfc00) === 0xd800) text = slice(text, 0, text.length - 1);
        text += '\udfff';
      }
      if (!isWellFormed(text)) {
        if (this.#fatal) invalid('UTF-16');
        text = toWellFormed(text);
      }
      if (!keepBOM && text.length > 0 && charCodeAt(text, 0) === 0xfeff) text = slice(text, 1);
    } else {
      text = utf8Decode(body, this.#fatal, keepBOM);
    }
    if (stream) {
      this.#started = keepBOM && !this.#ignoreBOM || end > 0;
      if (hold > 0) {
        this.#pending = new Uint8Array_(hold);
        for (let i = 0; i < hold; i++) this.#pending[i] = bytes[end + i];
      }
    }
    return text;
  }
}

// ---- crypto ----

const crypto_ = {
  randomUUID() {
    const b = new Uint8Array_(16);
    randomFill(b);
    b[6] = b[6] & 0x0f | 0x40;
    b[8] = b[8] & 0x3f | 0x80;
    let s = '';
    for (let i = 0; i < 16; i++) s += (i === 4 || i === 6 || i === 8 || i === 10 ? '-' : '') + hex(b[i], 2);
    return s;
  },
  getRandomValues(array) {
    const type = isObject(array) && isView(array) ? viewTag(array) : undefined;
    if (type === undefined || slice(type, 0, 5) === 'Float') fail('TypeMismatchError', 'getRandomValues needs a typed array of integers');
    const n = arrayBytes(array);
    if (n > 65536) fail('QuotaExceededError', 'getRandomValues fills at most 65536 bytes at a time, not ' + n);
    randomFill(bytesOf(array));
    return array;
  },
};
defineProperty(crypto_, symTag, { __proto__: null, value: 'Crypto', configurable: true });
hidden(global, 'crypto', crypto_);

// ---- events ----

let setTarget, setCurrent, isStopped, isPassive;
class Event {
  #type; #bubbles; #cancelable; #composed; #prevented = false; #stopped = false; #target = null; #current = null; #passive = false;
  #time = now();
  constructor(type, init = undefined) {
    if (arguments.length === 0) throw new TypeError_('an Event needs a type');
    this.#type = str(type);
    this.#bubbles = !!(init && init.bubbles);
    this.#cancelable = !!(init && init.cancelable);
    this.#composed = !!(init && init.composed);
  }
  static {
    setTarget = (e, t) => { e.#target = t; e.#stopped = false; };
    setCurrent = (e, t, passive) => { e.#current = t; e.#passive = passive; };
    isStopped = e => e.#stopped;
  }
  get type() { return this.#type; }
  get target() { return this.#target; }
  get currentTarget() { return this.#current; }
  get bubbles() { return this.#bubbles; }
  get cancelable() { return this.#cancelable; }
  get composed() { return this.#composed; }
  get defaultPrevented() { return this.#prevented; }
  get timeStamp() { return this.#time; }
  get eventPhase() { return this.#current === null ? 0 : 2; }
  get isTrusted() { return false; }
  composedPath() { return this.#current === null ? [] : [this.#current]; }
  preventDefault() { if (this.#cancelable && !this.#passive) this.#prevented = true; }
  stopPropagation() { this.#type; }
  stopImmediatePropagation() { this.#stopped = true; }
}
const eventType = getter(Event.prototype, 'type'), eventCurrent = getter(Event.prototype, 'currentTarget');
const eventPrevented = getter(Event.prototype, 'defaultPrevented');

let listen, dispatch;
class EventTarget {
  #listeners = list();
  static {
    listen = (target, l) => {
      const all = target.#listeners;
      for (let i = 0; i < all.length; i++) {
        if (all[i].type === l.type && all[i].callback === l.callback && all[i].capture === l.capture) return;
      }
      all[all.length] = l;
    };
    dispatch = (target, event) => {
      const all = target.#listeners, now = list(), type = eventType(event);
      for (let i = 0; i < all.length; i++) if (all[i].type === type) now[now.length] = all[i];
      setTarget(event, target);
      for (let i = 0; i < now.length && !isStopped(event); i++) {
        const l = now[i];
        if (l.removed) continue;
        if (l.once) drop(target.#listeners, l);
        setCurrent(event, target, l.passive);
        try {
          if (typeof l.callback === 'function') apply(l.callback, target, [event]);
          else {
            const handle = l.callback.handleEvent;
            if (typeof handle !== 'function') throw new TypeError_('the event listener has no handleEvent method');
            apply(handle, l.callback, [event]);
          }
        } catch (e) {
          print('error', "Uncaught in a listener of '" + type + "': " + inspect(e, DEPTH));
        }
      }
      setCurrent(event, null, false);
      return !eventPrevented(event);
    };
  }
  addEventListener(type, callback, options = undefined) {
    const o = isObject(options) ? options : { __proto__: null, capture: options };
    const l = { __proto__: null, type: str(type), callback, capture: !!o.capture, once: !!o.once, passive: !!o.passive, removed: false };
    const signal = o.signal;
    if (signal !== undefined && !isSignal(signal)) throw new TypeError_('the option signal of addEventListener must be an AbortSignal');
    this.#listeners.length;
    if (callback === null || callback === undefined) return;
    if (!isObject(callback)) throw new TypeError_('an event listener is a function or an object with handleEvent');
    if (signal !== undefined) {
      if (reasonOf(signal) !== NOT_ABORTED) return;
      whenAborted(signal, () => drop(this.#listeners, l));
    }
    listen(this, l);
  }
  removeEventListener(type, callback, options = undefined) {
    const capture = isObject(options) ? !!options.capture : !!options, all = this.#listeners;
    type = str(type);
    for (let i = 0; i < all.length; i++) {
      if (all[i].type === type && all[i].callback === callback && all[i].capture === capture) return drop(all, all[i]);
    }
  }
  dispatchEvent(event) {
    if (eventCurrent(event) !== null) fail('InvalidStateError', 'the event is being dispatched already');
    return dispatch(this, event);
  }
}
const drop = (all, l) => {
  let n = 0;
  for (let i = 0; i < all.length; i++) if (all[i] !== l) all[n++] = all[i];
  all.length = n;
  l.removed = true;
};

const NOT_ABORTED = { __proto__: null }, INTERNAL = { __proto__: null };
let reasonOf, isSignal, whenAborted, abort;
class AbortSignal extends EventTarget {
  #reason = NOT_ABORTED; #then = list(); #handler = null;
  constructor(key) {
    if (key !== INTERNAL) throw new TypeError_('an AbortSignal is made by an AbortController, AbortSignal.abort, timeout or any');
    super();
  }
  static {
    isSignal = s => isObject(s) && #reason in s;
    reasonOf = s => s.#reason;
    whenAborted = (s, f) => { s.#then[s.#then.length] = f; };
    abort = (s, reason) => {
      if (s.#reason !== NOT_ABORTED) return;
      s.#reason = reason === undefined ? new DOMException_('This operation was aborted', 'AbortError') : reason;
      const then = s.#then;
      s.#then = list();
      for (let i = 0; i < then.length; i++) then[i](s.#reason);
      dispatch(s, new Event('abort'));
    };
  }
  static abort(reason = undefined) {
    const s = new AbortSignal(INTERNAL);
    abort(s, reason);
    return s;
  }
  static timeout(ms) {
    const { setTimeout } = global;
    ms = +ms;
    if (!(ms >= 0 && ms <= 9007199254740991)) throw new TypeError_('AbortSignal.timeout needs a number of milliseconds');
    if (typeof setTimeout !== 'function') throw new TypeError_('AbortSignal.timeout needs setTimeout, which is not there');
    const s = new AbortSignal(INTERNAL);
    setTimeout(() => abort(s, new DOMException_('The operation was aborted due to timeout', 'TimeoutError')), ms);
    return s;
  }
  static any(signals) {
    const all = list(), s = new AbortSignal(INTERNAL);
    for (const x of signals) {
      if (!isSignal(x)) throw new TypeError_('AbortSignal.any needs a list of AbortSignals');
      all[all.length] = x;
    }
    for (let i = 0; i < all.length; i++) {
      if (reasonOf(all[i]) !== NOT_ABORTED) {
        abort(s, reasonOf(all[i]));
        return s;
      }
    }
    for (let i = 0; i < all.length; i++) whenAborted(all[i], reason => abort(s, reason));
    return s;
  }
  get aborted() { return this.#reason !== NOT_ABORTED; }
  get reason() { return this.#reason === NOT_ABORTED ? undefined : this.#reason; }
  throwIfAborted() { if (this.#reason !== NOT_ABORTED) throw this.#reason; }
  get onabort() { return this.#handler === null ? null : this.#handler.call; }
  set onabort(f) {
    if (typeof f !== 'function') f = null;
    if (this.#handler === null) {
      if (f === null) return;
      const h = this.#handler = { __proto__: null, call: f };
      const callback = function (event) { if (h.call !== null) apply(h.call, this, [event]); };
      listen(this, { __proto__: null, type: 'abort', callback, capture: false, once: false, passive: false, removed: false });
    } else this.#handler.call = f;
  }
}

class AbortController {
  #signal = new AbortSignal(INTERNAL);
  get signal() { return this.#signal; }
  abort(reason = undefined) { abort(this.#signal, reason); }
}

// ---- URL (url.spec.whatwg.org) ----

// Which ASCII characters are percent-encoded where; all others outside printable ASCII always are.
const FRAGMENT = 1, QUERY = 2, SPECIAL_QUERY = 4, PATH = 8, USERINFO = 16, FORM = 32, HOST = 64, DOMAIN = 128;
const sets = new Uint8Array(128);
{
  const mark = (chars, bits) => { for (let i = 0; i < chars.length; i++) sets[chars.charCodeAt(i)] |= bits; };
  mark(' "<>`', FRAGMENT);
  mark(' "#<>', QUERY | SPECIAL_QUERY | PATH | USERINFO);
  mark("'", SPECIAL_QUERY);
  mark('?^`{}', PATH | USERINFO);
  mark("/:;=@[\\]|", USERINFO);
  for (let c = 0; c < 128; c++) if (!/[a-zA-Z0-9*\-._]/.test(String.fromCharCode(c))) sets[c] |= FORM;
  mark('\0\t\n\r #/:<>?@[\\]^|', HOST | DOMAIN);
  mark('%\x7f', DOMAIN);
  for (let c = 0; c < 32; c++) sets[c] |= DOMAIN;
}
const specialPorts = { __proto__: null, 'http:': 80, 'https:': 443, 'ws:': 80, 'wss:': 443, 'ftp:': 21, 'file:': null };
// s[i], or '' outside: an index that is not there would be looked up on String.prototype.
const at = (s, i) => i >= 0 && i < s.length ? s[i] : '';
const isSpecial = u => specialPorts[u.scheme] !== undefined;
const isDigit = c => c >= 48 && c <= 57;
const isAlpha = c => (c | 32) >= 97 && (c | 32) <= 122;
const hexDigit = c => isDigit(c) ? c - 48 : (c | 32) >= 97 && (c | 32) <= 102 ? (c | 32) - 87 : -1;
const isAscii = s => {
  for (let i = 0; i < s.length; i++) if (charCodeAt(s, i) > 127) return false;
  return true;
};
const anyIn = (s, set) => {
  for (let i = 0; i < s.length; i++) {
    const c = charCodeAt(s, i);
    if (c < 128 && sets[c] & set) return true;
  }
  return false;
};
// With set 0 only what is not printable ASCII is encoded.
const encode = (s, set) => {
  let out = '', start = 0;
  for (let i = 0; i < s.length; i++) {
    const c = charCodeAt(s, i);
    if (c > 31 && c < 127 && !(sets[c] & set)) continue;
    let end = i + 1;
    while (end < s.length && charCodeAt(s, end) > 127) end++;
    out += slice(s, start, i);
    if (c === 32 && set === FORM && end === i + 1) out += '+';
    else {
      const b = utf8Encode(slice(s, i, end)), n = arrayLength(b);
      for (let j = 0; j < n; j++) out += '%' + HEX[b[j] >> 4] + HEX[b[j] & 15];
    }
    start = end;
    i = end - 1;
  }
  return start === 0 ? s : out + slice(s, start);
};
// Percent-decodes to text; plus says whether + is a space, as in forms.
const decode = (s, plus) => {
  if (indexOf(s, '%') < 0 && isWellFormed(s)) return plus ? replaceAll(s, '+', ' ') : s;
  const b = utf8Encode(s), n = arrayLength(b);
  let k = 0;
  for (let i = 0; i < n; i++) {
    let c = b[i];
    if (c === 37 && i + 2 < n) {
      const h = hexDigit(b[i + 1]), l = hexDigit(b[i + 2]);
      if (h >= 0 && l >= 0) {
        c = h << 4 | l;
        i += 2;
      }
    } else if (c === 43 && plus) c = 32;
    b[k++] = c;
  }
  return utf8Decode(new Uint8Array_(arrayBuffer(b), arrayOffset(b), k), false, true);
};
const splitOn = (s, sep) => {
  const out = list();
  let start = 0;
  for (let i = indexOf(s, sep); i >= 0; i = indexOf(s, sep, start)) {
    out[out.length] = slice(s, start, i);
    start = i + 1;
  }
  out[out.length] = slice(s, start);
  return out;
};

// Host parsers return text, or undefined for a host that is not valid.

const parseHost = (s, special) => {
  if (at(s, 0) === '[') return at(s, s.length - 1) === ']' ? parseIPv6(slice(s, 1, s.length - 1)) : undefined;
  if (!special) return anyIn(s, HOST) ? undefined : encode(s, 0);
  const domain = toAscii(decode(s, false));
  if (domain === undefined || domain === '' || anyIn(domain, DOMAIN)) return undefined;
  return endsInNumber(domain) ? parseIPv4(domain) : domain;
};

// Not all of UTS 46: NFKC and lower case stand for its mapping table, and what
// has no place in a name (controls, unassigned, spaces, a leading mark) is refused.
const ignored = /^[\u00ad\u034f\u180b-\u180f\u200b\u2060\u2064\ufe00-\ufe0f\ufeff]$/;
const misplaced = /[\p{C}\p{Z}\ufffd]/u, leadingMark = /^\p{M}/u;
const toAscii = s => {
  if (!isAscii(s)) {
    let mapped = '';
    for (let i = 0; i < s.length;) {
      const ch = fromCodePoint(codePointAt(s, i));
      i += ch.length;
      // One by one, because a word's last sigma is lowered otherwise.
      if (exec(ignored, ch) === null) mapped += toLower(ch);
    }
    s = toLower(normalize(mapped, 'NFKC'));
    s = replaceAll(normalize(s, 'NFC'), '\u3002', '.');
  }
  const labels = splitOn(s, '.');
  for (let i = 0; i < labels.length; i++) {
    let l = toLower(labels[i]);
    const ascii = isAscii(l);
    if (slice(l, 0, 4) === 'xn--') {
      if (!ascii || l.length === 4 || l[l.length - 1] === '-') return undefined;
    } else if (!ascii) {
      if (exec(misplaced, l) !== null || exec(leadingMark, l) !== null) return undefined;
      l = 'xn--' + punycode(l);
    }
    labels[i] = l;
  }
  return join(labels, '.');
};

// RFC 3492, section 6.3.
const punycode = s => {
  const points = list();
  let out = '';
  for (let i = 0; i < s.length;) {
    const c = codePointAt(s, i);
    points[points.length] = c;
    if (c < 128) out += s[i];
    i += c > 0xffff ? 2 : 1;
  }
  const basic = out.length;
  let n = 128, delta = 0, bias = 72, h = basic;
  if (basic > 0) out += '-';
  const digit = d => fromCharCode(d < 26 ? d + 97 : d + 22);
  while (h < points.length) {
    let m = 0x7fffffff;
    for (let i = 0; i < points.length; i++) if (points[i] >= n && points[i] < m) m = points[i];
    delta += (m - n) * (h + 1);
    n = m;
    for (let i = 0; i < points.length; i++) {
      if (points[i] < n) delta++;
      if (points[i] !== n) continue;
      let q = delta;
      for (let k = 36; ; k += 36) {
        const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (q < t) break;
        out += digit(t + (q - t) % (36 - t));
        q = floor((q - t) / (36 - t));
      }
      out += digit(q);
      let d = h === basic ? floor(delta / 700) : delta >> 1;
      d += floor(d / (h + 1));
      let k = 0;
      for (; d > 455; k += 36) d = floor(d / 35);
      bias = k + floor(36 * d / (d + 38));
      delta = 0;
      h++;
    }
    delta++;
    n++;
  }
  return out;
};

// A part of an IPv4 address: decimal, 0x hexadecimal or 0 octal; NaN if it is none.
const parseNumber = s => {
  if (s === '') return NaN_;
  let radix = 10;
  if (s[0] === '0' && s.length > 1) {
    radix = (charCodeAt(s, 1) | 32) === 120 ? 16 : 8;
    s = slice(s, radix === 16 ? 2 : 1);
  }
  let n = 0;
  for (let i = 0; i < s.length; i++) {
    const d = hexDigit(charCodeAt(s, i));
    if (d < 0 || d >= radix) return NaN_;
    n = n * radix + d;
  }
  return n;
};
const NaN_ = NaN;
const endsInNumber = s => {
  const parts = splitOn(s, '.');
  if (parts[parts.length - 1] === '') {
    if (parts.length === 1) return false;
    parts.length--;
  }
  const last = parts[parts.length - 1];
  if (last === '') return false;
  for (let i = 0; i < last.length; i++) {
    if (!isDigit(charCodeAt(last, i))) {
      const n = parseNumber(last);
      return n === n;
    }
  }
  return true;
};
const parseIPv4 = s => {
  const parts = splitOn(s, '.');
  if (parts[parts.length - 1] === '' && parts.length > 1) parts.length--;
  if (parts.length > 4) return undefined;
  let ip = 0;
  for (let i = 0; i < parts.length; i++) {
    const n = parseNumber(parts[i]), last = i === parts.length - 1;
    if (!(n < (last ? 256 ** (5 - parts.length) : 256))) return undefined;
    ip += last ? n : n * 256 ** (3 - i);
  }
  return floor(ip / 16777216) + '.' + (floor(ip / 65536) % 256) + '.' + (floor(ip / 256) % 256) + '.' + (ip % 256);
};
const parseIPv6 = s => {
  const ip = new Uint16Array_(8);
  let piece = 0, compress = -1, i = 0;
  const code = k => k < s.length ? charCodeAt(s, k) : -1;
  if (code(0) === 58) {
    if (code(1) !== 58) return undefined;
    i = 2;
    compress = ++piece;
  }
  while (i < s.length) {
    if (piece === 8) return undefined;
    if (code(i) === 58) {
      if (compress >= 0) return undefined;
      i++;
      compress = ++piece;
      continue;
    }
    let value = 0, n = 0;
    for (; n < 4 && hexDigit(code(i)) >= 0; n++) value = value * 16 + hexDigit(code(i++));
    if (code(i) === 46) {
      if (n === 0) return undefined;
      i -= n;
      if (piece > 6) return undefined;
      let seen = 0;
      while (i < s.length) {
        if (seen > 0) {
          if (code(i) !== 46 || seen >= 4) return undefined;
          i++;
        }
        if (!isDigit(code(i))) return undefined;
        let v = -1;
        for (; isDigit(code(i)); i++) {
          const d = code(i) - 48;
          if (v < 0) v = d;
          else if (v === 0) return undefined;
          else v = v * 10 + d;
          if (v > 255) return undefined;
        }
        ip[piece] = ip[piece] * 256 + v;
        seen++;
        if (seen === 2 || seen === 4) piece++;
      }
      if (seen !== 4) return undefined;
      break;
    }
    if (code(i) === 58) {
      if (++i === s.length) return undefined;
    } else if (i < s.length) return undefined;
    ip[piece++] = value;
  }
  if (compress >= 0) {
    let swaps = piece - compress;
    piece = 7;
    for (; piece !== 0 && swaps > 0; piece--, swaps--) {
      const k = compress + swaps - 1, v = ip[k];
      ip[k] = ip[piece];
      ip[piece] = v;
    }
  } else if (piece !== 8) return undefined;
  // The first longest run of at least two zeros becomes ::.
  let from = -1, run = 1;
  for (let a = 0; a < 8; a++) {
    let b = a;
    while (b < 8 && ip[b] === 0) b++;
    if (b - a > run) {
      from = a;
      run = b - a;
    }
    if (b > a) a = b;
  }
  let out = '[';
  for (let a = 0; a < 8; a++) {
    if (a === from) {
      out += a === 0 ? '::' : ':';
      a += run - 1;
      continue;
    }
    out += hex(ip[a]);
    if (a < 7) out += ':';
  }
  return out + ']';
};

const isWindowsLetter = s => s.length === 2 && isAlpha(charCodeAt(s, 0)) && (s[1] === ':' || s[1] === '|');
const startsWindowsLetter = (s, i) => {
  if (s.length < i + 2 || !isWindowsLetter(slice(s, i, i + 2))) return false;
  const c = s.length > i + 2 ? s[i + 2] : '/';
  return c === '/' || c === '\\' || c === '?' || c === '#';
};
const shorten = u => {
  const p = u.path;
  if (u.scheme === 'file:' && p.length === 1 && isWindowsLetter(p[0]) && p[0][1] === ':') return;
  if (p.length > 0) p.length--;
};
const dots = s => {
  const t = replaceAll(toLower(s), '%2e', '.');
  return t === '.' ? 1 : t === '..' ? 2 : 0;
};
const copyPath = p => {
  if (typeof p === 'string') return p;
  const out = list();
  for (let i = 0; i < p.length; i++) out[i] = p[i];
  return out;
};
const cannotHaveCredentials = u => u.host === null || u.host === '' || u.scheme === 'file:';
const newURL = () => ({ __proto__: null, scheme: '', username: '', password: '', host: null, port: null, path: list(), query: null, fragment: null });

const pathEnd = (s, i, special, override) => {
  for (; i < s.length; i++) {
    const c = s[i];
    if (c === '/' || (special && c === '\\') || (!override && (c === '?' || c === '#'))) break;
  }
  return i;
};

// The basic URL parser: states are the standard's. Without override it returns
// a record or undefined. With override (a state to start in, for the setters) it
// changes u and returns false if the new part is not valid.
const parse = (s, base, u, override) => {
  let a = 0, b = s.length;
  if (!override) {
    while (a < b && charCodeAt(s, a) <= 32) a++;
    while (b > a && charCodeAt(s, b - 1) <= 32) b--;
    s = slice(s, a, b);
    u = newURL();
  }
  s = replaceAll(replaceAll(replaceAll(s, '\t', ''), '\n', ''), '\r', '');
  if (!isWellFormed(s)) s = toWellFormed(s);
  const none = override ? false : undefined, done = override ? true : u;
  let state = override || 'scheme', i = 0;

  for (;;) switch (state) {
  case 'scheme': {
    let k = 0;
    if (s.length > 0 && isAlpha(charCodeAt(s, 0))) {
      for (k = 1; k < s.length; k++) {
        const c = charCodeAt(s, k);
        if (!isAlpha(c) && !isDigit(c) && c !== 43 && c !== 45 && c !== 46) break;
      }
    }
    if (k === 0 || at(s, k) !== ':') {
      if (override) return false;
      state = 'no scheme';
      break;
    }
    const scheme = toLower(slice(s, 0, k)) + ':';
    if (override) {
      if ((specialPorts[scheme] !== undefined) !== isSpecial(u)) return true;
      if ((u.username !== '' || u.password !== '' || u.port !== null) && scheme === 'file:') return true;
      if (u.scheme === 'file:' && u.host === '') return true;
      u.scheme = scheme;
      if (u.port === specialPorts[scheme]) u.port = null;
      return true;
    }
    u.scheme = scheme;
    i = k + 1;
    if (scheme === 'file:') state = 'file';
    else if (isSpecial(u)) {
      if (base && base.scheme === scheme) state = at(s, i) === '/' && at(s, i + 1) === '/' ? 'slashes' : 'relative';
      else state = 'slashes';
    } else if (at(s, i) === '/') {
      i++;
      state = 'path or authority';
    } else {
      u.path = '';
      state = 'opaque path';
    }
    break;
  }
  case 'no scheme':
    if (!base) return undefined;
    if (typeof base.path === 'string') {
      if (at(s, 0) !== '#') return undefined;
      u.scheme = base.scheme;
      u.path = base.path;
      u.query = base.query;
      u.fragment = '';
      i = 1;
      state = 'fragment';
    } else {
      i = 0;
      state = base.scheme === 'file:' ? 'file' : 'relative';
    }
    break;
  case 'path or authority':
    if (at(s, i) === '/') {
      i++;
      state = 'authority';
    } else state = 'path';
    break;
  case 'relative': {
    u.scheme = base.scheme;
    const c = at(s, i);
    if (c === '/' || (c === '\\' && isSpecial(u))) {
      i++;
      if (at(s, i) === '/' || (at(s, i) === '\\' && isSpecial(u))) {
        i++;
        state = isSpecial(u) ? 'slashes' : 'authority';
      } else {
        u.username = base.username;
        u.password = base.password;
        u.host = base.host;
        u.port = base.port;
        state = 'path';
      }
      break;
    }
    u.username = base.username;
    u.password = base.password;
    u.host = base.host;
    u.port = base.port;
    u.path = copyPath(base.path);
    u.query = base.query;
    if (c === '?') {
      u.query = '';
      i++;
      state = 'query';
    } else if (c === '#') {
      u.fragment = '';
      i++;
      state = 'fragment';
    } else if (i < s.length) {
      u.query = null;
      shorten(u);
      state = 'path';
    } else return done;
    break;
  }
  case 'slashes':
    while (at(s, i) === '/' || at(s, i) === '\\') i++;
    state = 'authority';
    break;
  case 'authority': {
    const special = isSpecial(u), end = authorityEnd(s, i, special), sign = lastIndexOf(slice(s, i, end), '@');
    if (sign >= 0) {
      const cred = slice(s, i, i + sign), colon = indexOf(cred, ':');
      u.username = encode(colon < 0 ? cred : slice(cred, 0, colon), USERINFO);
      if (colon >= 0) u.password = encode(slice(cred, colon + 1), USERINFO);
      i += sign + 1;
      if (i === end) return undefined;
    }
    state = 'host';
    break;
  }
  case 'host': case 'hostname': {
    if (override && u.scheme === 'file:') {
      state = 'file host';
      break;
    }
    const special = isSpecial(u), end = authorityEnd(s, i, special);
    let k = i, inside = false;
    for (; k < end; k++) {
      if (s[k] === '[') inside = true;
      else if (s[k] === ']') inside = false;
      else if (s[k] === ':' && !inside) break;
    }
    const text = slice(s, i, k), colon = k < end;
    if (colon) {
      if (text === '' || state === 'hostname') return none;
    } else if (text === '' && (special || (override && (u.username !== '' || u.password !== '' || u.port !== null)))) return none;
    const host = parseHost(text, special);
    if (host === undefined) return none;
    u.host = host;
    i = k;
    if (colon) {
      i++;
      state = 'port';
      break;
    }
    if (override) return true;
    state = 'path start';
    break;
  }
  case 'port': {
    let k = i;
    while (k < s.length && isDigit(charCodeAt(s, k))) k++;
    const c = s.length > k ? s[k] : '';
    if (!(c === '' || c === '/' || c === '?' || c === '#' || (c === '\\' && isSpecial(u)) || override)) return none;
    if (k > i) {
      let port = 0;
      for (; i < k; i++) {
        port = port * 10 + charCodeAt(s, i) - 48;
        if (port > 65535) return none;
      }
      u.port = port === specialPorts[u.scheme] ? null : port;
    } else if (override === 'port' && c !== '') return false;
    if (override) return true;
    state = 'path start';
    break;
  }
  case 'file': {
    u.scheme = 'file:';
    u.host = '';
    const c = at(s, i), local = base && base.scheme === 'file:';
    if (c === '/' || c === '\\') {
      i++;
      if (at(s, i) === '/' || at(s, i) === '\\') {
        i++;
        state = 'file host';
        break;
      }
      if (local) {
        u.host = base.host;
        if (!startsWindowsLetter(s, i) && base.path.length > 0 && isWindowsLetter(base.path[0]) && base.path[0][1] === ':') u.path[0] = base.path[0];
      }
      state = 'path';
      break;
    }
    state = 'path';
    if (!local) break;
    u.host = base.host;
    u.path = copyPath(base.path);
    u.query = base.query;
    if (c === '?') {
      u.query = '';
      i++;
      state = 'query';
    } else if (c === '#') {
      u.fragment = '';
      i++;
      state = 'fragment';
    } else if (i < s.length) {
      u.query = null;
      if (!startsWindowsLetter(s, i)) shorten(u);
      else u.path = list();
    } else return done;
    break;
  }
  case 'file host': {
    const end = authorityEnd(s, i, true), text = slice(s, i, end);
    if (!override && isWindowsLetter(text)) {
      state = 'path';
      break;
    }
    if (text === '') u.host = '';
    else {
      const host = parseHost(text, true);
      if (host === undefined) return none;
      u.host = host === 'localhost' ? '' : host;
    }
    if (override) return true;
    i = end;
    state = 'path start';
    break;
  }
  case 'path start':
    if (isSpecial(u)) {
      if (at(s, i) === '/' || at(s, i) === '\\') i++;
      state = 'path';
    } else if (!override && at(s, i) === '?') {
      u.query = '';
      i++;
      state = 'query';
    } else if (!override && at(s, i) === '#') {
      u.fragment = '';
      i++;
      state = 'fragment';
    } else if (i < s.length) {
      if (s[i] === '/') i++;
      state = 'path';
    } else {
      if (override && u.host === null) u.path[u.path.length] = '';
      return done;
    }
    break;
  case 'path': {
    const special = isSpecial(u);
    for (;;) {
      const end = pathEnd(s, i, special, override), c = end < s.length ? s[end] : '';
      let part = slice(s, i, end);
      const slash = c === '/' || (special && c === '\\'), d = dots(part);
      if (d === 2) {
        shorten(u);
        if (!slash) u.path[u.path.length] = '';
      } else if (d === 1) {
        if (!slash) u.path[u.path.length] = '';
      } else {
        part = encode(part, PATH);
        if (u.scheme === 'file:' && u.path.length === 0 && isWindowsLetter(part)) part = part[0] + ':';
        u.path[u.path.length] = part;
      }
      i = end + 1;
      if (slash) continue;
      if (c === '') return done;
      if (c === '?') {
        u.query = '';
        state = 'query';
      } else {
        u.fragment = '';
        state = 'fragment';
      }
      break;
    }
    break;
  }
  case 'opaque path': {
    let k = i;
    while (k < s.length && s[k] !== '?' && s[k] !== '#') k++;
    let path = slice(s, i, k);
    // A space before the query or fragment is kept apart from what follows.
    if (k < s.length && path.length > 0 && path[path.length - 1] === ' ') path = slice(path, 0, path.length - 1) + '%20';
    u.path = encode(path, 0);
    if (k === s.length) return done;
    i = k + 1;
    if (s[k] === '?') {
      u.query = '';
      state = 'query';
    } else {
      u.fragment = '';
      state = 'fragment';
    }
    break;
  }
  case 'query': {
    const hash = override ? -1 : indexOf(s, '#', i);
    u.query = encode(hash < 0 ? slice(s, i) : slice(s, i, hash), isSpecial(u) ? SPECIAL_QUERY : QUERY);
    if (hash < 0) return done;
    u.fragment = '';
    i = hash + 1;
    state = 'fragment';
    break;
  }
  case 'fragment':
    u.fragment = encode(slice(s, i), FRAGMENT);
    return done;
  }
};
const authorityEnd = (s, i, special) => {
  for (; i < s.length; i++) {
    const c = s[i];
    if (c === '/' || c === '?' || c === '#' || (special && c === '\\')) break;
  }
  return i;
};

const pathText = u => {
  if (typeof u.path === 'string') return u.path;
  let s = '';
  for (let i = 0; i < u.path.length; i++) s += '/' + u.path[i];
  return s;
};
const hostText = u => u.host === null ? '' : u.port === null ? u.host : u.host + ':' + u.port;
const serialize = u => {
  let s = u.scheme;
  if (u.host !== null) {
    s += '//';
    if (u.username !== '' || u.password !== '') s += u.username + (u.password !== '' ? ':' + u.password : '') + '@';
    s += hostText(u);
  } else if (typeof u.path !== 'string' && u.path.length > 1 && u.path[0] === '') s += '/.';
  s += pathText(u);
  if (u.query !== null) s += '?' + u.query;
  if (u.fragment !== null) s += '#' + u.fragment;
  return s;
};

const parseForm = s => {
  const out = list(), parts = splitOn(s, '&');
  for (let i = 0; i < parts.length; i++) {
    const p = parts[i];
    if (p === '') continue;
    const eq = indexOf(p, '=');
    out[out.length] = pair(decode(eq < 0 ? p : slice(p, 0, eq), true), eq < 0 ? '' : decode(slice(p, eq + 1), true));
  }
  return out;
};
const pair = (name, value) => ({ __proto__: null, name, value });
const formText = l => {
  let s = '';
  for (let i = 0; i < l.length; i++) s += (i > 0 ? '&' : '') + encode(l[i].name, FORM) + '=' + encode(l[i].value, FORM);
  return s;
};
const text = v => {
  const s = str(v);
  return isWellFormed(s) ? s : toWellFormed(s);
};
const need = (args, n, what) => {
  if (args.length < n) throw new TypeError_(what + ' needs ' + n + ' argument' + (n === 1 ? '' : 's') + ', not ' + args.length);
};

let attach, refresh, pairsOf, isParams;
class URLSearchParams {
  #pairs = list(); #url = null;
  constructor(init = '') {
    if (isObject(init)) {
      const iterate = init[symIterator];
      if (iterate !== undefined && iterate !== null) {
        for (const p of init) {
          if (!isObject(p)) throw new TypeError_('each entry for URLSearchParams must be a [name, value] pair');
          let n = 0, name, value;
          for (const x of p) {
            if (n === 0) name = text(x);
            else value = text(x);
            if (++n > 2) break;
          }
          if (n !== 2) throw new TypeError_('each entry for URLSearchParams must be a [name, value] pair');
          this.#pairs[this.#pairs.length] = pair(name, value);
        }
      } else {
        const names = objectKeys(init);
        for (let i = 0; i < names.length; i++) this.#put(text(names[i]), text(init[names[i]]));
      }
    } else {
      const s = text(init);
      this.#pairs = parseForm(at(s, 0) === '?' ? slice(s, 1) : s);
    }
  }
  static {
    attach = (p, u) => { p.#url = u; };
    refresh = (p, query) => { p.#pairs = query === null ? list() : parseForm(query); };
    pairsOf = p => p.#pairs;
    isParams = v => #pairs in v;
  }
  // A record's names are unique after the replacement of lone surrogates.
  #put(name, value) {
    const l = this.#pairs;
    for (let i = 0; i < l.length; i++) {
      if (l[i].name === name) {
        l[i].value = value;
        return;
      }
    }
    l[l.length] = pair(name, value);
  }
  #changed() {
    if (this.#url === null) return;
    const s = formText(this.#pairs);
    this.#url.query = s === '' ? null : s;
  }
  #keep(keep) {
    const l = this.#pairs;
    let n = 0;
    for (let i = 0; i < l.length; i++) if (keep(l[i])) l[n++] = l[i];
    l.length = n;
  }
  get size() { return this.#pairs.length; }
  append(name, value) {
    need(arguments, 2, 'append');
    name = text(name);
    value = text(value);
    this.#pairs[this.#pairs.length] = pair(name, value);
    this.#changed();
  }
  delete(name, value = undefined) {
    need(arguments, 1, 'delete');
    name = text(name);
    if (value !== undefined) value = text(value);
    this.#keep(p => p.name !== name || (value !== undefined && p.value !== value));
    this.#changed();
  }
  get(name) {
    need(arguments, 1, 'get');
    name = text(name);
    const l = this.#pairs;
    for (let i = 0; i < l.length; i++) if (l[i].name === name) return l[i].value;
    return null;
  }
  getAll(name) {
    need(arguments, 1, 'getAll');
    name = text(name);
    const l = this.#pairs, out = list();
    for (let i = 0; i < l.length; i++) if (l[i].name === name) out[out.length] = l[i].value;
    return setPrototypeOf(out, arrayProto);
  }
  has(name, value = undefined) {
    need(arguments, 1, 'has');
    name = text(name);
    if (value !== undefined) value = text(value);
    const l = this.#pairs;
    for (let i = 0; i < l.length; i++) if (l[i].name === name && (value === undefined || l[i].value === value)) return true;
    return false;
  }
  set(name, value) {
    need(arguments, 2, 'set');
    name = text(name);
    value = text(value);
    let found = false;
    this.#keep(p => {
      if (p.name !== name) return true;
      if (found) return false;
      p.value = value;
      return found = true;
    });
    if (!found) this.#pairs[this.#pairs.length] = pair(name, value);
    this.#changed();
  }
  sort() {
    sort(this.#pairs, (a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
    this.#changed();
  }
  forEach(callback, self = undefined) {
    if (typeof callback !== 'function') throw new TypeError_('forEach needs a function');
    for (let i = 0; i < this.#pairs.length; i++) {
      const p = this.#pairs[i];
      apply(callback, self, [p.value, p.name, this]);
    }
  }
  entries() { return this.#walk(p => [p.name, p.value]); }
  keys() { return this.#walk(p => p.name); }
  values() { return this.#walk(p => p.value); }
  *#walk(what) {
    for (let i = 0; i < this.#pairs.length; i++) yield what(this.#pairs[i]);
  }
  toString() { return formText(this.#pairs); }
  toJSON() { return formText(this.#pairs); } // not of the standard: JSON.stringify would say {}
}
hidden(URLSearchParams.prototype, symIterator, URLSearchParams.prototype.entries);

let isURL, hrefOf;
class URL {
  #u; #params = null;
  constructor(url, base = undefined) {
    need(arguments, 1, 'new URL');
    url = text(url);
    this.#u = parseWith(url, base);
    if (this.#u === undefined) {
      const e = new TypeError_('Invalid URL');
      hidden(e, 'code', 'ERR_INVALID_URL');
      defineProperty(e, 'input', { __proto__: null, value: cut(url), writable: true, enumerable: true, configurable: true });
      throw e;
    }
  }
  static {
    isURL = v => #u in v;
    hrefOf = v => serialize(v.#u);
  }
  static canParse(url, base = undefined) {
    need(arguments, 1, 'URL.canParse');
    return parseWith(url, base) !== undefined;
  }
  static parse(url, base = undefined) {
    need(arguments, 1, 'URL.parse');
    return parseWith(url, base) === undefined ? null : new URL(url, base);
  }
  #refresh() { if (this.#params !== null) refresh(this.#params, this.#u.query); }
  get href() { return serialize(this.#u); }
  set href(v) {
    const u = parse(text(v));
    if (u === undefined) throw new TypeError_('Invalid URL');
    this.#u = u;
    if (this.#params !== null) attach(this.#params, u);
    this.#refresh();
  }
  get origin() {
    let u = this.#u;
    if (u.scheme === 'blob:') {
      u = parse(pathText(u));
      if (u === undefined || (u.scheme !== 'http:' && u.scheme !== 'https:')) return 'null';
    }
    return isSpecial(u) && u.scheme !== 'file:' ? u.scheme + '//' + hostText(u) : 'null';
  }
  get protocol() { return this.#u.scheme; }
  set protocol(v) { parse(text(v) + ':', undefined, this.#u, 'scheme'); }
  get username() { return this.#u.username; }
  set username(v) {
    v = text(v);
    if (!cannotHaveCredentials(this.#u)) this.#u.username = encode(v, USERINFO);
  }
  get password() { return this.#u.password; }
  set password(v) {
    v = text(v);
    if (!cannotHaveCredentials(this.#u)) this.#u.password = encode(v, USERINFO);
  }
  get host() { return hostText(this.#u); }
  set host(v) {
    v = text(v);
    if (typeof this.#u.path !== 'string') parse(v, undefined, this.#u, 'host');
  }
  get hostname() { return this.#u.host === null ? '' : this.#u.host; }
  set hostname(v) {
    v = text(v);
    if (typeof this.#u.path !== 'string') parse(v, undefined, this.#u, 'hostname');
  }
  get port() { return this.#u.port === null ? '' : '' + this.#u.port; }
  set port(v) {
    v = text(v);
    if (cannotHaveCredentials(this.#u)) return;
    if (v === '') this.#u.port = null;
    else parse(v, undefined, this.#u, 'port');
  }
  get pathname() { return pathText(this.#u); }
  set pathname(v) {
    v = text(v);
    if (typeof this.#u.path === 'string') return;
    this.#u.path = list();
    parse(v, undefined, this.#u, 'path start');
  }
  get search() { return this.#u.query ? '?' + this.#u.query : ''; }
  set search(v) {
    v = text(v);
    if (v === '') this.#u.query = null;
    else parse(v[0] === '?' ? slice(v, 1) : v, undefined, this.#u, 'query');
    this.#refresh();
  }
  get hash() { return this.#u.fragment ? '#' + this.#u.fragment : ''; }
  set hash(v) {
    v = text(v);
    if (v === '') this.#u.fragment = null;
    else parse(v[0] === '#' ? slice(v, 1) : v, undefined, this.#u, 'fragment');
  }
  get searchParams() {
    if (this.#params === null) {
      const p = new URLSearchParams();
      attach(p, this.#u);
      refresh(p, this.#u.query);
      this.#params = p;
    }
    return this.#params;
  }
  toString() { return serialize(this.#u); }
  toJSON() { return serialize(this.#u); }
}
const parseWith = (url, base) => {
  url = text(url);
  if (base === undefined) return parse(url);
  base = parse(text(base));
  return base === undefined ? undefined : parse(url, base);
};

// ---- numbers, dates and order of text as en-US has them ----

// There is no Intl. What follows does a part of it for en-US and UTC, as Node does, and every option or locale that it
// does not honour is a RangeError that says what to use instead: nothing is ignored.

const localeTag = /^(?:[a-z]{2,3}|[a-z]{5,8})(?:-[a-z0-9]{2,8}|-[a-z0-9](?=-))*$/i, english = /^en(?:-latn)?(?:-us)?$/i;
const unsupported = (where, what, value, instead) => {
  const v = typeof value === 'string' ? '"' + slice(value, 0, 100) + '"' : slice(str(value), 0, 100);
  throw new RangeError_(where + ': ' + what + ' ' + v + ' is not supported here: use ' + instead);
};
// The first of the locales that a program asks for, in lower case; undefined for the default.
const requested = (where, locales) => {
  if (locales === undefined) return undefined;
  if (locales === null) throw new TypeError_('Cannot convert undefined or null to object');
  const l = typeof locales === 'string' ? [locales] : Object_(locales), n = toLength(l.length);
  let first;
  for (let i = 0; i < n; i++) {
    if (!(i in l)) continue;
    const tag = l[i];
    if (typeof tag !== 'string' && !isObject(tag)) throw new TypeError_('a locale must be a text such as "en-US"');
    const s = str(tag);
    if (exec(localeTag, s) === null) throw new RangeError_(where + ': Incorrect locale information provided: "' + slice(s, 0, 100) + '"');
    if (first === undefined) first = s;
  }
  return first;
};
const toLength = v => {
  v = trunc(+v);
  return v > 0 ? min(v, 1000) : 0;
};
const wantEnglish = (where, locales, instead) => {
  const tag = requested(where, locales);
  if (tag !== undefined && exec(english, tag) === null) unsupported(where, 'the locale', tag, '"en-US"' + instead);
};
const noOptions = { __proto__: null };
const optionsOf = options => {
  if (options === undefined) return noOptions;
  if (options === null) throw new TypeError_('Cannot convert undefined or null to object');
  return Object_(options);
};
// An option that is one of the words in choices, or undefined; honoured are those of them that are done right here.
const option = (where, o, name, choices, honoured, instead) => {
  let v = o[name];
  if (v === undefined) return undefined;
  v = str(v);
  if (!within(choices, v)) throw new RangeError_('Value ' + slice(v, 0, 100) + ' out of range for ' + where + ' options property ' + name);
  if (!within(honoured, v)) unsupported(where, name, v, instead);
  return v;
};
const within = (words, v) => v !== '' && indexOf(' ' + words + ' ', ' ' + v + ' ') >= 0 && indexOf(v, ' ') < 0;
const numberOption = (o, name, least, most) => {
  let v = o[name];
  if (v === undefined) return undefined;
  v = +v;
  if (!(v >= least && v <= most)) throw new RangeError_(name + ' value is out of range.');
  return floor(v);
};

// A number is a list of decimal digits, of which `point` are before the point, as JavaScript writes it: ICU rounds that too.
const decimalOf = n => {
  let s = typeof n === 'bigint' ? '' + n : numberToString(n), exponent = 0;
  const e = indexOf(s, 'e');
  if (e >= 0) {
    exponent = +slice(s, e + 1);
    s = slice(s, 0, e);
  }
  const dot = indexOf(s, '.');
  let point = dot < 0 ? s.length : dot, start = 0;
  if (dot >= 0) s = slice(s, 0, dot) + slice(s, dot + 1);
  while (start < s.length && s[start] === '0') start++;
  return { __proto__: null, digits: slice(s, start), point: start === s.length ? 0 : point - start + exponent };
};
// Rounds half away from zero so that `fraction` digits stay behind the point.
const rounded = (d, fraction) => {
  const keep = d.point + fraction;
  if (keep >= d.digits.length) return d;
  if (keep < 0) return { __proto__: null, digits: '', point: 0 };
  const up = charCodeAt(d.digits, keep) >= 53;
  let i = keep;
  if (!up) return { __proto__: null, digits: slice(d.digits, 0, keep), point: d.point };
  while (i > 0 && d.digits[i - 1] === '9') i--;
  if (i === 0) return { __proto__: null, digits: '1', point: d.point + 1 };
  return { __proto__: null, digits: slice(d.digits, 0, i - 1) + fromCharCode(charCodeAt(d.digits, i - 1) + 1), point: d.point };
};
const withoutZeros = s => {
  let n = s.length;
  while (n > 0 && s[n - 1] === '0') n--;
  return slice(s, 0, n);
};
// The digits before and behind the point, of which at least `least`.
const plain = (d, integer, least) => {
  const digits = withoutZeros(d.digits);
  let whole = d.point > 0 ? slice(digits, 0, d.point) : '', rest = d.point > 0 ? slice(digits, d.point) : digits === '' ? '' : repeat('0', -d.point) + digits;
  if (whole.length < d.point && digits !== '') whole += repeat('0', d.point - whole.length);
  if (whole.length < integer) whole = repeat('0', integer - whole.length) + whole;
  if (rest.length < least) rest += repeat('0', least - rest.length);
  return { __proto__: null, whole, rest };
};
const grouped = s => {
  let i = s.length % 3, out = slice(s, 0, i);
  for (; i < s.length; i += 3) out += (out === '' ? '' : ',') + slice(s, i, i + 3);
  return out;
};

const currencySymbols = { __proto__: null, AUD: 'A$', BRL: 'R$', CAD: 'CA$', CNY: 'CN¥', EUR: '€', GBP: '£', HKD: 'HK$', ILS: '₪', INR: '₹',
  JPY: '¥', KRW: '₩', MXN: 'MX$', NZD: 'NZ$', PHP: '₱', TWD: 'NT$', USD: '$', VND: '₫', XAF: 'FCFA\xa0', XCD: 'EC$', XCG: 'Cg.\xa0',
  XOF: 'F\u202fCFA\xa0', XPF: 'CFPF\xa0', XXX: '¤' };
const currencyDigits = { __proto__: null, 3: 'BHD JOD KWD LYD OMR TND', 4: 'CLF UYW',
  0: 'ADP AFN ALL BIF BYR CLP COP DJF ESP GNF HUF IDR IQD IRR ISK ITL JPY KMF KPW KRW LAK LBP LUF MGA MGF MMK MRO PKR PYG RWF SLL SOS STD SYP ' +
    'TMM TRL UGX UYI VND VUV XAF XOF XPF YER ZMK ZWD' };
const digitsOf = code => within(currencyDigits[0], code) ? 0 : within(currencyDigits[3], code) ? 3 : within(currencyDigits[4], code) ? 4 : 2;
const currencyCode = /^[a-z]{3}$/i, upper = method(String, 'toUpperCase');
const PLAIN_NUMBER = 'the plain number, and write what is missing in the program';

// What the options ask for; each is read once.
const numberFormat = (where, options) => {
  const o = optionsOf(options), f = { __proto__: null };
  if (o.numberingSystem !== undefined && o.numberingSystem !== 'latn') unsupported(where, 'numberingSystem', o.numberingSystem, '"latn"');
  f.style = option(where, o, 'style', 'decimal percent currency unit', 'decimal percent currency', PLAIN_NUMBER) || 'decimal';
  let code = o.currency;
  if (code !== undefined) {
    code = str(code);
    if (exec(currencyCode, code) === null) throw new RangeError_('Invalid currency code : ' + slice(code, 0, 100));
    code = upper(code);
  } else if (f.style === 'currency') throw new TypeError_('Currency code is required with currency style.');
  const money = f.style === 'currency';
  const display = option(where, o, 'currencyDisplay', 'code symbol narrowSymbol name', money ? 'code symbol' : 'code symbol narrowSymbol name', '"symbol" or "code"');
  f.accounting = option(where, o, 'currencySign', 'standard accounting', 'standard accounting') === 'accounting' && money;
  f.unit = !money ? '' : display === 'code' || currencySymbols[code] === undefined ? code + '\xa0' : currencySymbols[code];
  f.compact = option(where, o, 'notation', 'standard scientific engineering compact', 'standard compact', '"standard"') === 'compact';
  f.integer = numberOption(o, 'minimumIntegerDigits', 1, 21) || 1;
  readDigits(where, o, f, money ? digitsOf(code) : 0);
  const words = option(where, o, 'compactDisplay', 'short long', 'short long') === 'long' && !money;
  f.scales = words ? [' thousand', ' million', ' billion', ' trillion'] : ['K', 'M', 'B', 'T'];
  f.group = grouping(where, o.useGrouping, f.compact);
  f.sign = option(where, o, 'signDisplay', 'auto never always exceptZero negative', 'auto never always exceptZero negative') || 'auto';
  return f;
};
// 0: never, 1: from four digits on, 2: from five.
const grouping = (where, v, compact) => {
  if (v === undefined || v === 'true' || v === 'false') return compact ? 2 : 1;
  if (v === true) return 1;
  if (!v) return 0;
  v = str(v);
  if (!within('always auto min2', v)) throw new RangeError_('Value ' + slice(v, 0, 100) + ' out of range for ' + where + ' options property useGrouping');
  return v === 'min2' || (v === 'auto' && compact) ? 2 : 1;
};
const readDigits = (where, o, f, usual) => {
  const least = numberOption(o, 'minimumFractionDigits', 0, 100), most = numberOption(o, 'maximumFractionDigits', 0, 100);
  f.leastDigits = numberOption(o, 'minimumSignificantDigits', 1, 21);
  f.mostDigits = numberOption(o, 'maximumSignificantDigits', f.leastDigits || 1, 21);
  if (o.roundingIncrement !== undefined && +o.roundingIncrement !== 1) unsupported(where, 'roundingIncrement', o.roundingIncrement, PLAIN_NUMBER);
  option(where, o, 'roundingMode', 'ceil floor expand trunc halfCeil halfFloor halfExpand halfTrunc halfEven', 'halfExpand', 'Math.floor(), Math.ceil() or Math.trunc() before');
  option(where, o, 'roundingPriority', 'auto morePrecision lessPrecision', 'auto', PLAIN_NUMBER);
  option(where, o, 'trailingZeroDisplay', 'auto stripIfInteger', 'auto', PLAIN_NUMBER);
  f.significant = f.leastDigits !== undefined || f.mostDigits !== undefined;
  f.brief = f.compact && !f.significant && least === undefined && most === undefined;
  const top = f.style === 'decimal' ? 3 : usual;
  f.least = least !== undefined ? least : f.compact ? 0 : most !== undefined ? min(usual, most) : usual;
  f.most = most !== undefined ? most : max(f.least, f.compact && f.style === 'percent' ? 0 : top);
  if (f.least > f.most) throw new RangeError_('maximumFractionDigits value is out of range.');
};
// Rounds as f says: {decimal, least} with the number of digits to show behind the point.
const round = (f, d) => {
  if (f.brief) return { __proto__: null, d: rounded(d, d.point > 1 ? 0 : 2 - d.point), least: 0 };
  if (!f.significant) return { __proto__: null, d: rounded(d, f.most), least: f.least };
  const most = f.mostDigits === undefined ? 21 : f.mostDigits, least = f.leastDigits === undefined ? 1 : f.leastDigits;
  d = rounded(d, most - d.point);
  return { __proto__: null, d, least: max(0, least - (d.digits === '' ? 1 : d.point)) };
};
const compacted = (f, d) => {
  for (let k = max(0, min(4, floor((d.point - 1) / 3))); ; k++) {
    const r = round(f, { __proto__: null, digits: d.digits, point: d.digits === '' ? 0 : d.point - 3 * k });
    if (k < 4 && r.d.point > 3) continue; // 999,999 is 1M
    r.scale = k > 0 ? f.scales[k - 1] : '';
    return r;
  }
};
const withoutSpace = s => s !== '' && charCodeAt(s, s.length - 1) === 160 ? slice(s, 0, s.length - 1) : s;
const localeText = (where, n, locales, options) => {
  wantEnglish(where, locales, ', and write other separators in the program');
  const f = numberFormat(where, options);
  let negative = n < 0 || (n === 0 && 1 / n < 0), zero = false, s, scale = '';
  if (n !== n) s = 'NaN';
  else if (n === 1 / 0 || n === -1 / 0) s = '∞';
  else {
    const d = decimalOf(negative && n !== 0 ? -n : n);
    if (f.style === 'percent' && d.digits !== '') d.point += 2;
    const r = f.compact ? compacted(f, d) : round(f, d), p = plain(r.d, f.integer, r.least);
    zero = withoutZeros(r.d.digits) === '';
    scale = r.scale || '';
    s = (f.group > 0 && p.whole.length > (f.group > 1 ? 4 : 3) ? grouped(p.whole) : p.whole) + (p.rest === '' ? '' : '.' + p.rest);
  }
  if (f.sign === 'never' || (zero && (f.sign === 'negative' || f.sign === 'exceptZero'))) negative = false;
  const plus = !negative && (f.sign === 'always' || (f.sign === 'exceptZero' && !zero && n === n)) ? '+' : '';
  s = (s === '∞' || s === 'NaN' ? withoutSpace(f.unit) : f.unit) + s + scale + (f.style === 'percent' ? '%' : '');
  return negative ? f.accounting ? '(' + s + ')' : '-' + s : plus + s;
};
hidden(Number.prototype, 'toLocaleString', { toLocaleString(locales = undefined, options = undefined) { return localeText('Number.prototype.toLocaleString', unbox.Number(this), locales, options); } }.toLocaleString);
hidden(BigInt.prototype, 'toLocaleString', { toLocaleString(locales = undefined, options = undefined) { return localeText('BigInt.prototype.toLocaleString', unbox.BigInt(this), locales, options); } }.toLocaleString);

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const zones = { __proto__: null, short: 'UTC', long: 'Coordinated Universal Time', shortOffset: 'GMT+0', longOffset: 'GMT+00:00', shortGeneric: 'GMT+0', longGeneric: 'GMT+00:00' };
const zoneWords = 'short long shortOffset longOffset shortGeneric longGeneric', widths = 'narrow short long', numeric = '2-digit numeric';
const utc = /^(?:etc\/)?(?:utc|gmt)$/i;
const dateParts = list();
{
  const names = ['getUTCFullYear', 'getUTCMonth', 'getUTCDate', 'getUTCDay', 'getUTCHours', 'getUTCMinutes', 'getUTCSeconds', 'getUTCMilliseconds'];
  for (let i = 0; i < names.length; i++) dateParts[i] = method(Date, names[i]);
}
const FROM_PARTS = 'getUTCFullYear(), getUTCMonth(), getUTCDate() and so on, and write the text in the program';
const dateFormat = (where, options) => {
  const o = optionsOf(options), f = { __proto__: null };
  if (o.calendar !== undefined && o.calendar !== 'gregory') unsupported(where, 'calendar', o.calendar, '"gregory"');
  if (o.numberingSystem !== undefined && o.numberingSystem !== 'latn') unsupported(where, 'numberingSystem', o.numberingSystem, '"latn"');
  const h12 = o.hour12, cycle = option(where, o, 'hourCycle', 'h11 h12 h23 h24', 'h11 h12 h23 h24');
  f.cycle = h12 !== undefined ? h12 ? 'h12' : 'h24' : cycle || 'h12'; // h24 as Node 20: midnight is 24
  if (o.timeZone !== undefined && exec(utc, str(o.timeZone)) === null)
    unsupported(where, 'timeZone', str(o.timeZone), '"UTC", or a tool that converts times');
  f.weekday = option(where, o, 'weekday', widths, widths);
  option(where, o, 'era', widths, '', FROM_PARTS);
  f.year = option(where, o, 'year', numeric, numeric);
  f.month = option(where, o, 'month', numeric + ' ' + widths, numeric + ' ' + widths);
  f.day = option(where, o, 'day', numeric, numeric);
  option(where, o, 'dayPeriod', widths, '', FROM_PARTS);
  f.hour = option(where, o, 'hour', numeric, numeric);
  f.minute = option(where, o, 'minute', numeric, numeric);
  f.second = option(where, o, 'second', numeric, numeric);
  f.fraction = numberOption(o, 'fractionalSecondDigits', 1, 3);
  f.zone = option(where, o, 'timeZoneName', zoneWords, zoneWords);
  f.dateStyle = option(where, o, 'dateStyle', 'full long medium short', 'full long medium short');
  f.timeStyle = option(where, o, 'timeStyle', 'full long medium short', 'full long medium short');
  return f;
};
const styled = (f, date, time) => {
  const names = ['weekday', 'year', 'month', 'day', 'hour', 'minute', 'second', 'fraction', 'zone'];
  for (let i = 0; i < names.length; i++) if (f[names[i]] !== undefined)
    throw new TypeError_("Can't set option " + names[i] + ' when ' + (f.dateStyle ? 'dateStyle' : 'timeStyle') + ' is used');
  if (f.dateStyle && !date) throw new TypeError_('Invalid option : dateStyle');
  if (f.timeStyle && !time) throw new TypeError_('Invalid option : timeStyle');
  const d = f.dateStyle, t = f.timeStyle;
  if (d) {
    if (d === 'full') f.weekday = 'long';
    f.year = d === 'short' ? '2-digit' : 'numeric';
    f.month = d === 'short' ? 'numeric' : d === 'medium' ? 'short' : 'long';
    f.day = 'numeric';
  }
  if (!t) return;
  f.hour = f.minute = 'numeric';
  if (t !== 'short') f.second = 'numeric';
  if (t === 'full' || t === 'long') f.zone = t === 'full' ? 'long' : 'short';
};
const two = n => n < 10 ? '0' + n : '' + n;
const width = (name, w) => w === 'long' ? name : slice(name, 0, w === 'short' ? 3 : 1);
const oddFields = where => { throw new RangeError_(where + ': this combination of fields is not supported here: use ' + FROM_PARTS); };
const dateText = (where, f, p) => {
  const year = p[0] > 0 ? p[0] : 1 - p[0];
  const y = f.year === undefined ? '' : f.year === 'numeric' ? '' + year : two(year % 100), w = f.weekday === undefined ? '' : width(days[p[3]], f.weekday);
  const d = f.day === undefined ? '' : f.day === 'numeric' ? '' + p[2] : two(p[2]);
  if (f.month === undefined) {
    if (y !== '' && (w === '' ? d !== '' : d === '')) oddFields(where);
    return d === '' || w === '' ? y + d + w : d + ' ' + w + (y === '' ? '' : ' ' + y);
  }
  const named = within(widths, f.month), m = named ? width(months[p[1]], f.month) : f.month === 'numeric' ? '' + (p[1] + 1) : two(p[1] + 1);
  if (d === '') {
    if (w !== '' && y === '') oddFields(where);
    return m + (y === '' ? '' : (named ? ' ' : '/') + y) + (w === '' ? '' : ' ' + w);
  }
  return (w === '' ? '' : w + ', ') + m + (named ? ' ' : '/') + d + (y === '' ? '' : (named ? ', ' : '/') + y);
};
const timeText = (where, f, p) => {
  const fraction = f.fraction === undefined ? '' : slice('00' + p[7], -3), part = slice(fraction, 0, f.fraction || 0);
  const tail = fraction === '' ? '' : '.' + part;
  if (f.hour === undefined) {
    if (f.minute !== undefined) return f.second === undefined && fraction === '' ? '' + p[5] : two(p[5]) + ':' + two(p[6]) + tail;
    if (f.second !== undefined && fraction !== '' && f.second !== 'numeric') oddFields(where);
    return f.second !== undefined ? p[6] + tail : part;
  }
  const half = f.cycle === 'h12' || f.cycle === 'h11';
  if (f.minute === undefined && (f.second !== undefined || fraction !== '' || (!half && f.zone !== undefined))) oddFields(where);
  let h = half ? p[4] % 12 : p[4];
  if (h === 0 && f.cycle === 'h12') h = 12;
  if (h === 0 && f.cycle === 'h24') h = 24;
  let s = !half || f.hour === '2-digit' ? two(h) : '' + h;
  if (f.minute !== undefined) s += ':' + two(p[5]) + (f.second === undefined && fraction === '' ? '' : ':' + two(p[6]) + tail);
  return s + (half ? p[4] < 12 ? ' AM' : ' PM' : '');
};
// As Date.prototype.toLocaleString, toLocaleDateString (date) and toLocaleTimeString (time) have it.
const localeDate = (where, v, locales, options, date, time) => {
  const t = dateTime(v);
  if (t !== t) return 'Invalid Date';
  wantEnglish(where, locales, date ? ', or toISOString().slice(0, 10) for the form 2024-01-31' : ', or toISOString().slice(11, 16) for the form 14:30');
  const f = dateFormat(where, options), p = list();
  if (f.dateStyle || f.timeStyle) styled(f, date, time);
  else {
    const anyDate = f.weekday || f.year || f.month || f.day, anyTime = f.hour || f.minute || f.second || f.fraction;
    if (date && !anyDate && !(time && anyTime)) f.year = f.month = f.day = 'numeric';
    if (time && !anyTime && !(date && anyDate)) f.hour = f.minute = f.second = 'numeric';
  }
  for (let i = 0; i < dateParts.length; i++) p[i] = dateParts[i](v);
  const d = dateText(where, f, p), zone = f.zone === undefined ? '' : zones[f.zone];
  let s = timeText(where, f, p);
  if (zone !== '') s = s === '' ? zone : s + ' ' + zone;
  if (d === '' || s === '') return d + s;
  const onlyDay = f.year === undefined && f.month === undefined && f.day === undefined;
  return d + (f.month === 'long' ? ' at ' : onlyDay && zone === '' && f.hour !== undefined && (f.minute !== undefined || f.cycle === 'h12' || f.cycle === 'h11') ? ' ' : ', ') + s;
};
hidden(Date.prototype, 'toLocaleString', { toLocaleString(locales = undefined, options = undefined) { return localeDate('Date.prototype.toLocaleString', this, locales, options, true, true); } }.toLocaleString);
hidden(Date.prototype, 'toLocaleDateString', { toLocaleDateString(locales = undefined, options = undefined) { return localeDate('Date.prototype.toLocaleDateString', this, locales, options, true, false); } }.toLocaleDateString);
hidden(Date.prototype, 'toLocaleTimeString', { toLocaleTimeString(locales = undefined, options = undefined) { return localeDate('Date.prototype.toLocaleTimeString', this, locales, options, false, true); } }.toLocaleTimeString);

// For localeCompare, which guest/collate.h does: what to compare, as the numbers there. These languages have the order of
// CLDR's root, as en has; fr-CA has not.
const rootOrder = /^(?!fr-ca)(?:en|de|fr|it|nl|pt|id)(?:-[a-z]{2})?$/i;
const collation = (locales, options) => {
  const where = 'String.prototype.localeCompare', tag = requested(where, locales), o = optionsOf(options), compare = 'a < b ? -1 : a > b ? 1 : 0';
  if (tag !== undefined && exec(rootOrder, tag) === null) unsupported(where, 'the locale', tag, '"en-US", or ' + compare);
  option(where, o, 'usage', 'sort search', 'sort', '"sort", or includes()');
  if (o.collation !== undefined) unsupported(where, 'collation', o.collation, 'none');
  const digits = o.numeric ? 8 : 0;
  option(where, o, 'caseFirst', 'upper lower false', 'false', compare);
  const s = option(where, o, 'sensitivity', 'base accent case variant', 'base accent case variant');
  if (o.ignorePunctuation) unsupported(where, 'ignorePunctuation', true, 'replace(/\\p{P}/gu, "") before');
  return digits + (s === 'base' ? 0 : s === 'accent' ? 1 : s === 'case' ? 4 : 3);
};

// Of all languages, three have case rules of their own.
const ownCase = /^(?:tr|az|lt)(?:-|$)/i;
const localeCase = (where, locales, instead) => {
  const tag = requested(where, locales);
  if (tag !== undefined && exec(ownCase, tag) !== null) unsupported(where, 'the locale', tag, instead);
};
hidden(String.prototype, 'toLocaleUpperCase', { toLocaleUpperCase(locales = undefined) {
  const s = upper(this);
  localeCase('String.prototype.toLocaleUpperCase', locales, 'toUpperCase(), and replaceAll() for its letters');
  return s;
} }.toLocaleUpperCase);
hidden(String.prototype, 'toLocaleLowerCase', { toLocaleLowerCase(locales = undefined) {
  const s = toLower(this);
  localeCase('String.prototype.toLocaleLowerCase', locales, 'toLowerCase(), and replaceAll() for its letters');
  return s;
} }.toLocaleLowerCase);

// ---- globals ----

const publish = C => {
  tagged(C, C.name);
  // As WebIDL has it: what belongs to the class is enumerable on its prototype.
  const names = Object.getOwnPropertyNames(C.prototype);
  for (let i = 0; i < names.length; i++) if (names[i] !== 'constructor') defineProperty(C.prototype, names[i], { __proto__: null, enumerable: true });
  hidden(global, C.name, C);
};
publish(TextEncoder);
publish(TextDecoder);
publish(URL);
publish(URLSearchParams);
publish(Event);
publish(EventTarget);
publish(AbortSignal);
publish(AbortController);

// A program that was given no input can ask for it all the same. One that was finds its own here.
defineProperty(global, 'input', { __proto__: null, value: undefined, writable: true, enumerable: true, configurable: true });

// Nothing shared between threads, and nothing of QuickJS's own shell.
const unwanted = ['std', 'os', 'bjson', 'navigator', 'gc', 'print', 'scriptArgs', 'Atomics', 'SharedArrayBuffer'];
for (let i = 0; i < unwanted.length; i++) delete global[unwanted[i]];

// What most programs make looks like these. While there is one, the shape of the next one is found, not made.
const likely = [function () {}, () => {}, async function () {}, async () => {}, function* () {}, async function* () {}, class {}, Promise.resolve()];

return { errors, describe, collation, likely };
})
