// The interrupt hits inside Error.prepareStackTrace, which swallows it: a loop around it lives for ever.
// The outer stop ends it.
Error.prepareStackTrace = () => { for (;;); };
for (;;) { try { null.x; } catch (e) { } }
