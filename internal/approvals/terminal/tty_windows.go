package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// A console reads lines like any input, but can discard what was typed early.
type console struct {
	*lines
	handle windows.Handle
}

func newTTY(f *os.File) lineSource { return &console{newLines(f), windows.Handle(f.Fd())} }

func (c *console) drop() error {
	if err := c.lines.drop(); err != nil {
		return err
	}
	return windows.FlushConsoleInputBuffer(c.handle)
}
