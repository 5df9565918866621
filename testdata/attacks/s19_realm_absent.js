// No second realm. Value.
return [typeof ShadowRealm, typeof document, typeof globalThis.frames].join();
