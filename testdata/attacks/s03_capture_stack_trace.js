// Error.captureStackTrace with a looping hook. The outer stop ends it.
Error.prepareStackTrace = () => { for (;;); };
for (;;) try { Error.captureStackTrace({}); } catch (e) { }
