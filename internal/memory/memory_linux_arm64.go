package memory

const sysMemfdCreate = 279
