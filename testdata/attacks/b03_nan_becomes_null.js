// NaN and the infinities are null, minus zero is zero. Value.
return await codemode.echo([NaN, Infinity, -Infinity, -0, { x: NaN }]);
