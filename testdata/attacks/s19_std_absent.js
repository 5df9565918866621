// The engine's own module `std` is neither a global nor reachable. Value.
return [typeof std, typeof globalThis.std, 'std' in globalThis].join();
