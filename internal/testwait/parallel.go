package testwait

import (
	"flag"
	"strconv"
)

// Parallel is for the TestMain of a package whose parallel tests mostly wait: n of them run at once, whatever the number
// of processors, unless -parallel says another number.
func Parallel(n int) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(n))
	}
}
