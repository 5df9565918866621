package upstream

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// pattern compiles an expression when it is first used: all of them together would delay every start of the binary.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Lines of standard error that say why a program ended, and lines that never do.
var (
	escapes = pattern("\x1b\\[[0-9;?]*[ -/]*[@-~]")

	// An uncaught error, as runtimes print it: Node.js, Deno and Bun, Python, Java, .NET, Ruby, Rust, Go.
	uncaught = pattern(`^(panic|fatal error): |` + // Go
		`^(error: )?(Uncaught )?(\(in promise\) )?([\w$]+\.)*[A-Z][\w$]*(Error|Exception|Interrupt|Exit)( \[[\w ]+\])?(:|$)|` +
		`^Error( \[[\w ]+\])?: |^Uncaught |^\[?Unhandled|^Exception in thread |^Caused by: |` +
		`^thread '.*' (\(\d+\) )?panicked at |\((\w+::)*\w*Error\)$`)
	// What programs print of errors that they have handled.
	errorLine = pattern(`(?i)^(\W*\[?[\w./ -]{0,30}\]?:? )?\W?(fatal|error|failed|failure|critical)\b|` +
		`cannot find |can't (find|open) |could not (find|open|resolve) |no such file or directory|command not found|` +
		`: not found$|permission denied|address already in use|EADDRINUSE|is not recognized as|` +
		`^npm (ERR!|error) (404|E\w+|[A-Z]\w*Error|missing|could not)|^\s*╰─▶ `)
	noise = pattern(`^\s*(at .*|\^[\^~ ]*|[}\])]+[,;]?|Node\.js v[\d.]+|Bun v.*|Deno v.*|exit status \d+|` +
		`note: run with .*|goroutine \d+ .*|created by .*|\[signal .*|\.\.\. \d+ more|- /.*|Require stack:|` +
		`\(Use .node --trace-.*|npm (ERR!|error) (A complete log|Log files|\s*/).*|` +
		`stack backtrace:|Run .* --help.*|See .* --help.*|(T|t)ry .* --help.*|For more information.*|` +
		`(\w+|['"]\w+['"]): .*,|\s*File ".*", line \d+.*|[\s~^]*)$`)
	traceback = pattern(`^(  \| |    )*Traceback \(most recent call last\):$`)
)

// telling returns the line of a standard error that says why the program ended, and whether it is the last line. It
// prefers an error that nothing caught, then a line about an error, then the last line that is not noise.
func telling(stderr string) (line string, isLast bool) {
	lines := strings.Split(escapes().ReplaceAllString(stderr, ""), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
	if len(lines) == 0 {
		return "", false
	}
	at := len(lines) - 1
	for _, find := range []func([]string) int{lastTraceback, lastUncaught, lastError, lastPlain} {
		if i := find(lines); i >= 0 {
			at = i
			break
		}
	}
	line = strings.TrimSpace(lines[at])
	if strings.HasPrefix(line, "thread '") && at+1 < len(lines) && strings.HasSuffix(line, ":") {
		line += " " + strings.TrimSpace(lines[at+1]) // Rust writes the message below
	}
	return line, at == len(lines)-1
}

// lastTraceback returns the line below the last traceback of Python.
func lastTraceback(lines []string) int {
	for i, l := range slices.Backward(lines) {
		if !traceback().MatchString(l) {
			continue
		}
		for j := i + 1; j < len(lines); j++ {
			if lines[j][0] != ' ' && lines[j][0] != '\t' {
				return j
			}
		}
	}
	return -1
}

// lastUncaught returns the last line of an error that nothing caught.
func lastUncaught(lines []string) int { return last(lines, uncaught().MatchString) }

// lastError returns the last line about an error.
func lastError(lines []string) int {
	return last(lines, func(l string) bool { return errorLine().MatchString(l) && !noise().MatchString(l) })
}

// lastPlain returns the last line that is not noise.
func lastPlain(lines []string) int {
	return last(lines, func(l string) bool { return !noise().MatchString(l) })
}

func last(lines []string, is func(string) bool) int {
	for i, l := range slices.Backward(lines) {
		if is(l) {
			return i
		}
	}
	return -1
}
