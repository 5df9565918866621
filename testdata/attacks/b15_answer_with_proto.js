// __proto__ deep inside an answer is data: it sets no prototype, neither of the answer nor of all objects. Value.
const [r] = await codemode.echo([{ a: [JSON.parse('{"__proto__":{"polluted":1},"b":2}')] }]);
return [r.a[0].polluted === undefined, r.a[0].b, {}.polluted === undefined, [].polluted === undefined];
