//go:build !linux

package main

import "errors"

func probeMore(string, string, string, []string) error {
	return errors.New("this is tried on Linux alone")
}

func execWithoutLandlock() {}
