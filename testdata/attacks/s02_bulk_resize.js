// One bulk memory instruction moves megabytes and counts as one step, so a counter of steps takes
// minutes to run out: a buffer that shrinks and grows by 40 MB.
// The outer stop ends it in time.
const a = new ArrayBuffer(40e6, { maxByteLength: 40e6 });
for (;;) { a.resize(1); a.resize(40e6); }
