// Twenty looping disposers: a DisposableStack runs the next one whatever the last one threw.
// The outer stop ends it.
if (typeof DisposableStack !== 'function') for (;;);
for (;;) {
  const s = new DisposableStack();
  for (let i = 0; i < 20; i++) s.defer(() => { for (;;); });
  try { s.dispose(); } catch (e) { }
}
