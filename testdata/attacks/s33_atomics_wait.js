// Atomics.wait for a tenth of a millisecond is a timer finer than the clock, and blocks the thread. Refused. Value.
let waited = 0;
for (let i = 0; i < 20; i++) {
  try { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0.1); waited++; } catch (e) { }
}
return waited;
