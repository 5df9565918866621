// No second engine inside the guest. Value.
return [typeof WebAssembly, 'WebAssembly' in globalThis].join();
