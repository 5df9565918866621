// An async function runs many operations without a jump between two awaits. Timeout.
await (0, eval)(`(async function (a) { for (;;) { await 0; ${"a = 1;".repeat(200000)} } })`)(0);
