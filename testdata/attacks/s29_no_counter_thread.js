// No second thread that could count: no shared memory, no worker, no blocking wait. Value.
return [typeof SharedArrayBuffer, typeof Atomics, typeof Worker].join();
