// return() of an async generator whose finally block loops. The outer stop ends it.
async function* g() { try { yield 1; } finally { for (;;); } }
for (;;) {
  const it = g();
  await it.next();
  it.return().catch(() => {});
  await null;
}
