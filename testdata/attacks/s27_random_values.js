// getRandomValues fills what it is given, and nothing else. Value.
if (!globalThis.crypto?.getRandomValues) return [true, true, true];
const b = new Uint8Array(48), v = b.subarray(16, 32);
crypto.getRandomValues(v);
return [b.subarray(0, 16).every(x => x === 0), b.subarray(32).every(x => x === 0), new Set(v).size > 4];
