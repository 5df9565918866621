// No document and no frames: nothing of a browser. Value.
return [typeof document, typeof globalThis.frames, typeof globalThis.opener].join();
