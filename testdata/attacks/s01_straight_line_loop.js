// An endless loop whose body is a million operations without a jump: what is counted per jump comes too late. Timeout.
(0, eval)(`(function (a) { for (;;) { ${"a = 1;".repeat(500000)} } })`)(0);
