// A frozen world: planted here. The next run must not see it.
for (const k of Reflect.ownKeys(globalThis)) { const v = Object.getOwnPropertyDescriptor(globalThis, k).value; if (v && (typeof v === 'object' || typeof v === 'function')) { try { Object.freeze(v); v.prototype && Object.freeze(v.prototype); } catch (e) { } } }
try { Object.preventExtensions(globalThis); } catch (e) { }
return 'frozen';
