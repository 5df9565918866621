// return() of an iterator is called while the interrupt passes; it loops as well. The outer stop ends it.
const it = { [Symbol.iterator]() { return this; }, next() { return { done: false }; }, return() { for (;;); } };
for (;;) { try { for (const x of it) { for (;;); } } catch (e) { } }
