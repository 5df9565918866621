// An async loop beside the program never waits for anything. Ends at the time limit, or the answer gets in.
(async () => { for (;;) await null; })();
return await codemode.slow({ ms: 10 });
