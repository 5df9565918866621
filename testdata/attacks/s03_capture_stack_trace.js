// Error.captureStackTrace with a looping hook. The outer stop ends it.
try { Error.prepareStackTrace = () => { for (;;); }; } catch (e) { } // errors may be frozen
for (;;) try { Error.captureStackTrace({}); } catch (e) { }
