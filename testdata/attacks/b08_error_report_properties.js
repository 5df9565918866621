// Accessors on Object.prototype for the fields of an error report are not run when a call fails. Value.
let ran = 0;
for (const k of ['class', 'message', 'props', 'name', 'detail']) Object.defineProperty(Object.prototype, k, { __proto__: null, get() { ran++; return undefined; }, set(v) { }, configurable: true });
let first;
try { await codemode.nosuchtool({}); } catch (e) { first = 'caught'; }
const during = ran;
try { await codemode.fail(); } catch (e) { }
for (const k of ['class', 'message', 'props', 'name', 'detail']) delete Object.prototype[k];
return [first, ran];
