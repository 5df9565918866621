package memory

const sysMemfdCreate = 319
