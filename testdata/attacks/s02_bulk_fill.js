// One bulk memory instruction moves megabytes and counts as one step, so a counter of steps takes
// minutes to run out: fill over 40 MB.
// The outer stop ends it in time.
const a = new Uint8Array(40e6);
for (;;) a.fill(7);
