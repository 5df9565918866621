// The same with AsyncDisposableStack. The outer stop ends it.
if (typeof AsyncDisposableStack !== 'function') for (;;);
for (;;) {
  const s = new AsyncDisposableStack();
  for (let i = 0; i < 20; i++) s.defer(() => { for (;;); });
  try { await s.disposeAsync(); } catch (e) { }
}
