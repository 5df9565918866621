// `this` in a plain function is the guest's own global object or undefined. Value.
return (function () { return this; })() === globalThis || (function () { return this; })() === undefined;
