// From an iterator. Denied.
const it = { [Symbol.iterator]() { return { next: () => ({ done: false, value: codemode.secret({}) }) }; } };
for (const p of it) return await p;
