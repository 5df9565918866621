// Error.stackTraceLimit as an object whose valueOf loops. The outer stop ends it, or it is plainly ignored.
try { Error.stackTraceLimit = { valueOf() { for (;;); }, [Symbol.toPrimitive]() { for (;;); } }; } catch (e) { } // errors may be frozen
for (;;) new Error();
