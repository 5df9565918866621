// A function bound a hundred thousand times, called.
// An error the guest sees, no crash.
let f = () => 1;
for (let i = 0; i < 100000; i++) f = Object.defineProperty(f.bind(), "name", { value: "" });
return f();
