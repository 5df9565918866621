// From the then method of the result. Denied.
return { then(resolve, reject) { codemode.secret({}).then(resolve, reject); } };
