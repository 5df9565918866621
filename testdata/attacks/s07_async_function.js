// A loop made with the AsyncFunction constructor. Ends at the time limit, or code from text is refused.
const A = (async () => {}).constructor;
for (;;) await A('for (;;);')();
