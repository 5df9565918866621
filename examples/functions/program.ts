// The customer of A-17 got a broken kettle, and the one of A-18 a chipped teapot.
const paid: Record<string, number> = {};
for (const [id, share] of [["A-17", 1], ["A-18", 0.2]] as const) {
	const { price } = await codemode.desk.order({ order: id });
	try {
		const after = await codemode.desk.refund({ order: id, amount: price * share });
		paid[id] = after.refunded;
	} catch (e) {
		console.log(`${id}: ${e.message}`);
	}
}
return paid;
