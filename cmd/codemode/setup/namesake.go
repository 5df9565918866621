package setup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
)

// otherName is the name of codemode in the files of a client in which another program has [ourName].
const otherName = "codemode-project"

// A Namesake is another program with the name codemode on the PATH.
type Namesake struct {
	Path, What string
	First      bool // it is what the word codemode starts
}

// FindNamesake finds the first other program with the name codemode in the folders of a PATH.
func FindNamesake(path string) (n Namesake, found bool) {
	first := true
	for _, dir := range filepath.SplitList(path) {
		file, err := exec.LookPath(filepath.Join(dir, ourName)) // which adds the endings of Windows
		if err != nil || dir == "" {
			continue
		}
		if o, what := originOf(file); o == foreign {
			return Namesake{Path: file, What: what, First: first}, true
		}
		first = false
	}
	return Namesake{}, false
}

// String says what the other program means for this one.
func (n Namesake) String() string {
	if n.First {
		return fmt.Sprintf("this is another program (%s), which the word codemode starts in place of this one", n.What)
	}
	return fmt.Sprintf("this is another program (%s), behind this one on the PATH", n.What)
}

// WayOut says how a person has both programs.
func (n Namesake) WayOut() string {
	return "start this one as " + ownPath() + "; docs/installing.md says how to have both"
}

// checkBin reports a path of this program that clients could not start.
func checkBin() error {
	path := os.Getenv(BinVariable)
	if path == "" {
		return nil
	}
	_, err := exec.LookPath(path)
	if err == nil && !filepath.IsAbs(path) {
		err = errors.New("it is no full path")
	}
	if err != nil {
		return fmt.Errorf("%s names %s, which clients cannot start: %w", BinVariable, path, err)
	}
	return nil
}

// ownPath is the path of this program that stays: the one that a person chose, or that of its file.
func ownPath() string {
	if path := os.Getenv(BinVariable); filepath.IsAbs(path) {
		return path
	}
	path, err := os.Executable()
	if err != nil {
		return ourName
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path
}

// command is what a person types to start this program.
func (p places) command() string {
	if n, found := FindNamesake(p.env("PATH")); found && n.First {
		return cli.ShellWord(ownPath())
	}
	return ourName
}

// isNamesake reports whether an entry has the name of codemode, and is not codemode.
func (e *clientEntry) isNamesake() bool { return folded(ourName)(e.name) && !e.isCodemode() }

// nameIn is the name under which codemode comes into a client.
func (c *mcpClient) nameIn(found []*clientFile) string {
	for _, f := range found {
		for _, e := range f.entries {
			if f.client == c && e.isNamesake() {
				return otherName
			}
		}
	}
	return ourName
}
