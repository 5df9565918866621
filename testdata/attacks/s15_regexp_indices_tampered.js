// The d flag with a tampered Array.prototype and Object.prototype.
// The engine must stay sound: value.
Object.defineProperty(Array.prototype, 0, { set() { throw new Error('setter'); }, get() { return 1; }, configurable: true });
Object.defineProperty(Object.prototype, 'n', { set() { throw new Error('setter'); }, configurable: true });
try { const m = /(?<n>a)(b)?/d.exec('xab'); if (m.indices[1][0] !== 1) throw new Error('wrong'); } finally { delete Array.prototype[0]; delete Object.prototype.n; }
return 'alive';
