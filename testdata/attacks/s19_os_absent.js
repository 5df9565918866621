// The engine's own module `os` is neither a global nor reachable. Value.
return [typeof os, typeof globalThis.os, 'os' in globalThis].join();
