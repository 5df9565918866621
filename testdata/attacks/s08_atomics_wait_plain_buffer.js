// Atomics.wait on an ordinary buffer must be refused as well. Value.
try {
  Atomics.wait(new Int32Array(4), 0, 0, 1e9);
  return 'waited';
} catch (e) { return 'refused'; }
