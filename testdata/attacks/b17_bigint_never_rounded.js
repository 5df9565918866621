// A BigInt is refused, or arrives as a BigInt or as text with all its digits: it is never rounded. Value.
const xs = [2n ** 64n + 1n, -(2n ** 63n) - 1n, 9007199254740993n], out = [];
for (const x of xs) {
  for (const [to, from] of [[x => x, x => x], [x => [x], x => x[0]], [x => ({ n: x }), x => x.n]]) {
    let r;
    try { r = from(await codemode.echo(to(x))); } catch (e) { continue; }
    if (typeof r === 'number' || String(r) !== String(x)) out.push(String(r));
  }
}
return out;
