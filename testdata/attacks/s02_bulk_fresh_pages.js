// Fills memory that was never touched, thirty-two megabytes at a time: each page of it is the kernel's work. Timeout.
for (;;) new ArrayBuffer(1 << 25);
