//go:build !unix

package upstream_test

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
