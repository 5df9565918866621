// A hundred calls with objects of their own, answered at different times: no answer goes to another call. Value.
const wrong = [];
await Promise.all(Array.from({ length: 100 }, async (_, i) => {
  for (let k = 0; k < i % 4; k++) await null;
  const r = await codemode.echo({ i, text: 'x'.repeat(i) });
  if (r.i !== i || r.text.length !== i) wrong.push(i);
}));
return wrong;
