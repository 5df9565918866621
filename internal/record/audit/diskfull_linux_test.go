package audit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/codemode-project/codemode/internal/record/audit"
)

// TestDiskFull lets the room run out at many places: in the log, in a checkpoint of it, between the two.
func TestDiskFull(t *testing.T) {
	for _, room := range []int64{0, 1 << 10, 9 << 10, 20 << 10, 33 << 10, 50 << 10, 100 << 10, 300 << 10} {
		t.Run(fmt.Sprint(room, " bytes left"), func(t *testing.T) { diskFull(t, room) })
	}
}

func diskFull(t *testing.T, room int64) {
	p := newPlace(t)
	small := filepath.Join(p.dir, "small")
	must(t, os.Mkdir(small, 0o700))
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=3m"); err != nil {
		t.Skip("a small file system can be mounted by root only: run it as root, as .ci/run does")
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, 0); err != nil {
			_ = syscall.Unmount(small, syscall.MNT_DETACH)
		}
	})
	p.dir = small
	r := audit.New(p.options())
	must(t, r.Write(t.Context(), running("r_1", 1)))
	ballast := filepath.Join(small, "ballast")
	fill(t, ballast)
	info, err := os.Stat(ballast)
	must(t, err)
	must(t, os.Truncate(ballast, info.Size()-room))
	var refused error
	acknowledged := 1
	for n := 2; refused == nil && n < 5000; n++ {
		if refused = r.Write(t.Context(), running("r_1", n)); refused == nil {
			acknowledged++
		}
	}
	if !strings.Contains(reason(refused), "full") {
		t.Fatalf("on a full disk: %v", refused)
	}
	must(t, r.Add(t.Context(), ended("r_1", 1)))
	if err := r.Write(t.Context(), running("r_1", 5001)); err == nil {
		t.Fatal("it was written though the disk is full")
	}
	must(t, os.Remove(ballast))
	eventually(t, "writing again", func() error { return r.Write(t.Context(), running("r_1", 5002)) })
	closeRecord(t, r)
	states := map[string]int{}
	for _, e := range entries(t, p) {
		states[e.State]++
	}
	if states[audit.Running] < acknowledged+1 || states[audit.OK] != 1 {
		t.Errorf("%d entries were acknowledged; recorded are %v", acknowledged+2, states)
	}
	verified(t, p)
}

// fill writes until there is no room.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	for _, size := range []int{64 << 10, 4 << 10, 512, 1} {
		block := make([]byte, size)
		for {
			if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
				break
			} else if err != nil {
				t.Fatal(fmt.Errorf("filling the disk: %w", err))
			}
		}
	}
}
