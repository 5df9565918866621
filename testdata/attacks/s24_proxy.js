// A proxy whose traps all throw is thrown. Error, ends.
throw new Proxy({}, new Proxy({}, { get() { throw new Error("trap"); } }));
