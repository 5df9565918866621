// typeof fetch, process and require is undefined. Value.
return [typeof fetch, typeof process, typeof require].join();
