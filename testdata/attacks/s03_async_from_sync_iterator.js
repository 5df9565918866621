// for await over a synchronous iterator whose value getter loops. The outer stop ends it.
for (;;) {
  try {
    for await (const x of { [Symbol.iterator]() { return { next() { return { done: false, get value() { for (;;); } }; } }; } });
  } catch (e) { }
}
