// then and toJSON are undefined on tools as well. Value.
return ['then', 'toJSON'].filter(k => codemode.echo[k] !== undefined);
