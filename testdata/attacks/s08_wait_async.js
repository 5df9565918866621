// Atomics.waitAsync must not exist or be refused. Value.
try {
  Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9);
  return 'waiting';
} catch (e) { return 'refused'; }
