package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
)

type conditionRow struct {
	title, when, args string
	wide, narrow      byte
}

// conditionRows is POLICY.md A4, A5 and A7: a condition, arguments, and how it comes out
// where rules match widely (deny and ask) and narrowly (allow). T, F and U are true, false
// and unknown.
var conditionRows = []conditionRow{
	// eq and in
	{"equal text", `"/a": {"eq": "main"}`, `{"a": "main"}`, 'T', 'T'},
	{"other text", `"/a": {"eq": "main"}`, `{"a": "dev"}`, 'F', 'F'},
	{"text in another case", `"/a": {"eq": "main"}`, `{"a": "MAIN"}`, 'T', 'F'},
	{"text in another width", `"/a": {"eq": "main"}`, `{"a": "ｍａｉｎ"}`, 'T', 'F'},
	{"a long s and a Kelvin sign", `"/a": {"eq": "sk"}`, `{"a": "ſK"}`, 'T', 'F'},
	{"a sharp s", `"/a": {"eq": "strasse"}`, `{"a": "Straße"}`, 'T', 'F'},
	{"text with a space is other text", `"/a": {"eq": "main"}`, `{"a": "main "}`, 'F', 'F'},
	{"the text of a number is not the number", `"/a": {"eq": "5"}`, `{"a": 5}`, 'U', 'U'},
	{"a list with the text in it", `"/a": {"eq": "main"}`, `{"a": ["main"]}`, 'U', 'U'},
	{"null is no text", `"/a": {"eq": "main"}`, `{"a": null}`, 'U', 'U'},
	{"equal numbers, written otherwise", `"/a": {"eq": 1}`, `{"a": 1.0e0}`, 'T', 'T'},
	{"numbers beyond floats are told apart", `"/a": {"eq": 9007199254740993}`, `{"a": 9007199254740992}`, 'F', 'F'},
	{"equal to true", `"/a": {"eq": true}`, `{"a": true}`, 'T', 'T'},
	{"false is not true", `"/a": {"eq": true}`, `{"a": false}`, 'F', 'F'},
	{"the text true is not true", `"/a": {"eq": true}`, `{"a": "true"}`, 'U', 'U'},
	{"one is not true", `"/a": {"eq": true}`, `{"a": 1}`, 'U', 'U'},
	{"equal to null", `"/a": {"eq": null}`, `{"a": null}`, 'T', 'T'},
	{"text is not null", `"/a": {"eq": null}`, `{"a": "x"}`, 'F', 'F'},
	{"equal objects in another order", `"/a": {"eq": {"x": 1, "y": [true]}}`, `{"a": {"y": [true], "x": 1.0}}`, 'T', 'T'},
	{"an object with a member more", `"/a": {"eq": {"x": 1}}`, `{"a": {"x": 1, "y": 2}}`, 'F', 'F'},
	{"an object with another member", `"/a": {"eq": {"x": 1}}`, `{"a": {"y": 1}}`, 'F', 'F'},
	{"lists have an order", `"/a": {"eq": [1, 2]}`, `{"a": [2, 1]}`, 'F', 'F'},
	{"one of several", `"/a": {"in": ["web", "api"]}`, `{"a": "api"}`, 'T', 'T'},
	{"one of several in another case", `"/a": {"in": ["web", "api"]}`, `{"a": "Api"}`, 'T', 'F'},
	{"none of several", `"/a": {"in": ["web", "api"]}`, `{"a": "db"}`, 'F', 'F'},
	{"of a kind that none of them has", `"/a": {"in": ["web", 1]}`, `{"a": ["web"]}`, 'U', 'U'},
	{"of a kind that one of them has", `"/a": {"in": ["web", 1]}`, `{"a": 2}`, 'F', 'F'},

	// missing, wrong type, where pointers lead
	{"a missing argument", `"/a": {"eq": "x"}`, `{"b": "x"}`, 'U', 'U'},
	{"no arguments at all", `"/a": {"eq": "x"}`, ``, 'U', 'U'},
	{"missing counts as a match if it says so", `"/a": {"eq": "x", "ifMissing": "match"}`, `{}`, 'T', 'T'},
	{"missing counts as no match if it says so", `"/a": {"eq": "x", "ifMissing": "noMatch"}`, `{}`, 'F', 'F'},
	{"missing is unknown if it says so", `"/a": {"eq": "x", "ifMissing": "unknown"}`, `{}`, 'U', 'U'},
	{"the wrong type is not missing", `"/a": {"eq": "x", "ifMissing": "noMatch"}`, `{"a": ["x"]}`, 'U', 'U'},
	{"a look-alike of the key", `"/path": {"eq": "x"}`, `{"Path": "x"}`, 'T', 'U'},
	{"a look-alike with another value", `"/path": {"eq": "x"}`, `{"PATH": "y"}`, 'U', 'U'},
	{"a look-alike is not missing", `"/path": {"eq": "x", "ifMissing": "noMatch"}`, `{"ｐath": "x"}`, 'T', 'U'},
	{"the key and a look-alike that would match", `"/path": {"eq": "x"}`, `{"path": "y", "Path": "x"}`, 'T', 'U'},
	{"the key matches and a look-alike stands beside", `"/path": {"eq": "x"}`, `{"Path": "y", "path": "x"}`, 'T', 'U'},
	{"look-alikes from end to end of the alphabet", `"/az": {"eq": "x"}`, `{"AZ": "x"}`, 'T', 'U'},
	{"a look-alike of another script", `"/path": {"eq": "x"}`, `{"p\u0430th": "x", "path": "x"}`, 'T', 'U'},
	{"a look-alike with a character that nobody sees", `"/path": {"eq": "x"}`, `{"pa\u200bth": "x"}`, 'T', 'U'},
	{"a key of the same length is no look-alike", `"/path": {"eq": "x"}`, `{"math": "x", "path": "x"}`, 'T', 'T'},
	{"deep inside", `"/a/b/c": {"eq": 1}`, `{"a": {"b": {"c": 1}}}`, 'T', 'T'},
	{"missing on the way", `"/a/b/c": {"eq": 1, "ifMissing": "noMatch"}`, `{"a": {}}`, 'F', 'F'},
	{"null on the way is missing", `"/a/b": {"eq": 1, "ifMissing": "noMatch"}`, `{"a": null}`, 'F', 'F'},
	{"text on the way is the wrong type", `"/a/b": {"eq": 1, "ifMissing": "noMatch"}`, `{"a": "{\"b\": 1}"}`, 'U', 'U'},
	{"a slash in a key", `"/a~1b": {"eq": 1}`, `{"a/b": 1}`, 'T', 'T'},
	{"a tilde in a key", `"/a~0b": {"eq": 1}`, `{"a~b": 1}`, 'T', 'T'},
	{"an escaped tilde before a one", `"/~01": {"eq": 1}`, `{"~1": 1}`, 'T', 'T'},
	{"an empty key", `"/": {"eq": 1}`, `{"": 1}`, 'T', 'T'},
	{"an element by its index", `"/a/1": {"eq": "y"}`, `{"a": ["x", "y"]}`, 'T', 'T'},
	{"an index beyond the end is missing", `"/a/2": {"eq": "y", "ifMissing": "noMatch"}`, `{"a": ["x", "y"]}`, 'F', 'F'},
	{"an index with a leading zero is none", `"/a/01": {"eq": "y"}`, `{"a": ["x", "y"]}`, 'U', 'U'},
	{"a name where the argument is a list", `"/a/b": {"eq": "y", "ifMissing": "noMatch"}`, `{"a": ["x"]}`, 'U', 'U'},
	{"an index as the key of an object", `"/a/0": {"eq": "y"}`, `{"a": {"0": "y"}}`, 'T', 'T'},

	// wildcards
	{"any element against all elements", `"/f/*": {"eq": "x"}`, `{"f": ["x", "y"]}`, 'T', 'F'},
	{"all elements", `"/f/*": {"eq": "x"}`, `{"f": ["x", "x"]}`, 'T', 'T'},
	{"no element", `"/f/*": {"eq": "x"}`, `{"f": ["y", "z"]}`, 'F', 'F'},
	{"an empty list", `"/f/*": {"eq": "x"}`, `{"f": []}`, 'F', 'F'},
	{"an element of the wrong type among others", `"/f/*": {"eq": "x"}`, `{"f": ["y", 1]}`, 'U', 'F'},
	{"an element of the wrong type beside a match", `"/f/*": {"eq": "x"}`, `{"f": ["x", 1]}`, 'T', 'U'},
	{"below each element", `"/f/*/path": {"under": "/etc"}`, `{"f": [{"path": "/data/a"}, {"path": "/etc/b"}]}`, 'T', 'F'},
	{"missing in one element", `"/f/*/path": {"under": "/etc"}`, `{"f": [{"path": "/data/a"}, {}]}`, 'U', 'F'},
	{"an element that is null", `"/f/*/path": {"under": "/etc"}`, `{"f": [null]}`, 'U', 'U'},
	{"a wildcard on an object", `"/f/*": {"eq": "x"}`, `{"f": {"a": "x"}}`, 'U', 'U'},
	{"a wildcard on text", `"/f/*": {"eq": "x"}`, `{"f": "x"}`, 'U', 'U'},
	{"a missing list", `"/f/*": {"eq": "x", "ifMissing": "noMatch"}`, `{}`, 'F', 'F'},
	{"two wildcards", `"/f/*/g/*": {"eq": 1}`, `{"f": [{"g": [1, 2]}, {"g": [1]}]}`, 'T', 'F'},

	// prefix, suffix, glob, regex
	{"text that begins with", `"/a": {"prefix": "rel/"}`, `{"a": "rel/1"}`, 'T', 'T'},
	{"text that begins with, in another case", `"/a": {"prefix": "rel/"}`, `{"a": "REL/1"}`, 'T', 'F'},
	{"text that does not begin with", `"/a": {"prefix": "rel/"}`, `{"a": "xrel/"}`, 'F', 'F'},
	{"text that ends with", `"/a": {"suffix": ".exe"}`, `{"a": "x.exe"}`, 'T', 'T'},
	{"text that ends with, in another case", `"/a": {"suffix": ".exe"}`, `{"a": "x.EXE"}`, 'T', 'F'},
	{"a number has no prefix", `"/a": {"prefix": "1"}`, `{"a": 10}`, 'U', 'U'},
	{"between prefix and suffix", `"/a": {"prefix": "a", "suffix": "z"}`, `{"a": "a-z"}`, 'T', 'T'},
	{"prefix but not suffix", `"/a": {"prefix": "a", "suffix": "z"}`, `{"a": "a-y"}`, 'F', 'F'},
	{"a star goes over slashes", `"/a": {"glob": "rm*-rf*"}`, `{"a": "rm /data -rf"}`, 'T', 'T'},
	{"a glob fits the whole text", `"/a": {"glob": "rm*"}`, `{"a": "xrm -rf"}`, 'F', 'F'},
	{"a glob in another case", `"/a": {"glob": "*.[kt]ey"}`, `{"a": "ID.KEY"}`, 'T', 'F'},
	{"two conditions on one argument both hold", `"/a": {"glob": "rm*", "suffix": "ls"}`, `{"a": "xls"}`, 'F', 'F'},
	{"a regular expression fits the whole text", `"/a": {"regex": "good"}`, `{"a": "xgoodx"}`, 'F', 'F'},
	{"a regular expression that fits", `"/a": {"regex": "go+d"}`, `{"a": "gooood"}`, 'T', 'T'},
	{"alternatives do not escape the anchors", `"/a": {"regex": "a|b"}`, `{"a": "ax"}`, 'F', 'F'},
	{"a line break at the end does not fit", `"/a": {"regex": "good"}`, `{"a": "good\n"}`, 'F', 'F'},
	{"a regular expression in another case", `"/a": {"regex": "[a-z]+"}`, `{"a": "ABC"}`, 'T', 'F'},
	{"a regular expression in another width", `"/a": {"regex": "[a-z]+"}`, `{"a": "ａｂ"}`, 'T', 'F'},
	{"a regular expression that only fits before folding", `"/a": {"regex": "straße"}`, `{"a": "STRAßE"}`, 'T', 'F'},
	{"a regular expression on a list", `"/a": {"regex": ".*"}`, `{"a": ["x"]}`, 'U', 'U'},

	// under
	{"in the folder", `"/p": {"under": ["/etc"]}`, `{"p": "/etc/x"}`, 'T', 'T'},
	{"the folder itself", `"/p": {"under": ["/etc"]}`, `{"p": "/etc/"}`, 'T', 'T'},
	{"a folder whose name only begins so", `"/p": {"under": ["/etc"]}`, `{"p": "/etcetera"}`, 'F', 'F'},
	{"by way of another folder", `"/p": {"under": ["/etc"]}`, `{"p": "/data/../etc/x"}`, 'T', 'T'},
	{"out of the folder", `"/p": {"under": ["/data"]}`, `{"p": "/data/../etc/x"}`, 'F', 'F'},
	{"two slashes at the start", `"/p": {"under": ["/etc"]}`, `{"p": "//etc/x"}`, 'T', 'U'}, // a computer to Windows
	{"dots and slashes inside", `"/p": {"under": ["/etc"]}`, `{"p": "/./etc/.//x"}`, 'T', 'T'},
	{"the folder in another case", `"/p": {"under": ["/etc"]}`, `{"p": "/ETC/x"}`, 'T', 'F'},
	{"full-width dots", `"/p": {"under": ["/etc"]}`, `{"p": "/data/．．/etc/x"}`, 'T', 'F'},
	{"one of several folders", `"/p": {"under": ["/a", "/b"]}`, `{"p": "/b/x"}`, 'T', 'T'},
	{"everything is under the root", `"/p": {"under": "/"}`, `{"p": "/x"}`, 'T', 'T'},
	{"a relative path may be anywhere", `"/p": {"under": ["/etc"]}`, `{"p": "etc/x"}`, 'U', 'U'},
	{"a relative folder and path", `"/p": {"under": ["notes"]}`, `{"p": "./notes/x"}`, 'T', 'T'},
	{"a relative path out of the folder", `"/p": {"under": ["notes"]}`, `{"p": "notes/../other"}`, 'F', 'F'},
	{"a relative path out of everything", `"/p": {"under": ["notes"]}`, `{"p": "notes/../../x"}`, 'U', 'U'},
	{"an absolute path and a relative folder", `"/p": {"under": ["notes"]}`, `{"p": "/notes/x"}`, 'U', 'U'},
	{"the folder where it starts", `"/p": {"under": ["."]}`, `{"p": "a/b"}`, 'T', 'T'},
	{"home", `"/p": {"under": ["/etc"]}`, `{"p": "~/x"}`, 'U', 'U'},
	{"no path", `"/p": {"under": ["/etc"]}`, `{"p": ""}`, 'U', 'U'},
	{"a file URL", `"/p": {"under": ["/etc"]}`, `{"p": "file:///etc/x"}`, 'U', 'U'},
	{"NUL in a path", `"/p": {"under": ["/data"]}`, `{"p": "/data/x\u0000/../../etc"}`, 'U', 'U'},
	{"by way of the system's links", `"/p": {"under": ["/etc"]}`, `{"p": "/proc/self/root/etc/x"}`, 'U', 'U'},
	{"by way of another process's folder", `"/p": {"under": ["/etc"]}`, `{"p": "/x/../proc/1/task/1/cwd/x"}`, 'U', 'U'},
	{"by way of an open file", `"/p": {"under": ["/etc"]}`, `{"p": "/dev/fd/3/x"}`, 'U', 'U'},
	{"what the system says of itself", `"/p": {"under": ["/proc"]}`, `{"p": "/proc/cpuinfo"}`, 'T', 'T'},
	{"a folder that is called root", `"/p": {"under": ["/data"]}`, `{"p": "/data/root/x"}`, 'T', 'T'},
	{"a list of paths", `"/p": {"under": ["/etc"]}`, `{"p": ["/etc/x"]}`, 'U', 'U'},
	{"percent escapes that lead in", `"/p": {"under": ["/etc"]}`, `{"p": "/data/%2e%2e/etc/x"}`, 'T', 'U'},
	{"percent escapes that lead out", `"/p": {"under": ["/data"]}`, `{"p": "/data/%2e%2e/etc/x"}`, 'T', 'U'},
	{"backslashes that lead in", `"/p": {"under": ["/etc"]}`, `{"p": "/data\\..\\etc\\x"}`, 'T', 'U'},
	{"backslashes that lead out", `"/p": {"under": ["/data"]}`, `{"p": "/data/a\\..\\..\\etc"}`, 'T', 'U'},
	{"a percent sign that is only one", `"/p": {"under": ["/data"]}`, `{"p": "/data/100%"}`, 'T', 'T'},
	{"a drive", `"/p": {"under": ["C:\\Users"]}`, `{"p": "C:\\Users\\x"}`, 'T', 'T'},
	{"out of a folder on a drive", `"/p": {"under": ["C:/Users"]}`, `{"p": "C:\\Users\\..\\Windows"}`, 'F', 'F'},
	{"above a drive is the drive", `"/p": {"under": ["C:/etc"]}`, `{"p": "C:/x/../../../etc/y"}`, 'T', 'T'},
	{"a drive with slashes", `"/p": {"under": ["C:/Users"]}`, `{"p": "C:/Users/x"}`, 'T', 'T'},
	{"a whole drive", `"/p": {"under": ["C:/"]}`, `{"p": "C:/"}`, 'T', 'T'},
	{"a drive alone is a relative path", `"/p": {"under": ["C:/"]}`, `{"p": "C:x"}`, 'U', 'U'},
	{"another drive", `"/p": {"under": ["C:/Users"]}`, `{"p": "D:/Users/x"}`, 'F', 'F'},

	// host
	{"the host of a URL", `"/u": {"host": "good.example"}`, `{"u": "https://good.example/x"}`, 'T', 'T'},
	{"hosts have no case", `"/u": {"host": "Good.example"}`, `{"u": "HTTPS://GOOD.Example."}`, 'T', 'T'},
	{"a port does not matter", `"/u": {"host": "good.example"}`, `{"u": "https://good.example:8443/"}`, 'T', 'T'},
	{"a user name that looks like the host", `"/u": {"host": "good.example"}`,
		`{"u": "https://good.example@evil.example/"}`, 'F', 'F'},
	{"the host behind a user name", `"/u": {"host": "evil.example"}`, `{"u": "https://good.example@evil.example/"}`, 'T',
		'T'},
	{"the host only in the path", `"/u": {"host": "good.example"}`, `{"u": "https://evil.example/good.example"}`, 'F',
		'F'},
	{"the host only as a beginning", `"/u": {"host": "good.example"}`, `{"u": "https://good.example.evil.example/"}`, 'F',
		'F'},
	{"below the domain", `"/u": {"host": "*.good.example"}`, `{"u": "https://a.b.good.example/"}`, 'T', 'T'},
	{"the domain itself is not below it", `"/u": {"host": "*.good.example"}`, `{"u": "https://good.example/"}`, 'F', 'F'},
	{"only the end is alike", `"/u": {"host": "*.good.example"}`, `{"u": "https://xgood.example/"}`, 'F', 'F'},
	{"a backslash in a URL", `"/u": {"host": "good.example"}`, `{"u": "https://good.example\\@evil.example/"}`, 'U', 'U'},
	{"a tab in a URL", `"/u": {"host": "good.example"}`, `{"u": "https://good\t.example/"}`, 'U', 'U'},
	{"a host of a list", `"/u": {"host": "good.example"}`, `{"u": ["https://good.example"]}`, 'U', 'U'},
	{"no scheme", `"/u": {"host": "good.example"}`, `{"u": "good.example/x"}`, 'U', 'U'},
	{"a scheme without a host", `"/u": {"host": "good.example"}`, `{"u": "mailto:a@good.example"}`, 'U', 'U'},
	{"a host in full-width letters", `"/u": {"host": "good.example"}`, `{"u": "https://ｇｏｏｄ.example/"}`, 'T', 'U'},
	{"a host in Cyrillic letters", `"/u": {"host": "good.example"}`, `{"u": "https://gооd.example/"}`, 'U', 'U'},
	{"an address", `"/u": {"host": "127.0.0.1"}`, `{"u": "http://127.0.0.1:80/"}`, 'T', 'T'},
	{"an address in one number", `"/u": {"host": "127.0.0.1"}`, `{"u": "http://2130706433/"}`, 'U', 'U'},
	{"an address in hexadecimal", `"/u": {"host": "127.0.0.1"}`, `{"u": "http://0x7f.0.0.1/"}`, 'U', 'U'},
	{"a short address", `"/u": {"host": "127.0.0.1"}`, `{"u": "http://127.1/"}`, 'U', 'U'},
	{"an address inside a long one", `"/u": {"host": "127.0.0.1"}`, `{"u": "http://[::ffff:127.0.0.1]/"}`, 'T', 'T'},
	{"a long address", `"/u": {"host": "[::1]"}`, `{"u": "http://[0:0:0:0:0:0:0:1]/"}`, 'T', 'T'},

	// decimals
	{"at the bound", `"/n": {"gte": "10000.00"}`, `{"n": 10000}`, 'T', 'T'},
	{"a cent below the bound", `"/n": {"gte": "10000.00"}`, `{"n": "9999.99"}`, 'F', 'F'},
	{"less than all floats can tell", `"/n": {"gte": "10000.00"}`, `{"n": 9999.999999999999999999999}`, 'F', 'F'},
	{"a tenth and two tenths", `"/n": {"lte": "0.3"}`, `{"n": 0.30000000000000004}`, 'F', 'F'},
	{"three tenths", `"/n": {"lte": "0.3"}`, `{"n": "0.3"}`, 'T', 'T'},
	{"an exponent", `"/n": {"gt": 999}`, `{"n": 1e3}`, 'T', 'T'},
	{"a huge exponent costs nothing", `"/n": {"gt": 999}`, `{"n": 1e999999999}`, 'T', 'T'},
	{"an exponent beyond reason", `"/n": {"gt": 999}`, `{"n": "1e99999999999999999999"}`, 'U', 'U'},
	{"below zero", `"/n": {"lt": 0}`, `{"n": -0.001}`, 'T', 'T'},
	{"minus zero is not below zero", `"/n": {"lt": 0}`, `{"n": -0.0}`, 'F', 'F'},
	{"less negative is more", `"/n": {"gt": "-2"}`, `{"n": -1.5}`, 'T', 'T'},
	{"a number with a unit", `"/n": {"lt": 10}`, `{"n": "5 EUR"}`, 'U', 'U'},
	{"a number with a thousands separator", `"/n": {"lt": 10}`, `{"n": "1,000"}`, 'U', 'U'},
	{"a number with a space", `"/n": {"lt": 10}`, `{"n": " 5"}`, 'U', 'U'},
	{"a hexadecimal number", `"/n": {"lt": 10}`, `{"n": "0x5"}`, 'U', 'U'},
	{"a leading zero", `"/n": {"lt": 10}`, `{"n": "05"}`, 'U', 'U'},
	{"true is not a number", `"/n": {"lt": 10}`, `{"n": true}`, 'U', 'U'},
	{"a range", `"/n": {"gt": 1, "lt": 3}`, `{"n": 2}`, 'T', 'T'},

	// size, type, exists
	{"short enough", `"/s": {"maxLength": 3}`, `{"s": "äöü"}`, 'T', 'T'},
	{"too long", `"/s": {"maxLength": 3}`, `{"s": "abcd"}`, 'F', 'F'},
	{"no length", `"/s": {"maxLength": 3}`, `{"s": 12}`, 'U', 'U'},
	{"few enough", `"/s": {"maxItems": 1}`, `{"s": [[1, 2, 3]]}`, 'T', 'T'},
	{"too many", `"/s": {"maxItems": 1}`, `{"s": [1, 2]}`, 'F', 'F'},
	{"text has no items", `"/s": {"maxItems": 1}`, `{"s": "a"}`, 'U', 'U'},
	{"of the type", `"/s": {"type": "string"}`, `{"s": "1"}`, 'T', 'T'},
	{"of another type", `"/s": {"type": "string"}`, `{"s": 1}`, 'F', 'F'},
	{"of one of the types", `"/s": {"type": ["null", "array"]}`, `{"s": []}`, 'T', 'T'},
	{"a whole number", `"/s": {"type": "integer"}`, `{"s": 1.50e1}`, 'T', 'T'},
	{"not a whole number", `"/s": {"type": "integer"}`, `{"s": 1.5}`, 'F', 'F'},
	{"a number", `"/s": {"type": "number"}`, `{"s": -1.5}`, 'T', 'T'},
	{"true has a type", `"/s": {"type": "boolean"}`, `{"s": false}`, 'T', 'T'},
	{"an object has a type", `"/s": {"type": "object"}`, `{"s": {}}`, 'T', 'T'},
	{"null has a type", `"/s": {"type": "null"}`, `{"s": null}`, 'T', 'T'},
	{"no type without a value", `"/s": {"type": "string"}`, `{}`, 'U', 'U'},
	{"there", `"/s": {"exists": true}`, `{"s": null}`, 'T', 'T'},
	{"not there", `"/s": {"exists": true}`, `{}`, 'F', 'F'},
	{"absent", `"/s": {"exists": false}`, `{}`, 'T', 'T'},
	{"not absent", `"/s": {"exists": false}`, `{"s": 0}`, 'F', 'F'},
	{"present by a look-alike", `"/s": {"exists": true}`, `{"S": 0}`, 'T', 'U'},
	{"absent but for a look-alike", `"/s": {"exists": false}`, `{"S": 0}`, 'U', 'U'},

	// not, any
	{"not equal", `"/a": {"not": {"eq": "x"}}`, `{"a": "y"}`, 'T', 'T'},
	{"not not equal", `"/a": {"not": {"eq": "x"}}`, `{"a": "x"}`, 'F', 'F'},
	{"the opposite of unknown is unknown", `"/a": {"not": {"eq": "x"}}`, `{"a": ["x"]}`, 'U', 'U'},
	{"the opposite of missing is unknown", `"/a": {"not": {"eq": "x"}}`, `{}`, 'U', 'U'},
	{"missing beside not", `"/a": {"not": {"eq": "x"}, "ifMissing": "match"}`, `{}`, 'T', 'T'},
	{"missing inside not", `"/a": {"not": {"eq": "x", "ifMissing": "match"}}`, `{}`, 'F', 'F'},
	{"inside not, wide turns narrow", `"/a": {"not": {"eq": "x"}}`, `{"a": "X"}`, 'T', 'F'},
	{"twice not is as before", `"/a": {"not": {"not": {"eq": "x"}}}`, `{"a": "X"}`, 'T', 'F'},
	{"one of two", `"/a": {"any": [{"eq": "x"}, {"prefix": "y"}]}`, `{"a": "yz"}`, 'T', 'T'},
	{"neither of two", `"/a": {"any": [{"eq": "x"}, {"prefix": "y"}]}`, `{"a": "z"}`, 'F', 'F'},
	{"one unknown, one true", `"/a": {"any": [{"gt": 1}, {"eq": "x"}]}`, `{"a": "x"}`, 'T', 'T'},
	{"one unknown, one false", `"/a": {"any": [{"gt": 1}, {"eq": "x"}]}`, `{"a": "y"}`, 'U', 'U'},
	{"any may speak about absence", `"/a": {"any": [{"exists": false}, {"eq": "x"}]}`, `{}`, 'T', 'T'},
	{"any and a condition beside it", `"/a": {"any": [{"eq": "x"}, {"eq": "y"}], "not": {"eq": "y"}}`, `{"a": "y"}`, 'F',
		'F'},

	// several pointers
	{"both conditions hold", `"/a": {"eq": 1}, "/b": {"eq": 2}`, `{"a": 1, "b": 2}`, 'T', 'T'},
	{"one does not", `"/a": {"eq": 1}, "/b": {"eq": 2}`, `{"a": 1, "b": 3}`, 'F', 'F'},
	{"one is unknown", `"/a": {"eq": 1}, "/b": {"eq": 2}`, `{"a": 1}`, 'U', 'U'},
	{"false outweighs unknown", `"/a": {"eq": 1}, "/b": {"eq": 2}`, `{"b": 3}`, 'F', 'F'},
}

func TestConditions(t *testing.T) {
	if len(conditionRows) < 60 {
		t.Fatalf("got %d rows, want at least 60", len(conditionRows))
	}
	testConditions(t, conditionRows)
}

func TestP39_4ALineEndHidesNothing(t *testing.T) {
	testConditions(t, []conditionRow{
		{"a dot is any character where rules refuse", `"/a": {"regex": ".*sudo.*"}`, `{"a": "true\nsudo id"}`, 'T', 'U'},
		{"a dot is no second line where rules allow", `"/a": {"regex": "git .*"}`, `{"a": "git log\nrm -rf /"}`, 'T', 'U'},
		{"a dot at the end of a text", `"/a": {"regex": "git.*"}`, `{"a": "git\n"}`, 'T', 'U'},
		{"a dot that may be a line end", `"/a": {"regex": "(?s)a.*b"}`, `{"a": "a\nb"}`, 'T', 'T'},
		{"a dot that a rule keeps in one line", `"/a": {"regex": "(?-s:a.*b)"}`, `{"a": "a\nb"}`, 'F', 'F'},
		{"a class that has line ends", `"/a": {"regex": "a[^;]b"}`, `{"a": "a\nb"}`, 'T', 'T'},
		{"a dot in another case, over lines", `"/a": {"regex": ".*sudo.*"}`, `{"a": "true\nSUDO id"}`, 'T', 'F'},
		{"all but a dot over lines", `"/a": {"not": {"regex": ".*sudo.*"}}`, `{"a": "true\nsudo id"}`, 'U', 'F'},
		{"a dot over lines in one of two", `"/a": {"any": [{"regex": "x"}, {"regex": ".*sudo.*"}]}`, `{"a": "a\nsudo"}`, 'T', 'U'},
		{"a glob over lines", `"/a": {"glob": "*sudo*"}`, `{"a": "true\nsudo id"}`, 'T', 'T'},
		{"a prefix before a line end", `"/a": {"prefix": "git "}`, `{"a": "git log\nrm"}`, 'T', 'T'},
		{"a suffix behind a line end", `"/a": {"suffix": "sudo"}`, `{"a": "true\nsudo"}`, 'T', 'T'},
		{"a folder over lines", `"/a": {"under": "/data"}`, `{"a": "/data/x\n/etc/passwd"}`, 'T', 'U'},
		{"a host and a line end", `"/a": {"host": "good.example"}`, `{"a": "https://good.example/\nhttps://evil.example"}`, 'U', 'U'},
		{"a number and a line end", `"/a": {"lt": 10}`, `{"a": "5\n"}`, 'U', 'U'},
	})
}

func TestP39_15AHostIsOneOfTheWeb(t *testing.T) {
	testConditions(t, []conditionRow{
		{"a socket with the name of the host", `"/u": {"host": "good.example"}`, `{"u": "unix://good.example/x.sock"}`, 'T', 'U'},
		{"an option of a command as the user", `"/u": {"host": "good.example"}`, `{"u": "ssh://-oX@good.example/"}`, 'U', 'U'},
		{"an option as the user of a web page", `"/u": {"host": "good.example"}`, `{"u": "https://-x@good.example/"}`, 'U', 'U'},
		{"an option as the host", `"/u": {"host": "*.good.example"}`, `{"u": "https://-ox.good.example/"}`, 'U', 'U'},
		{"an old protocol", `"/u": {"host": "good.example"}`, `{"u": "gopher://good.example/"}`, 'T', 'U'},
		{"a scheme that nobody knows", `"/u": {"host": "good.example"}`, `{"u": "git+ssh://good.example/"}`, 'T', 'U'},
		{"another scheme and another host", `"/u": {"host": "good.example"}`, `{"u": "gopher://evil.example/"}`, 'F', 'F'},
		{"all but a host, in another scheme", `"/u": {"not": {"host": "good.example"}}`, `{"u": "gopher://good.example/"}`, 'U', 'F'},
		{"a web socket", `"/u": {"host": "good.example"}`, `{"u": "WSS://good.example/"}`, 'T', 'T'},
		{"a scheme that the rule names", `"/u": {"host": "ssh://good.example"}`, `{"u": "ssh://git@good.example/x"}`, 'T', 'T'},
		{"another one than the rule names", `"/u": {"host": "ssh://good.example"}`, `{"u": "https://good.example/x"}`, 'F', 'F'},
		{"one of two schemes", `"/u": {"host": ["good.example", "SSH://*.good.example"]}`, `{"u": "ssh://a.good.example"}`, 'T', 'T'},
	})
}

func testConditions(t *testing.T, rows []conditionRow) {
	t.Helper()
	type expected map[byte]call.Verdict
	lists := []struct {
		name, body string
		wide       bool
		want       expected
	}{
		{"a deny rule", `"denylist": [%s]`, true, expected{'T': call.Deny, 'U': call.Ask, 'F': call.Allow}},
		{"an ask rule", `"asklist": [%s]`, true, expected{'T': call.Ask, 'U': call.Ask, 'F': call.Allow}},
		{"an allow rule", `"allowlist": [%s]`, false, expected{'T': call.Allow, 'U': call.Deny, 'F': call.Deny}},
		{"a deny rule over an unmatched deny", `"unmatched": "deny", "denylist": [%s]`, true,
			expected{'T': call.Deny, 'U': call.Deny, 'F': call.Deny}},
		{"a soft ask rule over an unmatched deny", `"unmatched": "deny", "asklist": [%s]`, true,
			expected{'T': call.Ask, 'U': call.Deny, 'F': call.Deny}},
	}
	for _, row := range rows {
		for _, l := range lists {
			t.Run(row.title+" in "+l.name, func(t *testing.T) {
				p := profile(t, fmt.Sprintf(l.body, `{"id": "r", "tool": "a__b", "when": {`+row.when+`}}`))
				want := row.narrow
				if l.wide {
					want = row.wide
				}
				d := p.Decide(callOf("a b", row.args))
				if d.Verdict != l.want[want] {
					t.Errorf("got %s\nwant %s, because the condition is %c for %s", described(d), l.want[want], want, row.args)
				}
				if want == 'U' && l.wide && l.want['U'] == call.Ask && (!d.Unknown || d.Reasons[0].Rule != "r" ||
					len(d.Reasons[0].Conditions) == 0) {
					t.Errorf("got %s\nwant the rule named that could not be judged", described(d))
				}
			})
		}
	}
}

// TestClosedAllow is POLICY.md A6.
func TestClosedAllow(t *testing.T) {
	const rule = `{"tool": "a__b", "others": "none", "when": {%s}}`
	for _, row := range []struct {
		title, when, args string
		want              call.Verdict
	}{
		{"only what the rule names", `"/owner": {"eq": "x"}, "/repo": {"exists": true}`, `{"owner": "x", "repo": "y"}`,
			call.Allow},
		{"an argument the rule does not name", `"/owner": {"eq": "x"}, "/repo": {"exists": true}`,
			`{"owner": "x", "repo": "y", "visibility": "public"}`, call.Deny},
		{"a named argument that is missing and may be", `"/owner": {"eq": "x"}, "/repo": {"eq": "y", "ifMissing": "match"}`,
			`{"owner": "x"}`, call.Allow},
		{"a whole object is named", `"/o": {"type": "object"}`, `{"o": {"a": 1, "b": [2]}}`, call.Allow},
		{"a member more than the named one", `"/o/a": {"eq": 1}`, `{"o": {"a": 1, "b": 2}}`, call.Deny},
		{"the named member alone", `"/o/a": {"eq": 1}`, `{"o": {"a": 1}}`, call.Allow},
		{"members of every element", `"/f/*/p": {"eq": 1}`, `{"f": [{"p": 1}, {"p": 1}]}`, call.Allow},
		{"a member more in one element", `"/f/*/p": {"eq": 1}`, `{"f": [{"p": 1}, {"p": 1, "q": 2}]}`, call.Deny},
		{"an element more than the named one", `"/f/0": {"eq": 1}`, `{"f": [1, 2]}`, call.Deny},
		{"two named elements", `"/f/0": {"eq": 1}, "/f/1": {"eq": 2}`, `{"f": [1, 2]}`, call.Allow},
		{"an element between those named", `"/f/0": {"eq": 1}, "/f/2": {"eq": 3}`, `{"f": [1, 2, 3]}`, call.Deny},
		{"the named element alone", `"/f/0": {"eq": 1}`, `{"f": [1]}`, call.Allow},
		{"named twice, deep and whole", `"/o": {"exists": true}, "/o/a": {"eq": 1}`, `{"o": {"a": 1, "b": 2}}`, call.Allow},
		{"a look-alike is another argument", `"/owner": {"eq": "x"}`, `{"owner": "x", "Owner": "y"}`, call.Deny},
		{"a plain value where more is named", `"/o/a": {"eq": 1, "ifMissing": "match"}`, `{"o": 1}`, call.Deny},
		{"an empty object where more is named", `"/o/a": {"eq": 1, "ifMissing": "match"}`, `{"o": {}}`, call.Allow},
	} {
		t.Run(row.title, func(t *testing.T) {
			p := profile(t, `"allowlist": [`+fmt.Sprintf(rule, row.when)+`]`)
			if d := p.Decide(callOf("a b", row.args)); d.Verdict != row.want {
				t.Errorf("got %s\nwant %s", described(d), row.want)
			}
		})
	}
	t.Run("names are not places, and places no names", func(t *testing.T) {
		for when, args := range map[string]string{`{"/f/": {"exists": true}}`: `{"f": [1]}`,
			`{"/*": {"exists": true}}`: `{"*": 1}`, `{"/f/0": {"exists": true}}`: `{"f": {"1": 1}}`} {
			p := profile(t, `"allowlist": [{"tool": "a__b", "others": "none", "when": `+when+`}]`)
			if got := p.Explain(callOf("a b", args)).Considered[0].Result; got != "false" {
				t.Errorf("%s with %s: got %s, want false", when, args, got)
			}
		}
	})
	t.Run("a rule that names no arguments", func(t *testing.T) {
		p := profile(t, `"allowlist": [{"tool": "a__b", "others": "none"}]`)
		if d := p.Decide(callOf("a b", ``)); d.Verdict != call.Allow {
			t.Errorf("without arguments: got %s, want allow", described(d))
		}
		if d := p.Decide(callOf("a b", `{"x": null}`)); d.Verdict != call.Deny {
			t.Errorf("with an argument: got %s, want deny", described(d))
		}
	})
	t.Run("any is the default and allows others", func(t *testing.T) {
		p := profile(t, `"allowlist": [{"tool": "a__b", "when": {"/x": {"eq": 1}}, "others": "any"}]`)
		if d := p.Decide(callOf("a b", `{"x": 1, "y": 2}`)); d.Verdict != call.Allow {
			t.Errorf("got %s, want allow", described(d))
		}
	})
}

// TestHostsThatNotEveryoneReadsAlike has the URLs of which no rule knows the host for sure.
func TestHostsThatNotEveryoneReadsAlike(t *testing.T) {
	p := profile(t, `"denylist": [{"tool": "a__b", "when": {"/u": {"host": ["good.example", "*.wide.example"]}}}]`)
	for _, row := range []struct{ url, want string }{
		{"https://good.example/x", "true"}, {"https://good.example/a b", "unknown"}, {"http://[::1", "unknown"},
		{"https://good.example\\@x", "unknown"},
		{"//good.example/x", "unknown"}, {"file:///x", "unknown"}, {"mailto:a@good.example", "unknown"},
		{"good.example", "unknown"},
		{"https://a.wide.example", "true"}, {"https://wide.example", "false"}, {"https://.wide.example/", "unknown"},
		{"https://xwide.example", "false"},
	} {
		x := p.Explain(callOf("a b", `{"u": `+quote(row.url)+`}`))
		if got := x.Considered[0].Result; got != row.want {
			t.Errorf("%s: got %s, want %s", row.url, got, row.want)
		}
	}
}

// TestComparisonsOfValues goes through what types and equality tell apart.
func TestComparisonsOfValues(t *testing.T) {
	values := []string{`"x"`, `1`, `1.5`, `true`, `false`, `null`, `[1]`, `[]`, `{"a":"x"}`, `{}`}
	kinds := map[string]string{"string": `"x"`, "number": `1 1.5`, "integer": `1`, "boolean": `true false`,
		"array": `[1] []`, "object": `{"a":"x"} {}`}
	result := func(condition, value string) string {
		p := profile(t, `"denylist": [{"tool": "a__b", "when": {"/v/0": `+condition+`}}]`)
		return p.Explain(callOf("a b", `{"v": [`+value+`]}`)).Considered[0].Result
	}
	for kind, of := range kinds {
		for _, v := range values {
			want := fmt.Sprint(slices.Contains(strings.Fields(of), v))
			if got := result(`{"type": "`+kind+`"}`, v); got != want {
				t.Errorf("%s is of type %s: got %s, want %s", v, kind, got, want)
			}
		}
	}
	for _, row := range []struct{ constant, value, want string }{
		{`{"a": "x"}`, `{"a": "x"}`, "true"}, {`{"a": "x"}`, `{"a": "y"}`, "false"}, {`{"a": "x"}`, `{"b": "x"}`, "false"},
		{`{"a": "x"}`, `{"a": "x", "b": 1}`, "false"},
		{`["x", 1]`, `["x", 1.0]`, "true"}, {`["x", 1]`, `["x", 2]`, "false"}, {`["x", 1]`, `[1, "x"]`, "false"},
		{`["x"]`, `["x", "x"]`, "false"},
		{`[0]`, `[1e99999999999]`, "false"}, {`0`, `1e99999999999`, "false"}, {`[0]`, `[-0.0]`, "true"},
		{`{"a": [null]}`, `{"a": [null]}`, "true"}, {`{"a": [true]}`, `{"a": [false]}`, "false"},
	} {
		if got := result(`{"eq": `+row.constant+`}`, row.value); got != row.want {
			t.Errorf("%s equals %s: got %s, want %s", row.value, row.constant, got, row.want)
		}
	}
}

func TestEdgesOfComparisons(t *testing.T) {
	for condition, want := range map[string][3]string{ // of 4, 5 and 6
		`{"lt": 5}`: {"true", "false", "false"}, `{"lte": 5}`: {"true", "true", "false"},
		`{"gt": 5}`: {"false", "false", "true"}, `{"gte": 5}`: {"false", "true", "true"},
	} {
		p := profile(t, `"denylist": [{"tool": "a__b", "when": {"/x": `+condition+`}}]`)
		for i, value := range []string{"4", "5.0", `"6"`} {
			if got := p.Explain(callOf("a b", `{"x": `+value+`}`)).Considered[0].Result; got != want[i] {
				t.Errorf("%s of %s: got %s, want %s", condition, value, got, want[i])
			}
		}
	}
	for value, ok := range map[string]bool{
		`{"regex": "` + strings.Repeat("x", 1000) + `"}`: true, `{"regex": "` + strings.Repeat("x", 1001) + `"}`: false,
		`{"host": "a-b_c.example9"}`: true, `{"host": "0a.z"}`: true, `{"host": "a.z9"}`: true, `{"host": "a/b"}`: false,
		`{"host": "a+b.example"}`: false, `{"host": "a..b"}`: false,
		"{\"host\": \"a`b.example\"}": false, `{"host": "a{b.example"}`: false, `{"host": "a;b.example"}`: false,
	} {
		_, err := Parse("f", []byte(inProfile(`"denylist": [{"tool": "a__b", "when": {"/x": `+value+`}}]`)))
		if (err == nil) != ok {
			t.Errorf("%.60s: got %v", value, err)
		}
	}
}

// TestTheFirstReasonIsKept: where several operators cannot be judged, the one that is
// written first says why.
func TestTheFirstReasonIsKept(t *testing.T) {
	p := profile(t, `"denylist": [{"tool": "a__b", "when": {"/x": {"prefix": "a", "lt": "5"}, "/y": {"any": [{"prefix": "a"}, {"lt": "5"}]}}}]`)
	d := p.Decide(callOf("a b", `{"x": [], "y": []}`))
	if got := d.Reasons[0].Text; got != "the rule cannot be judged: /x is an array, not a string; /y is an array, not a string" {
		t.Errorf("got %q", got)
	}
}

// TestPathsThatLeadElsewhere: relative folders hold nothing that may lead out of them.
func TestPathsThatLeadElsewhere(t *testing.T) {
	for _, row := range []struct{ folder, path, want string }{
		{"data", "data/x", "true"}, {"data", "~/data/x", "unknown"}, {"data", "", "unknown"}, {"data", "x://data", "unknown"},
		{"data", "data/../../x", "unknown"}, {"data", "database", "false"},
		{".", "x", "true"}, {".", ".", "true"}, {".", "..", "unknown"}, {".", "../x", "unknown"}, {".", "..x", "true"},
		{"data", "..", "unknown"},
		{"/", "/x", "true"}, {"/", "x", "unknown"},
		{"a:/data", "a:/data/x", "true"}, {"Z:/data", "Z:/data/x", "true"}, {"z:/", "z:/x", "true"},
		{"c:/data", "c:/data/../x", "false"},
	} {
		p := profile(t, `"allowlist": [{"tool": "a__b", "when": {"/p": {"under": `+quote(row.folder)+`}}}]`)
		if got := p.Explain(callOf("a b", `{"p": `+quote(row.path)+`}`)).Considered[0].Result; got != row.want {
			t.Errorf("%q under %q: got %s, want %s", row.path, row.folder, got, row.want)
		}
	}
}
