// The order of keys is kept, numbers first, as the language says. Value.
return Object.keys(await codemode.echo({ z: 1, a: 2, 10: 3, 9: 4, '01': 5 })).join();
