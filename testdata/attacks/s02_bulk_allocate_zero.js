// One bulk memory instruction moves megabytes and counts as one step, so a counter of steps takes
// minutes to run out: fresh zeroed buffers of 40 MB.
// The outer stop ends it in time.
let n = 0;
for (;;) n += new Uint8Array(40e6).length;
