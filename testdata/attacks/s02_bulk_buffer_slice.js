// One bulk memory instruction moves megabytes and counts as one step, so a counter of steps takes
// minutes to run out: ArrayBuffer.prototype.slice of 20 MB.
// The outer stop ends it in time.
const a = new ArrayBuffer(20e6);
let n = 0;
for (;;) n += a.slice(1).byteLength;
