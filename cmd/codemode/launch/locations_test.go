package launch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
)

// A managed file that cannot be looked at is not one that is not there.
func TestAManagedFileIsNotLeftOut(t *testing.T) {
	t.Setenv("CODEMODE_MANAGED", "other.json")
	dir := t.TempDir()
	path := filepath.Join(dir, "codemode", "managed.json")
	check := func(name, want string) {
		t.Helper()
		if got := managedFileAt(path); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	check("no folder", "other.json")
	checktest.OK(t, os.WriteFile(filepath.Dir(path), nil, 0o600))
	check("a file in place of the folder", path)
	checktest.OK(t, os.Remove(filepath.Dir(path)))
	checktest.OK(t, os.Mkdir(filepath.Dir(path), 0o700))
	check("no file", "other.json")
	if err := os.Symlink("managed.json", path); err != nil {
		t.Skip("links cannot be made here:", err)
	}
	check("a link in a circle", path)
	checktest.OK(t, os.Chmod(filepath.Dir(path), 0))
	check("a folder that may not be searched", path)
	_ = os.Chmod(filepath.Dir(path), 0o700)
}
