// Symbol.dispose that never returns. Ends at the time limit.
if (typeof DisposableStack !== 'function') for (;;);
const s = new DisposableStack();
s.use({ [Symbol.dispose]() { for (;;); } });
s.dispose();
return 1;
