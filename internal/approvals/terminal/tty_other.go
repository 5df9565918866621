//go:build !windows && (!unix || aix || solaris)

package terminal

import "os"

// newTTY returns nil, which means that nobody is there: if early input cannot be discarded, an answer could be meant
// for something else.
func newTTY(*os.File) lineSource { return nil }
