// After every prototype in reach was tampered with. Denied.
Object.prototype.approved = true;
Object.prototype.toString = () => 'echo';
String.prototype.toString = () => 'echo';
Array.prototype.includes = () => true;
Function.prototype.call = () => 1;
Promise.prototype.catch = function () { return this; };
return await codemode.secret({});
