// Through a bound function. Denied.
return await Function.prototype.bind.call(codemode.secret, { echo: 1 }, {})();
