// structuredClone reads a getter that never returns. Ends at the time limit.
if (typeof structuredClone === 'undefined') for (;;);
return structuredClone({ get x() { for (;;); } });
