package profiles

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/settings"
)

// underIn judges a path as the one condition of an allow rule, or of a deny rule if wide is set.
func underIn(t testing.TB, in, text string, wide bool) result {
	t.Helper()
	args := frozen(t, `{"p":`+quote(text)+`}`)
	o := underOperator{folders: []folder{newFolder(in)}}
	return o.eval(value{args, settings.Member(args.root, "p"), wide}).result
}

func frozen(t testing.TB, text string) *arguments {
	t.Helper()
	root, err := settings.ParseArguments(text)
	if err != nil {
		t.Skipf("no arguments: %v", err)
	}
	return &arguments{root: root}
}

// TestPathsThatAreReadDifferently has paths that lead out of a folder, or into one, to some reader.
func TestPathsThatAreReadDifferently(t *testing.T) {
	for _, row := range []struct {
		value string
		allow result // of /safe in an allow rule
		deny  result // of /etc in a deny rule
	}{
		{"/safe/a.txt", yes, no}, {"/safe/.git/config", yes, no}, {"/safe/a b/c-d_e(1).tar.gz", yes, no}, {"/safe/100%", yes, no},
		{"/safe/50% off.txt", yes, no}, {"/safe/C++/x.cc", yes, no}, {"/safe/C#/x.cs", yes, no}, {"/safe/Outer$Inner.class", yes, no},
		{"/safe/a%20b", yes, no}, {"/safe/caf%C3%A9", yes, no}, {"/safe/café", yes, no}, {"/safe/日本語.txt", yes, no}, {"/safe/x;y", yes, no},
		{"/safe/.", yes, no}, {"/safe/sub/../x", yes, no}, {"/safe/a..b", yes, no}, {"/safe/x~", yes, no}, {"/safe/@scope/pkg", yes, no},
		{"/safe/a=b&c,d", yes, no}, {"/safe/[id]/page.tsx", yes, no}, {"/safe/😀", yes, no}, {"/safe/x.", yes, no}, {"/safe/", yes, no}, {"/safe", yes, no},
		{"/other/x", no, no}, {"/etc/passwd", no, yes}, {"/data/../etc/x", no, yes}, {"/safely/x", no, no},

		{"/safe/%2e%2e/%zz/..", unknown, no}, {"/safe/%2e%2e/etc/%zz", unknown, yes}, {"/safe/%252e%252e/etc/x", unknown, yes},
		{"/safe/%25252e%25252e%25252fetc", unknown, yes}, {"/safe/%2525252e%2525252e/etc", unknown, yes}, {"/safe/%u002e%u002e/etc", unknown, yes},
		{"/safe/..%2fetc", unknown, yes}, {"/safe/..%5cetc", unknown, yes}, {"/safe/..%255cetc", unknown, yes}, {"/safe/%c0%ae%c0%ae/etc", unknown, unknown},
		{`/safe/..\etc`, unknown, yes}, {`/safe\../etc`, unknown, yes}, {`\safe\..\etc`, unknown, yes}, {"/safe/..;/etc", unknown, yes}, {"/safe/..;x=1/etc", unknown, yes},
		{"/safe/.. /etc", unknown, yes}, {"/safe/.. ./etc", unknown, unknown}, {"/safe/.../etc", unknown, unknown}, {"/safe/..%20/etc", unknown, yes},
		{"/safe/．．/etc", unknown, yes}, {"/safe/..／etc", unknown, yes}, {"/safe/‥/etc", unknown, yes}, {"/safe/..∕etc", unknown, yes}, {"/safe/..＼etc", unknown, yes},
		{"/safe/.\u200c./etc", unknown, yes}, {"/safe/%2e\u200d%2e/etc", unknown, yes}, {"/safe/..?/../../etc", no, yes}, {"/safe/..#/etc", unknown, no},
		{"/safe/\x00/../../etc", unknown, unknown}, {"/safe/%00/x", unknown, unknown}, {"/safe/x\n/../../etc", unknown, yes}, {"/safe/a%0ab", unknown, unknown},
		{"file:///safe/x", unknown, unknown}, {"file:/etc/x", unknown, unknown}, {"~/x", unknown, unknown}, {"%7e/x", unknown, unknown}, {"$HOME/x", unknown, unknown},
		{"/safe/$X/etc", unknown, unknown}, {"/safe/${X}", unknown, unknown}, {"%APPDATA%/x", unknown, unknown}, {"/safe/%X%/etc", unknown, unknown}, {"/safe/$(x)", unknown, unknown},
		{`\\?\C:\etc`, unknown, unknown}, {`\\etc\share`, unknown, yes}, {"//safe/x", unknown, unknown}, {"/safe/{..,x}/etc", unknown, unknown},
		{" /safe/x", unknown, unknown}, {"/safe/x ", yes, no}, {" /etc/x", unknown, yes}, {"", unknown, unknown}, {"safe/x", unknown, unknown},
		{"c:safe", unknown, unknown}, {strings.Repeat("/safe/../safe", 4000), unknown, unknown}, {"/safe/%" + strings.Repeat("25", 60) + "2e", unknown, unknown}, {"/safe/" + strings.Repeat("%25", 60), yes, no},
	} {
		if got := underIn(t, "/safe", row.value, false); got != row.allow {
			t.Errorf("allow /safe: %.80q is %s, want %s", row.value, got, row.allow)
		}
		if got := underIn(t, "/etc", row.value, true); got != row.deny {
			t.Errorf("deny /etc: %.80q is %s, want %s", row.value, got, row.deny)
		}
	}
	for value, want := range map[string]result{`C:\Users\x`: yes, `c:\users\X`: yes, `\\?\C:\Users\x`: yes, "/C:/Users/x": yes, `C:\Windows`: no, `C:\PROGRA~1\x`: unknown, `C:Users`: unknown} {
		if got := underIn(t, "C:/Users", value, true); got != want {
			t.Errorf("deny C:/Users: %q is %s, want %s", value, got, want)
		}
	}
}

// pathParts are what the paths of the property test are made of.
var pathParts = []string{"/safe", "/", "/", "..", ".", "a", "b", "%2e", "%2E", "%252e", "%2f", "%252f", "%5c", `\`, "%zz", "%", "%25", "2e", "2f", "5c", " ", "%20", ";x", ";",
	"%c0%ae", "．", "／", "%u002e", "%u2215", "c:", "//", "+", "?", "#", "~", "$H", "%0a", "%00", "é", "\u200c", "...", "(", "{..,b}"}

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

func checkUnder(t *testing.T, value string) result {
	got := underIn(t, "/safe", value, false)
	posix, windows := reads(value)
	out := ""
	for _, p := range append(posix, windows...) {
		if p != "/safe" && !strings.HasPrefix(p, "/safe/") {
			out = p
		}
	}
	if got == yes && out != "" {
		t.Errorf("%q is allowed, and may be %q", value, out)
	}
	for _, p := range posix {
		if (p == "/safe" || strings.HasPrefix(p, "/safe/")) && underIn(t, "/safe", value, true) == no {
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
	judged := map[result]int{}
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
	if judged[yes] < 500 || judged[unknown] < 500 {
		t.Errorf("judged %v: the test tests little", judged)
	}
}

func FuzzUnder(f *testing.F) {
	f.Add("/safe/%2e%2e/%zz/..")
	f.Add(`/safe/a b\..;x/%u002e`)
	f.Fuzz(func(t *testing.T, value string) { checkUnder(t, value) })
}

// urlParts are what the URLs of the differential test are made of.
var urlParts = []string{"good.example", "evil.example", "GOOD.example", "a", "localhost", "127.0.0.1", "0x7f.1", "017700000001", "2130706433", "127.1", "[::1]", "[::ffff:127.0.0.1]", "[fe80::1%25eth0]",
	"@", "@", ":", ":80", ":99999", ":x", "/", "//", "?", "#", `\`, "%2f", "%40", "%2e", ".", "..", "\t", "\n", " ", "user", "user:pw@", "é", "ｇ", "。", "xn--bcher-kva", "xn--", "-", "_", "&", ";", "^", "|", "<", "[", "]", "'", "~", "0", "0x", ",", "%00", "\u00ad", "ß"}

// TestHostsAreThoseOfNode compares with the parser of browsers: what is judged to be some host is that host to it.
func TestHostsAreThoseOfNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node, whose URL parser is compared with")
	}
	m := maker{rand.New(rand.NewPCG(5, 6))}
	texts := []string{"http://good.example", "https://user:pw@good.example:8443/a?b=c@d#e", "http://good.example/@evil.example/x", "ftp://good.example/x", "postgres://u:p@good.example/db", "ssh://git@good.example/x.git"}
	for range 20_000 {
		text := pick(m, "http://", "https://", "HTTP://", "ws://", "ftp://", "foo://", "http:/", "http:", "http:///", "//", "file://", "javascript://", "")
		for range 1 + m.IntN(6) {
			text += pick(m, urlParts...)
		}
		texts = append(texts, text)
	}
	in, err := json.Marshal(texts)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), node, "-e", `let s="";process.stdin.on("data",d=>s+=d).on("end",()=>console.log(JSON.stringify(JSON.parse(s).map(u=>{try{return new URL(u).hostname}catch(e){return "!"}}))))`)
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
	o := hostOperator{hosts: []string{"good.example"}}
	for _, row := range []struct {
		url  string
		want result
	}{
		{"https://good.example", yes}, {"https://good.example/", yes}, {"HTTPS://Good.Example./x", yes}, {"https://good.example:8443/x?y=z#w", yes},
		{"https://user:token-1_2.3@good.example/repo.git", yes}, {"https://good.example/@scope/pkg", yes}, {"https://good.example/?to=a@b.example", yes},
		{"https://good.example?page=2", yes}, {"https://good.example/a%20b/%2e%2e", yes}, {"wss://good.example/x", yes}, {"ssh://git@good.example/x", yes}, {"https://good.example/ü", yes},
		{"https://evil.example/good.example", no}, {"https://good.example@evil.example/", no}, {"https://good.example.evil.example", no}, {"https://xn--good-example-abc.evil/", no},
		{"https://good.example@evil.example@good.example/", unknown}, {"https://a@b@good.example/", unknown}, {"https://evil.example%2f@good.example/", unknown},
		{"https://evil.example%40good.example/", unknown}, {"https://good.example?@evil.example/", unknown}, {"https://good.example#@evil.example/", unknown},
		{`https://evil.example\@good.example/`, unknown}, {`https://good.example\.evil.example`, unknown}, {"http:/good.example", unknown}, {"http:good.example", unknown},
		{"http:///good.example", unknown}, {"///good.example", unknown}, {"//good.example", unknown}, {"good.example", unknown}, {"https://good.example:80:80/", unknown},
		{"https://good.example:99999/", unknown}, {"https://good.example:+80/", unknown}, {"https://good.example:x/", unknown}, {"https://good\t.example/", unknown}, {" https://good.example/", unknown}, {"https://good.example/\n", unknown},
		{"https://g%6fod.example/", unknown}, {"https://good。example/", unknown}, {"https://ɡood.example/", unknown}, {"https://good..example/", unknown}, {"file://good.example/x", unknown},
		{"javascript://good.example/%0aalert(1)", unknown}, {"https://[good.example]/", unknown}, {"https://good.example:/", yes}, {"https://", unknown}, {"", unknown}, {"jar:https://good.example/", unknown},
		{"https://evil.example;@good.example/", yes}, {"https://evil.example|@good.example/", unknown}, {"https://evil.example,good.example/", unknown},
	} {
		args := frozen(t, `{"u":`+quote(row.url)+`}`)
		if got := o.eval(value{args, settings.Member(args.root, "u"), false}).result; got != row.want {
			t.Errorf("%q is %s, want %s", row.url, got, row.want)
		}
	}
}
