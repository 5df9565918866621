// Arguments that would be a bad pointer or length in a raw call stay plain data. Value.
const odd = [-1, 4294967295, 2147483647, -2147483648, 65536, 1e308, 5e-324, 0];
const back = await Promise.all(odd.map(x => codemode.echo({ ptr: x, len: -x })));
return back.every((b, i) => b.ptr === odd[i] && b.len == -odd[i]);
