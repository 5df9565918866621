// A chain of native iterators once more, for the next file to follow it directly.
// An error the guest sees, or the guest is thrown away; the host lives.
let it = [1].values();
for (let i = 0; i < 60000; i++) it = it.filter(Boolean);
return it.next().done;
