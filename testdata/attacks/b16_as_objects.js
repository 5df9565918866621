// Answers of small text become large as objects: fifty thousand empty objects each. Memory.
const keep = [], a = Array.from({ length: 50000 }, () => ({}));
for (;;) keep.push(await codemode.echo(a));
