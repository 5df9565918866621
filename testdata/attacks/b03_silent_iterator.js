// An iterator that never answers is stopped from outside. Time-out.
await codemode.echo({ [Symbol.iterator]() { return { next() { for (;;); } }; } });
