// Twenty thousand promises awaited at once. Value.
const a = await Promise.all(Array.from({ length: 20000 }, async (_, i) => { await null; return i; }));
return a.length;
