package sandbox

const sysMemfdCreate = 319
