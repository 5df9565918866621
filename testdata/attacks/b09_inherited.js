// Through an object that inherits from codemode. Denied.
return await Object.create(codemode).secret({});
