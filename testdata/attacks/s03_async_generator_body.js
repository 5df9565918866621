// An async generator body swallows the interrupt into its request. The outer stop ends it.
async function* g() { for (;;); }
for (;;) g().next().catch(() => {});
