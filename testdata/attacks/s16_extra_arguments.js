// More arguments than one, other receivers, new and apply: only the first argument travels. Value.
const f = codemode.echo;
const { call, apply, bind } = Function.prototype;
const a = await f(1, 2, 3), b = await call.call(f, null, 4), c = await apply.call(f, { then: 1 }, [5, 6]), d = await Reflect.apply(f, undefined, [7]), e = await bind.call(f, 1, 8)(9);
return [a, b, c, d, e];
