// Minus zero is zero on the other side, inside of everything as well, or stays what it is. Value.
const r = await codemode.echo([-0, { z: -0 }, [-0]]);
return r[0] === 0 && r[1].z === 0 && r[2][0] === 0;
