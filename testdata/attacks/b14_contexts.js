// Ten async functions, each with a name of its own, call in turns: each sees its own name in every answer. Value.
const wrong = [];
const worker = async name => {
  for (let i = 0; i < 20; i++) {
    const r = await codemode.echo({ name, i });
    if (r.name !== name || r.i !== i) wrong.push([name, i]);
    if (i % 3 === 0) await codemode.slow({ ms: 1 });
  }
};
await Promise.all(Array.from({ length: 10 }, (_, i) => worker('w' + i)));
return wrong;
