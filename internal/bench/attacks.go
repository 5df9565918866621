package bench

import (
	"io/fs"

	"github.com/codemode-project/codemode/testdata/attacks"
)

// Attacks is the suite that comes with the product.
func Attacks() fs.FS { return attacks.Files }
