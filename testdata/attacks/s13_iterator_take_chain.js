// Tens of thousands of take and drop helpers on top of one another: natives that call natives.
// An error the guest sees, or the guest is thrown away; the host lives.
let it = [1, 2, 3].values();
for (let i = 0; i < 30000; i++) it = it.take(9).drop(0);
return it.next().done;
