// Through Reflect.get with another receiver. Denied.
return await Reflect.get(codemode, 'secret', { name: 'echo' })({});
