// Atomics.wait on anything must be refused at once, never block. Value.
try {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  return 'waited';
} catch (e) { return 'refused'; }
