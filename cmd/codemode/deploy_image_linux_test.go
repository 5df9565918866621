package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// An image is what deploy/Dockerfile builds, with the system's /usr in the place of its base.
type image struct {
	t          *testing.T
	dir        string            // of the bundle
	root       string            // of the file system
	added      string            // the folder below /usr that the image adds to
	env        map[string]string // ENV
	user       [2]int            // USER
	workdir    string
	entrypoint []string
	volumes    []string
	port       string
}

// profileOfContainers is the system's default filter of system calls for containers. Docker's has the same origin.
const profileOfContainers = "/usr/share/containers/seccomp.json"

// buildImage follows deploy/Dockerfile. It needs root, runc and that filter.
func buildImage(t *testing.T) *image {
	t.Helper()
	needConfinement(t)
	endToEnd(t)
	if _, err := exec.LookPath("runc"); err != nil {
		t.Skip("runc is not installed, which starts containers (on Debian: apt-get install runc)")
	}
	if _, err := os.Stat(profileOfContainers); err != nil {
		t.Skip("there is no filter for containers here (on Debian: apt-get install golang-github-containers-common): ", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root starts containers that way")
	}
	im := &image{t: t, dir: t.TempDir(), env: map[string]string{}}
	im.root = filepath.Join(im.dir, "rootfs")
	for _, name := range []string{"usr", "proc", "dev", "tmp", "etc", "sys", "var/lib"} {
		im.must(os.MkdirAll(filepath.Join(im.root, name), 0o755))
	}
	im.must(os.Chmod(filepath.Join(im.root, "tmp"), 0o777|os.ModeSticky)) // runc mounts with the mode that is there
	for _, name := range []string{"bin", "lib", "lib64"} {
		im.must(os.Symlink("usr/"+name, filepath.Join(im.root, name)))
	}
	for _, name := range []string{"/etc/ld.so.cache", "/etc/passwd", "/etc/group"} { // as the base has them
		im.sh("cp", name, filepath.Join(im.root, "etc"))
	}
	text, err := os.ReadFile("../../deploy/Dockerfile")
	im.must(err)
	stage := 0
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "FROM" {
			stage++
		} else if word != "" && !strings.HasPrefix(word, "#") {
			im.step(stage, word, strings.TrimSpace(rest))
		}
	}
	return im
}

func (im *image) must(err error) {
	im.t.Helper()
	checktest.OK(im.t, err)
}

func (im *image) sh(name string, args ...string) {
	im.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		im.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// step does what one line of the Dockerfile says. In the first stage absolute paths are in a folder of its own.
func (im *image) step(stage int, word, rest string) {
	im.t.Helper()
	build := filepath.Join(im.dir, "build")
	in := func(path string) string { return filepath.Join(im.root, path) }
	switch {
	case stage == 1 && word == "RUN":
		im.must(os.MkdirAll(build, 0o755))
		cmd := exec.Command("sh", "-ec", strings.ReplaceAll(rest, " /", " "+build+"/"))
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			im.t.Fatalf("RUN %s: %v\n%s", rest, err, out)
		}
	case stage == 1 && (word == "WORKDIR" || word == "COPY"): // the sources are here
	case word == "COPY":
		words := strings.Fields(rest)
		from, to := words[len(words)-2], words[len(words)-1]
		if !slices.Contains(words, "--from=build") {
			im.t.Fatalf("COPY %s: it is not from the first stage", rest)
		}
		place := in(to)
		if strings.HasPrefix(to, "/usr/") { // this /usr is the system's: the folder is mounted over it
			im.added, place = filepath.Dir(to), filepath.Join(im.dir, "added", filepath.Base(to))
		}
		im.must(os.MkdirAll(filepath.Dir(place), 0o755))
		source := filepath.Join(build, from)
		if strings.HasPrefix(from, "/etc/ssl/") { // the base of the first stage has it
			source = from
		}
		im.sh("cp", "-r", source, place)
		for _, w := range words {
			if owner, ok := strings.CutPrefix(w, "--chown="); ok {
				im.sh("chown", "-R", owner, place)
			}
		}
	case word == "USER":
		_, err := fmt.Sscanf(rest, "%d:%d", &im.user[0], &im.user[1])
		im.must(err)
	case word == "ENV":
		for _, pair := range strings.Fields(rest) {
			name, value, _ := strings.Cut(pair, "=")
			im.env[name] = value
		}
	case word == "VOLUME":
		im.volumes = append(im.volumes, rest)
	case word == "WORKDIR":
		im.workdir = rest
	case word == "EXPOSE":
		im.port = rest
	case word == "ENTRYPOINT":
		im.must(json.Unmarshal([]byte(rest), &im.entrypoint))
	default:
		im.t.Fatalf("deploy/Dockerfile: the test does not know %s %s", word, rest)
	}
}

// object is JSON that a container's configuration has.
type object = map[string]any

func mount(to, from, kind string, options ...string) object {
	return object{"destination": to, "source": from, "type": kind, "options": options}
}

// bundle writes the configuration of a container that runs a command, with the flags that deploy/Dockerfile names.
func (im *image) bundle(args []string, files map[string]string) {
	im.t.Helper()
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	for _, name := range slices.Sorted(maps.Keys(im.env)) {
		env = append(env, name+"="+im.env[name])
	}
	mounts := []object{
		mount("/proc", "proc", "proc"), mount("/usr", "/usr", "bind", "rbind", "ro"),
		mount(im.added, filepath.Join(im.dir, "added"), "bind", "bind", "ro"),
		mount("/dev", "tmpfs", "tmpfs", "nosuid", "mode=755"), mount("/sys", "sysfs", "sysfs", "nosuid", "noexec", "nodev", "ro"),
		mount("/tmp", "tmpfs", "tmpfs", "nosuid", "nodev", "mode=1777"), // --tmpfs /tmp
	}
	for _, dir := range im.volumes { // a volume begins with what the image has there
		volume := filepath.Join(im.dir, "volume"+strings.ReplaceAll(dir, "/", "-"))
		if _, err := os.Stat(volume); err != nil {
			im.sh("cp", "-a", filepath.Join(im.root, dir), volume)
		}
		mounts = append(mounts, mount(dir, volume, "bind", "rbind", "rw"))
	}
	for to, from := range files {
		mounts = append(mounts, mount(to, from, "bind", "bind", "ro"))
	}
	namespaces := []object{}
	for _, kind := range []string{"pid", "ipc", "uts", "mount", "network"} {
		namespaces = append(namespaces, object{"type": kind})
	}
	text, err := json.Marshal(object{
		"ociVersion": "1.0.2", "root": object{"path": im.root, "readonly": true}, "hostname": "codemode", "mounts": mounts,
		"process": object{
			"args": args, "env": env, "cwd": im.workdir, "user": object{"uid": im.user[0], "gid": im.user[1]},
			"noNewPrivileges": true, "capabilities": object{},
		},
		"linux": object{"namespaces": namespaces, "seccomp": containerFilter(im.t),
			"maskedPaths":   []string{"/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"},
			"readonlyPaths": []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}},
	})
	im.must(err)
	im.must(os.WriteFile(filepath.Join(im.dir, "config.json"), text, 0o600))
}

// containerFilter is the default filter of system calls for a container without capabilities.
func containerFilter(t *testing.T) object {
	t.Helper()
	text, err := os.ReadFile(profileOfContainers)
	checktest.OK(t, err)
	type conditions struct{ Caps, Arches []string }
	var profile struct {
		DefaultAction   string
		DefaultErrnoRet int
		Syscalls        []struct {
			Names              []string
			Action             string
			ErrnoRet           *int
			Args               []object
			Includes, Excludes conditions
		}
	}
	checktest.OK(t, json.Unmarshal(text, &profile))
	holds := func(c conditions) bool {
		return len(c.Caps) == 0 && (len(c.Arches) == 0 || slices.Contains(c.Arches, runtime.GOARCH))
	}
	var calls []object
	for _, s := range profile.Syscalls {
		if !holds(s.Includes) || len(s.Excludes.Arches) > 0 && slices.Contains(s.Excludes.Arches, runtime.GOARCH) {
			continue
		}
		one := object{"names": s.Names, "action": s.Action}
		if s.ErrnoRet != nil && s.Action == "SCMP_ACT_ERRNO" {
			one["errnoRet"] = *s.ErrnoRet
		}
		if len(s.Args) > 0 {
			one["args"] = s.Args
		}
		calls = append(calls, one)
	}
	if len(calls) < 5 {
		t.Fatalf("%s has %d rules", profileOfContainers, len(calls))
	}
	return object{"defaultAction": profile.DefaultAction, "defaultErrnoRet": profile.DefaultErrnoRet, "syscalls": calls}
}

// run runs a command in a container of its own, in the place of the entry point.
func (im *image) run(args ...string) (string, error) {
	im.t.Helper()
	im.bundle(args, nil)
	var out, problems bytes.Buffer
	cmd := exec.Command("runc", "--root", filepath.Join(im.dir, "runc"), "run", "--bundle", im.dir,
		"codemode-test-"+strconv.Itoa(os.Getpid()))
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, problems.String())
	}
	return out.String(), err
}

// TestTheImage: in the container that deploy/Dockerfile builds the attacks end as they do outside, everything is
// read-only but the state and /tmp, nothing has a capability, and the entry point serves. CODEMODE_LONG=1 is all attacks
func TestTheImage(t *testing.T) {
	im := buildImage(t)
	im.isTight(t)
	im.passesTheExam(t)
	im.serves(t)
}

// isTight holds what the container may do.
func (im *image) isTight(t *testing.T) {
	out, err := im.run("sh", "-c", "cat /proc/self/status; for p in / /usr /etc /usr/local/bin /var /var/lib/codemode /tmp; do "+
		"if (echo x >$p/x) 2>/dev/null; then echo writes $p; fi; done")
	im.must(err)
	for _, want := range []string{"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1",
		"Seccomp:\t2", "Uid:\t" + strconv.Itoa(im.user[0])} {
		if !strings.Contains(out, want) {
			t.Errorf("the container lacks %q:\n%s", want, out)
		}
	}
	if _, written, _ := strings.Cut(out, "writes "); written != "/var/lib/codemode\nwrites /tmp\n" || im.user[0] == 0 {
		t.Errorf("user %d writes %q", im.user[0], written)
	}
	if out, err := im.run("env", "-u", "CODEMODE_CONFIG", "codemode", "doctor", "--project", "none"); err != nil || !strings.Contains(out,
		"a confined process was stopped at changes, files, ports, privileges, signals, sockets") {
		t.Errorf("the doctor: %v\n%s", err, out)
	}
}

func (im *image) passesTheExam(t *testing.T) {
	part := []string{"--filter", "b0[1-5]*"}
	if os.Getenv("CODEMODE_LONG") != "" {
		part = nil
	}
	exams := slices.Concat([]string{"bench", "isolation", "--once", "--format", "json", "--confine"}, part)
	out, err := im.run(append([]string{"codemode"}, exams...)...)
	im.must(err)
	inside := outcomes(t, []byte(out))
	endAlike(t, outsideExam(t, part...), inside)
}

// serves: the entry point serves clients and programs, with a server in a process of its own, and ends when it is told
// to.
func (im *image) serves(t *testing.T) {
	self, err := os.Executable()
	im.must(err)
	config := write(t, filepath.Join(im.dir, "codemode.json"), `{
		"http": {"tokens": [{"token": "${file:/run/secrets/token}", "principal": "anna"}]},
		"mcpServers": {"a": {"command": "/opt/prober", "env": {"`+asCommand+`": "prober"}}}}`)
	im.must(os.Chmod(config, 0o644))
	token := write(t, filepath.Join(im.dir, "token"), "the-token-of-anna\n")
	im.must(os.Chown(token, im.user[0], im.user[1]))
	for _, path := range []string{"opt/prober", "run/secrets/token", im.env["CODEMODE_CONFIG"]} {
		im.must(os.MkdirAll(filepath.Dir(filepath.Join(im.root, path)), 0o755))
		im.must(os.WriteFile(filepath.Join(im.root, path), nil, 0o644))
	}
	im.bundle(im.entrypoint, map[string]string{"/opt/prober": self, "/run/secrets/token": token,
		im.env["CODEMODE_CONFIG"]: config})
	runc := []string{"--root", filepath.Join(im.dir, "runc")}
	name := "codemode-test-served-" + strconv.Itoa(os.Getpid())
	t.Cleanup(func() { _ = exec.Command("runc", append(runc, "delete", "--force", name)...).Run() })
	cmd := exec.Command("runc", append(runc, "run", "--bundle", im.dir, name)...)
	log, ended := &screen{}, make(chan error, 1)
	cmd.Stderr = log
	im.must(cmd.Start())
	go func() { ended <- cmd.Wait() }()
	if !testwait.Holds(func() bool { return listeningAt.MatchString(log.String()) }) {
		t.Fatalf("it does not listen:\n%s", log)
	}
	state, err := exec.Command("runc", append(runc, "state", name)...).Output()
	im.must(err)
	pid := regexp.MustCompile(`"pid": (\d+)`).FindSubmatch(state)
	if pid == nil {
		t.Fatalf("runc state: %s", state)
	}
	network := "/proc/" + string(pid[1]) + "/ns/net"
	by := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return dialIn(network, "127.0.0.1:"+im.port)
	}}
	defer by.CloseIdleConnections()
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	c, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://127.0.0.1:" + im.port + "/mcp",
		HTTPClient: &http.Client{Transport: tokenOver{by}}, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	for what, want := range map[string]string{"write /var/lib/codemode/home/x": "permission denied", "temp": "done",
		"write /var/lib/codemode/codemode.db": "permission denied", "read /run/secrets/token": "permission denied",
		"read " + im.env["CODEMODE_CONFIG"]: "permission denied", "signal": "not permitted"} {
		got := callText(t, c, fmt.Sprintf(`try { return await codemode.a.try({what: %q}) } catch (e) { return e.message }`, what))
		if !strings.Contains(strings.SplitN(got, "\n", 2)[0], want) {
			t.Errorf("%s: got %q, want %q\n%s", what, got, want, log)
		}
	}
	c.Close()
	im.must(exec.Command("runc", append(runc, "kill", name, "TERM")...).Run())
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v\n%s", err, log)
	}
}

// tokenOver sends a token over a transport.
type tokenOver struct{ by *http.Transport }

func (o tokenOver) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer the-token-of-anna")
	return o.by.RoundTrip(r)
}

// dialIn connects from another network namespace.
func dialIn(network, address string) (c net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		var fd int
		if fd, err = unix.Open(network, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return
		}
		defer unix.Close(fd)
		if err = unix.Setns(fd, unix.CLONE_NEWNET); err == nil {
			c, err = net.Dial("tcp", address)
		}
	}()
	<-done
	return c, err
}
