// Package config reads configuration files, watches them for changes, and predicts the effect of changing them.
//
// [Load] checks a whole file and reports all problems at once, each with file, line, column and a way out. It does not
// use parts of a file with a problem. The result is a [Config], with a [profiles.Profile] for every profile of the
// file. Neither ever changes.
//
// The rules of a file, by profile, are patterns over the names server__tool, and conditions on arguments:
//
//	{
//		"evaluation": {
//			"defaultProfile": "desk", // of requests that name no profile
//			"profiles": {
//				"desk": {
//					"allowlist": ["shop__price", "time__*"],
//					"asklist":   ["shop__order"],
//					"denylist":  [{"tool": "shop__order", "when": {"/count": {"gt": 100}}}],
//					"unmatched": "deny" // what no list names; deny if there is an allowlist, else allow
//				}
//			}
//		}
//	}
//
// docs/reference/configuration.md and [Schema] have every key.
//
// Several sources may apply together, see [ParseAll]: the machine administrator's file, the user's own, a project's
// file (which only tightens until somebody trusts it), and variables of the environment. An [Overlay] narrows single
// sessions, callers or programs, see [Config.Narrowed]. [WatchFiles] follows files while people edit them and keeps the
// last good state in force.
//
// The tools about rules are here too: [Config.Lint] checks rules against tools, and [Config.Try] decides a table of
// calls. Package changes predicts the effect of a change of the rules.
package config
