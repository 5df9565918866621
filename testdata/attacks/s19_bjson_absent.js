// The engine's own module `bjson` is neither a global nor reachable. Value.
return [typeof bjson, typeof globalThis.bjson, 'bjson' in globalThis].join();
