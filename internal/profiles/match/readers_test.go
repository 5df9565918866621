package match

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/settings"
)

// underIn judges a path as the one condition of an allow rule, or of a deny rule if wide is set.
func underIn(t testing.TB, in, text string, wide bool) Result {
	t.Helper()
	args := frozen(t, `{"p":`+quote(text)+`}`)
	o := underOperator{folders: []folder{newFolder(in)}}
	return o.eval(value{args, settings.Member(args.Root, "p"), wide}).Result
}

func frozen(t testing.TB, text string) *Arguments {
	t.Helper()
	root, err := settings.ParseArguments(text)
	if err != nil {
		t.Skipf("no arguments: %v", err)
	}
	return &Arguments{Root: root}
}

// TestPathsThatAreReadDifferently has paths that lead out of a folder, or into one, to some reader.
func TestPathsThatAreReadDifferently(t *testing.T) {
	for _, row := range []struct {
		value string
		allow Result // of /safe in an allow rule
		deny  Result // of /etc in a deny rule
	}{
		{"/safe/a.txt", Yes, No}, {"/safe/.git/config", Yes, No}, {"/safe/a b/c-d_e(1).tar.gz", Yes, No},
		{"/safe/100%", Yes, No},
		{"/safe/50% off.txt", Yes, No}, {"/safe/C++/x.cc", Yes, No}, {"/safe/C#/x.cs", Yes, No},
		{"/safe/Outer$Inner.class", Yes, No},
		{"/safe/a%20b", Yes, No}, {"/safe/caf%C3%A9", Yes, No}, {"/safe/café", Yes, No}, {"/safe/日本語.txt", Yes, No},
		{"/safe/x;y", Yes, No},
		{"/safe/.", Yes, No}, {"/safe/sub/../x", Yes, No}, {"/safe/a..b", Yes, No}, {"/safe/x~", Yes, No},
		{"/safe/@scope/pkg", Yes, No},
		{"/safe/a=b&c,d", Yes, No}, {"/safe/[id]/page.tsx", Yes, No}, {"/safe/😀", Yes, No}, {"/safe/x.", Yes, No},
		{"/safe/", Yes, No}, {"/safe", Yes, No},
		{"/other/x", No, No}, {"/etc/passwd", No, Yes}, {"/data/../etc/x", No, Yes}, {"/safely/x", No, No},

		{"/safe/%2e%2e/%zz/..", Unknown, No}, {"/safe/%2e%2e/etc/%zz", Unknown, Yes},
		{"/safe/%252e%252e/etc/x", Unknown, Yes},
		{"/safe/%25252e%25252e%25252fetc", Unknown, Yes}, {"/safe/%2525252e%2525252e/etc", Unknown, Yes},
		{"/safe/%u002e%u002e/etc", Unknown, Yes},
		{"/safe/..%2fetc", Unknown, Yes}, {"/safe/..%5cetc", Unknown, Yes}, {"/safe/..%255cetc", Unknown, Yes},
		{"/safe/%c0%ae%c0%ae/etc", Unknown, Unknown},
		{`/safe/..\etc`, Unknown, Yes}, {`/safe\../etc`, Unknown, Yes}, {`\safe\..\etc`, Unknown, Yes},
		{"/safe/..;/etc", Unknown, Yes}, {"/safe/..;x=1/etc", Unknown, Yes},
		{"/safe/.. /etc", Unknown, Yes}, {"/safe/.. ./etc", Unknown, Unknown}, {"/safe/.../etc", Unknown, Unknown},
		{"/safe/..%20/etc", Unknown, Yes},
		{"/safe/．．/etc", Unknown, Yes}, {"/safe/..／etc", Unknown, Yes}, {"/safe/‥/etc", Unknown, Yes},
		{"/safe/..∕etc", Unknown, Yes}, {"/safe/..＼etc", Unknown, Yes},
		{"/safe/.\u200c./etc", Unknown, Yes}, {"/safe/%2e\u200d%2e/etc", Unknown, Yes}, {"/safe/..?/../../etc", No, Yes},
		{"/safe/..#/etc", Unknown, No},
		{"/safe/\x00/../../etc", Unknown, Unknown}, {"/safe/%00/x", Unknown, Unknown}, {"/safe/x\n/../../etc", Unknown, Yes},
		{"/safe/a%0ab", Unknown, Unknown},
		{"file:///safe/x", Unknown, Unknown}, {"file:/etc/x", Unknown, Unknown}, {"~/x", Unknown, Unknown},
		{"%7e/x", Unknown, Unknown}, {"$HOME/x", Unknown, Unknown},
		{"/safe/$X/etc", Unknown, Unknown}, {"/safe/${X}", Unknown, Unknown}, {"%APPDATA%/x", Unknown, Unknown},
		{"/safe/%X%/etc", Unknown, Unknown}, {"/safe/$(x)", Unknown, Unknown},
		{`\\?\C:\etc`, Unknown, Unknown}, {`\\etc\share`, Unknown, Yes}, {"//safe/x", Unknown, Unknown},
		{"/safe/{..,x}/etc", Unknown, Unknown},
		{" /safe/x", Unknown, Unknown}, {"/safe/x ", Yes, No}, {" /etc/x", Unknown, Yes}, {"", Unknown, Unknown},
		{"safe/x", Unknown, Unknown},
		{"c:safe", Unknown, Unknown}, {strings.Repeat("/safe/../safe", 4000), Unknown, Unknown},
		{"/safe/%" + strings.Repeat("25", 60) + "2e", Unknown, Unknown}, {"/safe/" + strings.Repeat("%25", 60), Yes, No},
	} {
		if got := underIn(t, "/safe", row.value, false); got != row.allow {
			t.Errorf("allow /safe: %.80q is %s, want %s", row.value, got, row.allow)
		}
		if got := underIn(t, "/etc", row.value, true); got != row.deny {
			t.Errorf("deny /etc: %.80q is %s, want %s", row.value, got, row.deny)
		}
	}
	for value, want := range map[string]Result{`C:\Users\x`: Yes, `c:\users\X`: Yes, `\\?\C:\Users\x`: Yes,
		"/C:/Users/x": Yes, `C:\Windows`: No, `C:\PROGRA~1\x`: Unknown, `C:Users`: Unknown} {
		if got := underIn(t, "C:/Users", value, true); got != want {
			t.Errorf("deny C:/Users: %q is %s, want %s", value, got, want)
		}
	}
}

// pathParts are what the paths of the property test are made of.
var pathParts = []string{"/safe", "/", "/", "..", ".", "a", "b", "%2e", "%2E", "%252e", "%2f", "%252f", "%5c", `\`,
	"%zz", "%", "%25", "2e", "2f", "5c", " ", "%20", ";x", ";",
	"%c0%ae", "．", "／", "%u002e", "%u2215", "c:", "//", "+", "?", "#", "~", "$H", "%0a", "%00", "é", "\u200c", "...", "(",
	"{..,b}"}

// reads are the paths that a value is to upstreams: escapes decoded up to three times, by decoders that refuse what
// they do not know and by those that leave it, on POSIX and on Windows.
func reads(s string) (posix, windows []string) {
	strictly := func(s string) string {
		if d, err := url.PathUnescape(s); err == nil {
			return d
		}
		return s
	}
	leniently := func(s string) string {
		var out []byte
		for i := 0; i < len(s); i++ {
			if d, err := url.PathUnescape(s[i:min(i+3, len(s))]); err == nil && s[i] == '%' {
				out = append(out, d...)
				i += 2
				continue
			}
			out = append(out, s[i])
		}
		return string(out)
	}
	for _, decode := range []func(string) string{strictly, leniently} {
		for at, n := s, 0; n <= 3; n, at = n+1, decode(at) {
			posix = append(posix, path.Clean(at))
			names := strings.Split(strings.ReplaceAll(at, `\`, "/"), "/")
			for i, name := range names {
				if trimmed := strings.TrimRight(name, ". "); trimmed != "" {
					names[i] = trimmed
				} else if strings.Count(name, ".") > 1 {
					names[i] = ".."
				} else {
					names[i] = strings.Trim(name, " ")
				}
			}
			windows = append(windows, path.Clean(strings.Join(names, "/")))
		}
	}
	return posix, windows
}

func checkUnder(t *testing.T, value string) Result {
	got := underIn(t, "/safe", value, false)
	posix, windows := reads(value)
	out := ""
	for _, p := range append(posix, windows...) {
		if p != "/safe" && !strings.HasPrefix(p, "/safe/") {
			out = p
		}
	}
	if got == Yes && out != "" {
		t.Errorf("%q is allowed, and may be %q", value, out)
	}
	for _, p := range posix {
		if (p == "/safe" || strings.HasPrefix(p, "/safe/")) && underIn(t, "/safe", value, true) == No {
			t.Errorf("%q is not denied, and may be %q", value, p)
		}
	}
	return got
}

// TestUnderHoldsForEveryReader makes paths of what is read differently: what an allow rule takes stays in the folder to
// everybody, and what may be in the folder of a deny rule is not let pass.
func TestUnderHoldsForEveryReader(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	m := maker{rand.New(rand.NewPCG(3, 4))}
	judged := map[Result]int{}
	for range 20_000 {
		value := "/safe/"
		for range 1 + m.IntN(7) {
			value += pick(m, pathParts...)
		}
		judged[checkUnder(t, value)]++
		if t.Failed() {
			return
		}
	}
	if judged[Yes] < 500 || judged[Unknown] < 500 {
		t.Errorf("judged %v: the test tests little", judged)
	}
}

func FuzzUnder(f *testing.F) {
	f.Add("/safe/%2e%2e/%zz/..")
	f.Add(`/safe/a b\..;x/%u002e`)
	f.Fuzz(func(t *testing.T, value string) { checkUnder(t, value) })
}

// urlParts are what the URLs of the differential test are made of.
var urlParts = []string{"good.example", "evil.example", "GOOD.example", "a", "localhost", "127.0.0.1", "0x7f.1",
	"017700000001", "2130706433", "127.1", "[::1]", "[::ffff:127.0.0.1]", "[fe80::1%25eth0]",
	"@", "@", ":", ":80", ":99999", ":x", "/", "//", "?", "#", `\`, "%2f", "%40", "%2e", ".", "..", "\t", "\n", " ",
	"user", "user:pw@", "é", "ｇ", "。", "xn--bcher-kva", "xn--", "-", "_", "&", ";", "^", "|", "<", "[", "]", "'", "~", "0",
	"0x", ",", "%00", "\u00ad", "ß"}

// TestHostsAreThoseOfNode compares with the parser of browsers: what is judged to be some host is that host to it.
func TestHostsAreThoseOfNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node, whose URL parser is compared with")
	}
	m := maker{rand.New(rand.NewPCG(5, 6))}
	texts := []string{"http://good.example", "https://user:pw@good.example:8443/a?b=c@d#e",
		"http://good.example/@evil.example/x", "ftp://good.example/x", "postgres://u:p@good.example/db",
		"ssh://git@good.example/x.git"}
	for range 20_000 {
		text := pick(m, "http://", "https://", "HTTP://", "ws://", "ftp://", "foo://", "http:/", "http:", "http:///", "//",
			"file://", "javascript://", "")
		for range 1 + m.IntN(6) {
			text += pick(m, urlParts...)
		}
		texts = append(texts, text)
	}
	in, err := json.Marshal(texts)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), node, "-e",
		`let s="";process.stdin.on("data",d=>s+=d).on("end",()=>console.log(JSON.stringify(JSON.parse(s).map(u=>{try{return new URL(u).hostname}catch(e){return "!"}}))))`)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	must(t, err)
	var theirs []string
	must(t, json.Unmarshal(out, &theirs))
	judged := 0
	for i, text := range texts {
		host, why := plainHost(text)
		if theirs[i] == "!" && strings.Contains(host, "xn--") {
			continue // it knows which names of that form there cannot be, and goes to no other
		}
		if why != "" {
			if i < 6 {
				t.Errorf("%s is not judged: it %s", text, why)
			}
			continue
		}
		judged++
		their := strings.Trim(strings.TrimSuffix(strings.ToLower(theirs[i]), "."), "[]")
		a, errA := netip.ParseAddr(host)
		b, errB := netip.ParseAddr(their)
		if host != their && (errA != nil || errB != nil || a != b) {
			t.Errorf("%q: its host is %q, to Node %q", text, host, theirs[i])
		}
	}
	t.Logf("%d of %d have a host that everybody agrees on", judged, len(texts))
	if judged < 500 {
		t.Errorf("only %d URLs were judged: the test tests little", judged)
	}
}

// TestHostsThatAreReadDifferently has the URLs that a rule must not be sure of, and ordinary ones that it must.
func TestHostsThatAreReadDifferently(t *testing.T) {
	o := hostOperator{hosts: []wantedHost{{name: "good.example"}}}
	for _, row := range []struct {
		url  string
		want Result
	}{
		{"https://good.example", Yes}, {"https://good.example/", Yes}, {"HTTPS://Good.Example./x", Yes},
		{"https://good.example:8443/x?y=z#w", Yes},
		{"https://user:token-1_2.3@good.example/repo.git", Yes}, {"https://good.example/@scope/pkg", Yes},
		{"https://good.example/?to=a@b.example", Yes},
		{"https://good.example?page=2", Yes}, {"https://good.example/a%20b/%2e%2e", Yes}, {"wss://good.example/x", Yes},
		{"ssh://git@good.example/x", Unknown}, {"https://good.example/ü", Yes},
		{"https://evil.example/good.example", No}, {"https://good.example@evil.example/", No},
		{"https://good.example.evil.example", No}, {"https://xn--good-example-abc.evil/", No},
		{"https://good.example@evil.example@good.example/", Unknown}, {"https://a@b@good.example/", Unknown},
		{"https://evil.example%2f@good.example/", Unknown},
		{"https://evil.example%40good.example/", Unknown}, {"https://good.example?@evil.example/", Unknown},
		{"https://good.example#@evil.example/", Unknown},
		{`https://evil.example\@good.example/`, Unknown}, {`https://good.example\.evil.example`, Unknown},
		{"http:/good.example", Unknown}, {"http:good.example", Unknown},
		{"http:///good.example", Unknown}, {"///good.example", Unknown}, {"//good.example", Unknown},
		{"good.example", Unknown}, {"https://good.example:80:80/", Unknown},
		{"https://good.example:99999/", Unknown}, {"https://good.example:+80/", Unknown},
		{"https://good.example:x/", Unknown}, {"https://good\t.example/", Unknown}, {" https://good.example/", Unknown},
		{"https://good.example/\n", Unknown},
		{"https://g%6fod.example/", Unknown}, {"https://good。example/", Unknown}, {"https://ɡood.example/", Unknown},
		{"https://good..example/", Unknown}, {"file://good.example/x", Unknown},
		{"javascript://good.example/%0aalert(1)", Unknown}, {"https://[good.example]/", Unknown},
		{"https://good.example:/", Yes}, {"https://", Unknown}, {"", Unknown}, {"jar:https://good.example/", Unknown},
		{"https://evil.example;@good.example/", Yes}, {"https://evil.example|@good.example/", Unknown},
		{"https://evil.example,good.example/", Unknown},
	} {
		args := frozen(t, `{"u":`+quote(row.url)+`}`)
		if got := o.eval(value{args, settings.Member(args.Root, "u"), false}).Result; got != row.want {
			t.Errorf("%q is %s, want %s", row.url, got, row.want)
		}
	}
}

type maker struct{ *rand.Rand }

func pick[T any](m maker, all ...T) T { return all[m.IntN(len(all))] }

func quote(s string) string { return fmt.Sprintf("%q", s) }

var must = checktest.OK

func TestDrivesAndNumericHosts(t *testing.T) {
	for path, want := range map[string]bool{"a:/": true, "z:/": true, "A:/x": true, "Z:/x": true, "`:/": false,
		"{:/": false, "@:/": false, "[:/": false, "1:/": false, "a:": false, "a/:/": false, "a:x": false} {
		if got := hasDrive(path); got != want {
			t.Errorf("%q has a drive: got %t", path, got)
		}
	}
	for host, want := range map[string]bool{"0x7f000001": true, "a.0x1": true, "127.1": true, "x0": false,
		"example.com": false} {
		if isNumericHost(host) != want {
			t.Errorf("%s is a number: %t", host, !want)
		}
	}
}
