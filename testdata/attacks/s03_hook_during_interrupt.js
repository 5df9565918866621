// The interrupt itself is an Error: building its stack runs the hook, again and again. The outer stop ends it.
Error.prepareStackTrace = (e, sites) => { try { for (;;); } finally { return 'x'; } };
(function again() { try { for (;;); } finally { again(); } })();
