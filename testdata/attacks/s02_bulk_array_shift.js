// One bulk memory instruction moves megabytes and counts as one step, so a counter of steps takes
// minutes to run out: shift on three million elements.
// The outer stop ends it in time.
const a = new Array(3e6).fill(0);
for (;;) a.push(a.shift());
