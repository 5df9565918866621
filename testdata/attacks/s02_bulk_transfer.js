// A buffer is transferred to a longer one and back. Timeout.
if (!ArrayBuffer.prototype.transfer) for (;;);
let b = new ArrayBuffer(1 << 24);
for (;;) b = b.transfer((1 << 24) + 1).transfer(1 << 24);
