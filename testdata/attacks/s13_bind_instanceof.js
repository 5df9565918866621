// instanceof unwraps a function bound a hundred thousand times.
// An error the guest sees, no crash.
let f = function () {};
for (let i = 0; i < 100000; i++) f = Object.defineProperty(f.bind(), "name", { value: "" });
return {} instanceof f;
