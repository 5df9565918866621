// randomUUID gives different, well-formed version 4 ids. Value.
if (!globalThis.crypto?.randomUUID) return true;
const ids = new Set(Array.from({ length: 500 }, () => crypto.randomUUID()));
return ids.size === 500 && [...ids].every(i => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(i));
