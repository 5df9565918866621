// The interrupt itself is an Error: building its stack runs the hook, again and again. The outer stop ends it.
try { Error.prepareStackTrace = (e, sites) => { try { for (;;); } finally { return 'x'; } }; } catch (e) { } // errors may be frozen
(function again() { try { for (;;); } finally { again(); } })();
