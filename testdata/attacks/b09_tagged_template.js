// As a tag of a template. Denied.
return await codemode.secret`x`;
