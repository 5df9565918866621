// A replaced codemode object: nothing of what the run before planted is here. Value.
return [await codemode.echo('real'), Object.prototype.hasOwnProperty.call(codemode, 'planted')];
