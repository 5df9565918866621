// No Atomics and no SharedArrayBuffer: nothing can park a thread. Value.
return [typeof Atomics, typeof SharedArrayBuffer].join();
