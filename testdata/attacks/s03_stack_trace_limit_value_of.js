// Error.stackTraceLimit as an object whose valueOf loops. The outer stop ends it, or it is plainly ignored.
Error.stackTraceLimit = { valueOf() { for (;;); }, [Symbol.toPrimitive]() { for (;;); } };
for (;;) new Error();
