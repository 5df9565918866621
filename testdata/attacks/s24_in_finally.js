// A throw in finally replaces the value. Error, ends.
try { return 1; } finally { throw new Error("finally"); }
