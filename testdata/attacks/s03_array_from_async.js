// Array.fromAsync of a looping iterator. The outer stop ends it.
if (!Array.fromAsync) for (;;);
for (;;) Array.fromAsync({ [Symbol.iterator]() { return { next() { for (;;); } }; } }).catch(() => {});
