// An endless async generator is read beside a call. Ends at the time limit, or the answer gets in.
async function* g() { for (;;) yield 1; }
(async () => { for await (const x of g()); })();
return await codemode.slow({ ms: 10 });
