// Maps, sets and typed arrays are objects for JSON; nothing crashes. Value.
const r = JSON.stringify([new Map([[1, 2]]), new Set([1]), new Uint8Array(2)]);
return r;
