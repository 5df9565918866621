//go:build !race

package catalog_test

// raceFactor is how much slower the race detector makes what is measured.
const raceFactor = 1
