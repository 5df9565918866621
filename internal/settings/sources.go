package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/visible"
)

const (
	// Lifetime is how long the value of a command or a file is used before it is read again.
	Lifetime = 5 * time.Minute
	// failureLifetime is how long a failure is reported without another try.
	failureLifetime = 5 * time.Second
	// staleWait is how long a value that is over is waited for before the one before it is used once more.
	staleWait = time.Second
	// CommandTime is how long a command may take: a password manager may ask its user first.
	CommandTime = 30 * time.Second
	// killWait is how long the output of a killed command may stay open in its children.
	killWait = time.Second
	// maxValue limits a value, in bytes.
	maxValue = 64 << 10
	// maxErrors limits what is read of a command's errors, and shownErrors what a message quotes of it.
	maxErrors, shownErrors = 4 << 10, 300
)

// Sources look up variables of the environment, and what commands print and files hold. Values stay in memory for
// [Lifetime]. Many goroutines may use a Sources; each command runs once at a time.
type Sources struct {
	env  Lookup
	time time.Duration // of a command

	mu    sync.Mutex
	known map[string]*source // by "cmd:..." and "file:..."
}

type source struct {
	mu      sync.Mutex
	until   time.Time
	value   string
	err     error
	reading chan struct{} // closed when it is read; nil while nobody reads it
}

// NewSources returns Sources with the variables of env.
func NewSources(env Lookup) *Sources {
	return &Sources{env: env, time: CommandTime, known: map[string]*source{}}
}

// Lookup returns the value of a variable, a command or a file. If a command or a file has no value, it returns the
// reason, which never has a part of a value.
func (s *Sources) Lookup(name string) (string, bool) {
	if !IsSource(name) {
		return s.env(name)
	}
	s.mu.Lock()
	one := s.known[name]
	if one == nil {
		one = &source{}
		s.known[name] = one
	}
	s.mu.Unlock()
	return s.lookup(one, name)
}

func (s *Sources) lookup(one *source, name string) (string, bool) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if !time.Now().Before(one.until) {
		if one.reading == nil {
			one.reading = make(chan struct{})
			go s.refresh(one, name)
		}
		reading, enough := one.reading, (<-chan time.Time)(nil)
		if one.value != "" { // a change of the rules must not wait for a slow command
			timer := time.NewTimer(staleWait)
			defer timer.Stop()
			enough = timer.C
		}
		one.mu.Unlock()
		select {
		case <-reading:
		case <-enough:
		}
		one.mu.Lock()
	}
	if one.err != nil {
		return one.err.Error(), false
	}
	return one.value, true
}

func (s *Sources) refresh(one *source, name string) {
	value, err := s.read(name)
	one.mu.Lock()
	defer one.mu.Unlock()
	lifetime := Lifetime
	if one.value, one.err = value, err; err != nil {
		lifetime = failureLifetime
	}
	one.until = time.Now().Add(lifetime)
	close(one.reading)
	one.reading = nil
}

func (s *Sources) read(name string) (value string, err error) {
	if err := checkSource(name); err != nil {
		return "", err
	}
	var data []byte
	if command, ok := strings.CutPrefix(name, commandPrefix); ok {
		words, _ := split(command)
		what := fmt.Sprintf("the command %s of ${cmd:...}", visible.Short(words[0], 80)) // the arguments may name much
		if data, err = s.run(words); err != nil {
			return "", fmt.Errorf("%s %w", what, err)
		}
		return clean(what, data)
	}
	path := strings.TrimPrefix(name, filePrefix)
	what := fmt.Sprintf("the file %s of ${file:...}", visible.Short(path, 200))
	if data, err = readSecret(path); err != nil {
		return "", fmt.Errorf("%s %w", what, err)
	}
	return clean(what, data)
}

// clean removes the end of the last line. what names the source.
func clean(what string, data []byte) (string, error) {
	if data = bytes.TrimSuffix(data, []byte("\n")); bytes.HasSuffix(data, []byte("\r")) {
		data = data[:len(data)-1]
	}
	switch {
	case len(data) > maxValue:
		return "", fmt.Errorf("%s gives more than %d KiB", what, maxValue>>10)
	case len(data) == 0:
		return "", fmt.Errorf("%s gives nothing", what)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "", fmt.Errorf("%s gives something that is not text", what)
	}
	return string(data), nil
}

// run returns what a command prints. It runs in the user's home folder, not in a project's: there a file of the
// project could change what the command does.
func (s *Sources) run(words []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.time)
	defer cancel()
	name, err := atHome(words[0])
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, name, words[1:]...)
	cmd.Dir, _ = os.UserHomeDir()
	if cmd.Dir == "" {
		cmd.Dir = string(filepath.Separator)
	}
	out, wrong := &bounded{most: maxValue + 2}, &bounded{most: maxErrors}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, wrong, killWait
	ownGroup(cmd)
	err = cmd.Run()
	said := ""
	if text := strings.TrimSpace(wrong.String()); text != "" {
		said = ": " + visible.Short(text, shownErrors)
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("did not end within %v%s", s.time, said)
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("was not found in PATH")
	case errors.As(err, &exit):
		return nil, fmt.Errorf("failed (%v)%s", exit.ProcessState, said)
	case err != nil:
		return nil, fmt.Errorf("could not run: %w", err)
	}
	return out.Bytes(), nil
}

// A bounded buffer keeps the first bytes, and takes the rest without keeping it.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), b.most-b.Len())])
	return len(p), nil
}

// readSecret reads a file that only its owner, root and a group can read.
func readSecret(path string) ([]byte, error) {
	path, err := atHome(path)
	if err != nil {
		return nil, err
	}
	unreadable := func(err error) error {
		if pathError, ok := errors.AsType[*os.PathError](err); ok {
			err = pathError.Err // the path stands in the message
		}
		return fmt.Errorf("cannot be read: %w", err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("is not a plain file") // opening a FIFO would wait
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(err)
	}
	if err := onlyOurs(info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxValue+3))
	if err != nil {
		return nil, unreadable(err)
	}
	return data, nil
}
