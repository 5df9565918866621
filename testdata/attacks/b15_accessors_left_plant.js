// Accessors for __proto__, then and indexes, which record what they see, are left on Object.prototype. The next run must not see them.
globalThis.seen = [];
for (const k of ['__proto__', 'then', '0', 'value', 'args']) { try { Object.defineProperty(Object.prototype, k, { get() { return undefined; }, set(v) { globalThis.seen.push(v); }, configurable: true }); } catch (e) { } }
return 'left';
