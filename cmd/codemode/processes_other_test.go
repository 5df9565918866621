//go:build !unix

package main

import (
	"errors"
	"os"
)

// alive tells whether a process runs.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Release() == nil
}

// signalParent is for systems with signals.
func signalParent() error { return errors.ErrUnsupported }
