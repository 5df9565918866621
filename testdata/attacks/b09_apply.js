// Through Reflect.apply. Denied.
return await Reflect.apply(codemode.secret, null, [{}]);
