// Arguments, answers and the result of this run are not written by the toJSON of the run before. Value.
return await codemode.echo({ a: [1, 'x', true] });
