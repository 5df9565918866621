// The interrupt hits inside Error.prepareStackTrace, which swallows it: a loop around it lives for ever.
// The outer stop ends it.
try { Error.prepareStackTrace = () => { for (;;); }; } catch (e) { } // errors may be frozen
for (;;) { try { null.x; } catch (e) { } }
