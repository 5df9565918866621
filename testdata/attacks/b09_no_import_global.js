// The raw import is not a global. Value.
return [typeof codemode_call, typeof codemode_poll, typeof globalThis.codemode_call].join();
