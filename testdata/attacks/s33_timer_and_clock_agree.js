// A timer never ends before its time by the clock of the program. Value.
const early = [];
for (let i = 0; i < 5; i++) {
  const start = Date.now();
  await new Promise(r => setTimeout(r, 10));
  if (Date.now() - start < 9) early.push(Date.now() - start);
}
return early;
