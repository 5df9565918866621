// Through Function.prototype.call. Denied.
return await Function.prototype.call.call(codemode.secret, null, {});
