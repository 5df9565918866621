// A toJSON that fails inside a nested call leaves the outer call as it was. Value.
let inner = '';
const r = await codemode.echo({ a: 1, b: { toJSON() { try { codemode.echo({ x: { y: 1n } }); } catch (e) { inner = e instanceof TypeError && e.message.includes('y') ? 'named' : 'odd'; } return 2; } }, c: [3] });
return [JSON.stringify(r), inner === '' || inner === 'named'];
