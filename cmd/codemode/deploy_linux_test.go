package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTheUnit: systemd reads every line of the unit and counts how much it may still do, from 0 to 10.
func TestTheUnit(t *testing.T) {
	const unit = "../../deploy/codemode.service"
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	out, _ := exec.Command("systemd-analyze", "verify", unit).CombinedOutput() // it fails without an installed codemode
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "codemode.service") && !strings.Contains(line, "is not executable") {
			t.Error(line)
		}
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", unit).CombinedOutput()
	found := regexp.MustCompile(`exposure level for codemode.service: ([0-9.]+)`).FindSubmatch(out)
	if found == nil {
		t.Skipf("this systemd does not judge files: %v", err)
	}
	if exposure, err := strconv.ParseFloat(string(found[1]), 64); err != nil || exposure > 2 {
		t.Errorf("the exposure is %s, want at most 2:\n%s", found[1], out)
	}
}

// container makes a root that is read-only but for the state and /tmp, as the flags of deploy/Dockerfile do, and runs a
// command there as nobody, without capabilities.
const container = `
set -e
root=$1 binary=$2
shift 2
mount -t tmpfs tmpfs "$root"
mkdir -p "$root/usr" "$root/proc" "$root/dev" "$root/tmp" "$root/etc" "$root/var/lib/codemode"
mount --rbind /usr "$root/usr"
mount -o remount,bind,ro "$root/usr"
for dir in bin lib lib64; do ln -s "usr/$dir" "$root/$dir"; done
cp "$binary" "$root/codemode"
cp /etc/ld.so.cache "$root/etc"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/var/lib/codemode"
mkdir "$root/var/lib/codemode/home"
chmod 1777 "$root/tmp"
chown -R 65532:65532 "$root/var/lib/codemode"
mount -o remount,ro "$root"
exec env -i PATH=/usr/sbin:/usr/bin HOME=/var/lib/codemode/home CODEMODE_STATE=/var/lib/codemode \
	chroot "$root" /usr/bin/setpriv --reuid 65532 --regid 65532 --clear-groups --bounding-set=-all --inh-caps=-all \
	--no-new-privs "$@"
`

// TestInAReadOnlyRoot: what the container promises, without an engine for containers.
func TestInAReadOnlyRoot(t *testing.T) {
	needConfinement(t)
	endToEnd(t)
	binary := codemodeBinary(t)
	run := func(words ...string) (string, error) {
		args := append([]string{"--mount", "--propagation", "private", "sh", "-c", container, "sh", t.TempDir(), binary},
			words...)
		out, err := exec.Command("unshare", args...).CombinedOutput()
		return string(out), err
	}
	if out, err := run("true"); err != nil {
		t.Skipf("no such root can be made here (root only): %v %s", err, out)
	}
	for _, path := range []string{"/x", "/usr/x", "/etc/x", "/codemode"} {
		if out, err := run("sh", "-c", "echo x >"+path); err == nil {
			t.Errorf("%s can be written: %s", path, out)
		}
	}
	filter := "b0[1-3]*"
	if os.Getenv("CODEMODE_LONG") != "" {
		filter = "*"
	}
	out, err := run("/codemode", "bench", "isolation", "--once", "--confine", "--filter", filter)
	if err != nil {
		t.Errorf("the exam: %v\n%s", err, out)
	}
	out, err = run("/codemode", "doctor", "--project", "none")
	if err != nil || !strings.Contains(out, "a confined process was stopped at changes, files, ports, privileges") {
		t.Errorf("the doctor: %v\n%s", err, out)
	}
	out, err = run("sh", "-c", "/codemode serve --confine --project none </dev/null")
	if err != nil {
		t.Errorf("serve: %v\n%s", err, out)
	}
}
