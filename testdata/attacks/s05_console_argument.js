// The console makes text of an object whose getter never returns. Ends at the time limit.
console.log({ get x() { for (;;); }, toJSON() { for (;;); }, toString() { for (;;); }, [Symbol.toPrimitive]() { for (;;); } });
for (;;);
