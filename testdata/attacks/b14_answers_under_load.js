// The program computes while answers arrive: they wait, and each goes to its own call. Value.
const calls = Array.from({ length: 16 }, (_, i) => codemode.echo('load' + i));
let n = 0;
for (let i = 0; i < 2e6; i++) n += i % 7;
return (await Promise.all(calls)).every((r, i) => r === 'load' + i) && n > 0;
