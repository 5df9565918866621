package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxFile is the maximum length of a configuration file. Ten thousand rules need a tenth of it.
const maxFile = 8 << 20

// Load reads and checks a configuration file. The error is [Problems] if the file is readable but invalid.
func Load(path string) (*Config, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

var errTorn = errors.New("the file was written to while it was read")

// readFile reads a plain file of bounded length. It opens the path once and checks the opened file's type, so that
// nobody can replace the file in between. It opens without blocking, so that a FIFO cannot delay it.
func ReadFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, notPlain(path, info) // opening a device may already do something
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if !before.Mode().IsRegular() {
		return nil, notPlain(path, before)
	}
	if before.Size() > maxFile {
		return nil, tooLong(path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if len(data) > maxFile {
		return nil, tooLong(path)
	}
	after, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if after.Size() != int64(len(data)) || !after.ModTime().Equal(before.ModTime()) {
		return nil, fmt.Errorf("reading the configuration %s: %w", path, errTorn)
	}
	return data, nil
}

func tooLong(path string) error {
	return fmt.Errorf("the configuration %s is longer than %d MiB: split it, or check that it is the right file", path,
		maxFile>>20)
}

func notPlain(path string, info fs.FileInfo) error {
	what := "a special file"
	switch mode := info.Mode(); {
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a FIFO"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return fmt.Errorf("the configuration %s is %s: name a plain file", path, what)
}
