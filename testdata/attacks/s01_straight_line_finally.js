// Each turn of a loop goes through a finally block of many operations without a jump. Timeout.
(0, eval)(`(function (a) { for (;;) { try { continue; } finally { ${"a = 1;".repeat(500000)} } } })`)(0);
