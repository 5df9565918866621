(() => {
	const found = new Set(), known = new Set(KNOWN), seen = new Set(), left = [globalThis], most = 20000;
	const text = s => {
		for (const [secret] of s.matchAll(/secret_[A-Z2-7]{26}/g)) if (!known.has(secret)) found.add(secret);
	};
	const { ownKeys, getPrototypeOf } = Reflect, descriptor = Object.getOwnPropertyDescriptor;
	const add = v => {
		if (typeof v === "string") text(v);
		else if (typeof v === "symbol") { text(String(v.description)); text(String(Symbol.keyFor(v))) }
		else if (v !== null && (typeof v === "object" || typeof v === "function") && !seen.has(v) && seen.size < most) {
			seen.add(v);
			left.push(v);
		}
	};
	const tried = f => { try { add(f()) } catch (e) { add(e) } };
	for (const make of [() => codemode, () => console, () => input, () => new Error("here").stack, () => null.x,
		() => undefined_name, () => codemode.nothing_like_it, () => Intl, () => arguments,
		() => new Date().toString(), () => (0, eval)("this"), () => Function("return this")(), () => function () {},
		() => async function () {}, () => function* () {}, () => async function* () {}, () => [][Symbol.iterator](),
		() => new Map().entries(), () => "".matchAll(/x/g), () => Promise.resolve(), () => new Proxy({}, {}),
		() => (s => s)`tagged`]) tried(make);
	for (let at = 0; at < left.length; at++) {
		const v = left[at];
		tried(() => getPrototypeOf(v));
		if (typeof v === "function") tried(() => Function.prototype.toString.call(v));
		if (v instanceof Map) for (const [k, w] of v) { add(k); add(w) }
		if (v instanceof Set && v !== found && v !== known && v !== seen) for (const w of v) add(w);
		if (v instanceof WeakRef) tried(() => v.deref());
		let keys = [];
		try { keys = ownKeys(v) } catch { }
		if (v !== left) for (const k of keys.slice(0, 2000)) {
			add(k);
			const d = descriptor(v, k);
			if (!d) continue;
			add(d.value); add(d.get); add(d.set);
			if (d.get) { tried(() => v[k]); tried(() => d.get.call(globalThis)) }
		}
	}
	// Memory that was given back: new buffers are zero, and so is what a buffer gives back and gets again.
	const zero = (what, b) => { if (new BigUint64Array(b).some(n => n)) found.add("memory that is not zero: " + what) };
	zero("large ArrayBuffer", new ArrayBuffer(1 << 20));
	for (const size of [24, 104, 1000, 4096, 1 << 16]) {
		zero("ArrayBuffer", new ArrayBuffer(size));
		if (typeof SharedArrayBuffer === "function") zero("SharedArrayBuffer", new SharedArrayBuffer(size));
		const b = new ArrayBuffer(size, { maxByteLength: size });
		new Uint8Array(b).fill(1);
		b.resize(8);
		b.resize(size);
		new Uint8Array(b).fill(0, 0, 8);
		zero("resized", b);
		zero("typed array", new Float64Array(size / 8).buffer);
		zero("transfer", new ArrayBuffer(8).transfer?.(size) ?? new ArrayBuffer(8));
		if (new Array(size).some(v => v !== undefined)) found.add("memory that is not zero: Array");
	}
	return [...found];
})()
